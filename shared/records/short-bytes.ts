/**
 * Hashes bytes a word at a time: for the values of a report, which are short, that is quicker than a call into the runtime.
 */
import { avalanche } from './murmur.ts';

const WORD = 4;
/** The widest element that is written. */
const SPARE_BYTES = 8;

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * A view to write `bytes` bytes through. It has room behind them: V8's Maglev (Node 24) takes a write into the last bytes
 * of a view for one behind its end, drops its code, and from then on each write in that place is a call into the runtime.
 */
export function writableView(bytes: number): DataView<ArrayBuffer> {
  return new DataView(new ArrayBuffer(bytes + SPARE_BYTES));
}

/** 32 bits of `[start, end)`: a multiplication a word, then the mixing of MurmurHash3. */
export function shortHashOfBytes(bytes: DataView, start: number, end: number, seed = 0): number {
  let hash = seed ^ (end - start);
  let at = start;
  for (; at + WORD <= end; at += WORD) {
    hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; at < end; at += 1) hash = Math.imul(hash ^ bytes.getUint8(at), 0x01000193);
  return avalanche(hash);
}

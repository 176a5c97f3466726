const WORD = 4;

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** One multiplication per word, then the mixing of MurmurHash3: for short values faster than a call into the runtime. */
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

/** MurmurHash3 (x86, 128 bits) of the kernel, or its initial state, as four signed 32-bit lanes. */
export type Lanes = Int32Array;
export const LANES = 4;

export function avalanche(lane: number): number {
  const once = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/**
 * A hash of what a record says: the same for the same values in any order of the fields, however the service escapes a
 * letter or indents a list. It tells versions of a record with one key apart, so 32 bits are enough.
 */
import { hash } from 'node:crypto';
import { parseJson, stringifyJson } from '../json.ts';
import { BACKSLASH, OPEN_LIST, OPEN_OBJECT } from './json-bytes.ts';
import { type RecordList, STRIDE, bytesOfList, textOf } from './record-list.ts';

const WORD = 4;

/** @returns for each record a hash that is not 0 */
export function contentHashes(list: RecordList): Int32Array {
  const { bytes, count, fields, values, records } = list;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const seeds = fields.map((field) => hash('md5', field, 'buffer').readInt32LE(0));
  const hasEscapes = bytesOfList(list).includes(BACKSLASH);
  const hashes = new Int32Array(count);
  let at = 0;
  for (let record = 0; record < count; record += 1) {
    const behind = records[record * STRIDE + 2] ?? 0;
    let sum = 0;
    for (; at < behind; at += STRIDE) {
      const seed = seeds[values[at] ?? 0] ?? 0;
      const [start, end] = [values[at + 1] ?? 0, values[at + 2] ?? 0];
      const isVerbatim = isScalar(bytes, start) && !(hasEscapes && hasBackslash(bytes, start, end));
      sum += isVerbatim ? hashOf(view, start, end, seed) : hashOfValue(bytes, start, end, seed);
    }
    hashes[record] = mixed(sum) || 1;
  }
  return hashes;
}

function isScalar(bytes: Uint8Array, start: number): boolean {
  return bytes[start] !== OPEN_OBJECT && bytes[start] !== OPEN_LIST;
}

function hasBackslash(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

function hashOfValue(bytes: Buffer, start: number, end: number, seed: number): number {
  const text = Buffer.from(stringifyJson(parseJson(textOf(bytes, start, end))));
  return hashOf(new DataView(text.buffer, text.byteOffset, text.byteLength), 0, text.length, seed);
}

function hashOf(bytes: DataView, start: number, end: number, seed: number): number {
  let sum = seed ^ (end - start);
  let at = start;
  for (; at + WORD <= end; at += WORD) {
    sum = Math.imul(sum ^ bytes.getInt32(at, true), 0x9e3779b1);
    sum ^= sum >>> 15;
  }
  for (; at < end; at += 1) sum = Math.imul(sum ^ bytes.getUint8(at), 0x01000193);
  return mixed(sum);
}

/** The last step of MurmurHash3: every bit comes to depend on the others. */
function mixed(sum: number): number {
  const once = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/**
 * Hashes the content of a record. The hash is the same for the same values in any order of the fields, however the
 * service escapes a letter or indents a list. It distinguishes versions of a record with one key, so 32 bits are
 * enough.
 */
import { hash } from 'node:crypto';
import { parseJson, stringifyJson } from '../base/json.ts';
import { BACKSLASH, isNested } from './json-bytes.ts';
import { avalanche, shortHashOfBytes, viewOf } from './murmur.ts';
import { type RecordList, STRIDE, bytesOfList, textOf } from './record-list.ts';

/** @returns for each record a hash that is not 0 */
export function contentHashes(list: RecordList): Int32Array {
  const { bytes, count, fields, values, records } = list;
  const view = viewOf(bytes);
  const seeds = fields.map((field) => hash('md5', field, 'buffer').readInt32LE(0));
  const hasEscapes = bytesOfList(list).includes(BACKSLASH);
  const hashes = new Int32Array(count);
  let at = 0;
  for (let record = 0; record < count; record += 1) {
    const recordEnd = records[record * STRIDE + 2] ?? 0;
    let sum = 0;
    for (; at < recordEnd; at += STRIDE) {
      const seed = seeds[values[at] ?? 0] ?? 0;
      const start = values[at + 1] ?? 0;
      const end = values[at + 2] ?? 0;
      const isVerbatim = !isNested(bytes, start) && !(hasEscapes && hasBackslash(bytes, start, end));
      sum += isVerbatim ? shortHashOfBytes(view, start, end, seed) : hashOfValue(bytes, start, end, seed);
    }
    hashes[record] = avalanche(sum) || 1;
  }
  return hashes;
}

function hasBackslash(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

function hashOfValue(bytes: Buffer, start: number, end: number, seed: number): number {
  const text = Buffer.from(stringifyJson(parseJson(textOf(bytes, start, end))));
  return shortHashOfBytes(viewOf(text), 0, text.length, seed);
}

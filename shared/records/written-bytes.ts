/**
 * Returns the bytes of a list or record as `stringifyJson` would write them. A service may indent one response and not
 * the next, escape different letters, or send something that makes only one response be parsed whole. Pages and records
 * that are compared by their bytes must still be equal then (I1). Most bytes already have this form; counting them
 * shows it.
 */
import { isCanonicalInteger, parseJson, stringifyJson } from '../base/json.ts';
import { BACKSLASH, isNested } from './json-bytes.ts';
import {
  firstValueOf,
  type RecordList,
  STRIDE,
  bytesOfList,
  bytesOfRecord,
  recordAt,
  recordsOfList,
  textOf,
} from './record-list.ts';

export function writtenList(list: RecordList): Buffer {
  const bytes = bytesOfList(list);
  if ((list.isCompact || neededBytesOf(list) === bytes.length) && !bytes.includes(BACKSLASH)) return bytes;
  return Buffer.from(stringifyJson(recordsOfList(list)));
}

export function writtenRecord(list: RecordList, index: number): Buffer {
  const bytes = bytesOfRecord(list, index);
  const isCompact = list.isCompact || neededBytes(list, index, []) === bytes.length;
  return isCompact && !bytes.includes(BACKSLASH) ? bytes : Buffer.from(stringifyJson(recordAt(list, index)));
}

/** Bytes of each field's key, as far as needed; NaN for an integer key, which objects move to their front. */
type Keys = number[];

function bytesOfKey(list: RecordList, field: number, keys: Keys): number {
  const known = keys[field];
  if (known !== undefined) return known;
  const name = list.fields[field] ?? '';
  const bytes = isCanonicalInteger(name) ? Number.NaN : Buffer.byteLength(stringifyJson(name));
  keys[field] = bytes;
  return bytes;
}

/** How many bytes the list takes without escapes; NaN if it has to be rewritten in any case. */
function neededBytesOf(list: RecordList): number {
  const keys: Keys = [];
  let needed = 2 + Math.max(0, list.count - 1);
  for (let index = 0; index < list.count; index += 1) needed += neededBytes(list, index, keys);
  return needed;
}

function neededBytes(list: RecordList, index: number, keys: Keys): number {
  const { values, records } = list;
  const from = firstValueOf(list, index);
  const recordEnd = records[index * STRIDE + 2] ?? 0;
  let needed = from === recordEnd ? 2 : 1;
  for (let at = from; at < recordEnd; at += STRIDE) {
    const start = values[at + 1] ?? 0;
    const end = values[at + 2] ?? 0;
    if (isNested(list.bytes, start) && !isWritten(list, start, end)) return Number.NaN;
    // A colon, and a comma or a brace.
    needed += bytesOfKey(list, values[at] ?? 0, keys) + end - start + 2;
  }
  return needed;
}

function isWritten({ bytes }: RecordList, start: number, end: number): boolean {
  const text = textOf(bytes, start, end);
  return text.length === 2 || stringifyJson(parseJson(text)) === text;
}

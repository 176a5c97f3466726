/**
 * Returns the bytes of a list or record as `stringifyJson` would write them. A service may indent one response and not
 * the next, escape different letters, or send something that makes only one response be parsed whole. Pages and records
 * that are compared by their bytes must still be equal then (I1). Most bytes already have this form.
 */
import { stringifyJson } from '../base/json.ts';
import { BACKSLASH } from './json-bytes.ts';
import { type RecordList, bytesOfList, bytesOfRecord, recordAt } from './record-list.ts';

export function writtenList(list: RecordList): Buffer {
  const bytes = bytesOfList(list);
  if (isWritten(list, bytes)) return bytes;
  // I12: one record at a time, because a parsed record needs many times the memory of its text.
  const records = Array.from({ length: list.count }, (_, index) => stringifyJson(recordAt(list, index)));
  return Buffer.from(`[${records.join(',')}]`);
}

export function writtenRecord(list: RecordList, index: number): Buffer {
  const bytes = bytesOfRecord(list, index);
  return isWritten(list, bytes) ? bytes : Buffer.from(stringifyJson(recordAt(list, index)));
}

function isWritten({ isCompact }: RecordList, bytes: Buffer): boolean {
  return isCompact && !bytes.includes(BACKSLASH);
}

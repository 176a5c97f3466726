import { isUtf8 } from 'node:buffer';
import { isJsonObject, parseJson } from '../json.ts';
import { readText } from './json-text.ts';
import { type RecordList, recordListOf, textOf } from './record-list.ts';

/** The records of a JSON list that was checked before. @throws SyntaxError or TypeError where it is no list of objects */
export function readRecords(bytes: Buffer): RecordList {
  if (!isUtf8(bytes)) throw new TypeError('UTF-8 was expected');
  const scanned = readText(bytes, (text) => text.recordsAt(0));
  if (scanned?.end === bytes.length) return scanned;
  const list = parseJson(textOf(bytes, 0, bytes.length));
  if (Array.isArray(list) && list.every(isJsonObject)) return recordListOf(list);
  throw new TypeError('a list of objects was expected');
}

/**
 * Splits a response into its records, which are scanned once, and the rest of its envelope, which is parsed exactly.
 * The rest is the response with `[]` in place of the records, so the same code judges cursors, codes and messages of
 * every response. If anything is unusual, this returns `undefined` and the caller parses the response whole: only that
 * path decides what is wrong with it (I8).
 */
import { DUPLICATES, isJsonObject, type Json, type JsonObject, parseJson } from '../base/json.ts';
import { CLOSE_OBJECT, COMMA, OPEN_LIST, OPEN_OBJECT, QUOTE } from './json-bytes.ts';
import { type JsonText, readText } from './read-records.ts';
import { type RecordList, textOf } from './record-list.ts';

/** I12: the limit for a response besides its records: parsing creates objects of many times the size. */
export const MAX_BESIDE_BYTES = 2 ** 20;
const NOWHERE = -1;
const [DATA, LIST] = ['"data"', '"list"'];

export interface SplitEnvelope {
  records: RecordList;
  /** The field of `data` that had the records. */
  field: string;
  /** The envelope, with an empty list in place of the records. */
  rest: JsonObject;
}

/**
 * Splits the response `{…,"data":{…,"list":[…],…},…}`; the records are `data.list`, or otherwise the only list in
 * `data`.
 * @param bytes UTF-8
 * @returns `undefined` if anything is unusual, or if the text is not JSON at all; `besideBytes` if they exceed the limit
 */
export function splitEnvelope(bytes: Buffer): SplitEnvelope | { besideBytes: number } | undefined {
  const chosen = readText(bytes, (text) => listOfData(bytes, text));
  if (!chosen?.list) return undefined;
  const { key, list } = chosen;
  const besideBytes = bytes.length - (list.end - list.start);
  // Without a list of that name, all of `data` may be one record.
  if (besideBytes > MAX_BESIDE_BYTES) return key === LIST ? { besideBytes } : undefined;
  const rest = parseJson(`${textOf(bytes, 0, list.start)}[]${textOf(bytes, list.end, bytes.length)}`);
  return isJsonObject(rest) && !hasRepeatedKey(rest) && !hasRepeatedKey(rest.data)
    ? { records: list, field: key.slice(1, -1), rest }
    : undefined;
}

function listOfData(bytes: Buffer, text: JsonText): Candidate | undefined {
  const found: Lists = { named: undefined, others: 0, other: undefined };
  const end = endOfEntries(bytes, text, text.endOfSpace(0), (key, at) =>
    key === DATA ? endOfData(bytes, text, at, found) : text.endOfValue(at),
  );
  return text.endOfSpace(end) === bytes.length ? (found.named ?? found.other) : undefined;
}

interface Candidate {
  key: string;
  /** `undefined` if it is not a list of plain records. */
  list: RecordList | undefined;
}

/** The lists in `data` that may have the records. I12: of lists that are not called `list`, only the first is kept. */
interface Lists {
  named: Candidate | undefined;
  others: number;
  other: Candidate | undefined;
}

function endOfData(bytes: Buffer, text: JsonText, open: number, found: Lists): number {
  return endOfEntries(bytes, text, open, (key, at) => {
    const isNamed = key === LIST;
    if (!isNamed && bytes[at] !== OPEN_LIST) return text.endOfValue(at);
    if (!isNamed) found.others += 1;
    const mayHoldRecords = isNamed ? !found.named : found.others === 1;
    const list = mayHoldRecords ? text.recordsAt(at) : undefined;
    if (isNamed) found.named ??= { key, list };
    else found.other = mayHoldRecords ? { key, list } : undefined;
    return list?.end ?? text.endOfValue(at);
  });
}

/** The end of an object without escaped keys. @param endOf (key as a literal, start of its value) → end of the value */
function endOfEntries(
  bytes: Buffer,
  text: JsonText,
  open: number,
  endOf: (key: string, at: number) => number,
): number {
  if (bytes[open] !== OPEN_OBJECT) return NOWHERE;
  let at = text.endOfSpace(open + 1);
  while (bytes[at] === QUOTE) {
    const end = text.endOfString(at);
    const key = textOf(bytes, at, end);
    if (end < 0 || key.includes('\\')) return NOWHERE;
    at = text.endOfSpace(endOf(key, text.beginOfValue(end)));
    if (bytes[at] !== COMMA) break;
    at = text.endOfSpace(at + 1);
    if (bytes[at] !== QUOTE) return NOWHERE;
  }
  return bytes[at] === CLOSE_OBJECT ? at + 1 : NOWHERE;
}

function hasRepeatedKey(value: Json | undefined): boolean {
  return isJsonObject(value) && Object.hasOwn(value, DUPLICATES);
}

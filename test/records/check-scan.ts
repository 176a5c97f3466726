import { isUtf8 } from 'node:buffer';
import { strict as assert } from 'node:assert';
import {
  isJsonObject,
  isRawNumber,
  type Json,
  type JsonObject,
  parseJson,
  stringifyJson,
} from '../../shared/base/json.ts';
import { RecordColumns } from '../../shared/table/record-columns.ts';
import type { ReportService } from '../../shared/ports.ts';
import {
  KIND,
  ONE_RECORD,
  type RecordList,
  STRIDE,
  bytesOfList,
  recordListOf,
  recordsOfList,
} from '../../shared/records/record-list.ts';
import { readRecords, readText } from '../../shared/records/read-records.ts';
import { splitEnvelope } from '../../shared/records/split-envelope.ts';
import { recordsOf, wholeData } from '../../shared/service/envelope.ts';

/*
 * I6: compares the fast reading of bytes with the exact parser. The fast reading may only refuse a text or return the
 * same result. Each function throws if it does anything else, and returns whether the text was accepted.
 */

const service: ReportService = {
  call: () => Promise.reject(new Error('not called')),
  inOrder: () => service,
  hasAnswered: true,
  hasAnsweredTo: () => true,
  quote: (text) => text,
  clockSkewMs: 0,
};

/** For a text that begins with a list: an accepted list is JSON, and its records equal the result of parseJson. */
export function checkScan(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false;
  const list = readText(bytes, (text) => text.recordsAt(0));
  if (!list) return false;
  assert.equal(list.start, 0);
  const exact = parseJson(bytes.toString('utf8', 0, list.end));
  checkList(list, Array.isArray(exact) ? exact : [exact]);
  return true;
}

/** For a response: the accepted records are the records that `recordsOf` chooses, and the rest equals the rest. */
export function checkSplit(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false;
  const split = splitEnvelope(bytes);
  if (!split || 'besideBytes' in split) return false;
  const envelope = parseJson(bytes.toString());
  assert(isJsonObject(envelope) && isJsonObject(envelope.data));
  checkList(split.records, recordsOfList(recordsOf(service, 'action', { envelope, data: envelope.data })));
  assert.deepEqual(wholeData({ envelope, data: dataOf(split.rest), scanned: split }), envelope.data);
  const entries = Object.entries(envelope.data);
  const place = Object.hasOwn(envelope.data, 'list')
    ? 'list'
    : entries.find(([, value]) => Array.isArray(value))?.[0];
  const data = Object.fromEntries(entries.map(([name, value]) => [name, name === place ? [] : value]));
  const rest = Object.fromEntries(
    Object.entries(envelope).map(([name, value]) => [name, name === 'data' ? data : value]),
  );
  assert.equal(stringifyJson(split.rest), stringifyJson(rest));
  return true;
}

/** For a list of records: its columns have, by row, the literals of the list. */
export function checkColumns(bytes: Buffer): void {
  const list = readRecords(bytes);
  const columns = new RecordColumns({ rows: list.count, bytes: Number.POSITIVE_INFINITY });
  assert.equal(columns.append(list), list.count);
  const held: string[][] = Array.from({ length: list.count }, () => []);
  for (const field of columns.fields) {
    const column = columns.column(field);
    assert(column);
    column.plainValues('decimal(15,2)');
    column.plainValues('string');
    for (const [row, code] of column.codes(new Uint32Array(list.count)).entries())
      if (code > 0)
        held[row]?.push(
          `${field} ${column.bytes.toString('utf8', column.ends[code - 1], column.ends[code])}`,
        );
  }
  assert.deepEqual(
    held.map((each) => each.sort()),
    literalsOf(list),
  );
  columns.clear();
}

function dataOf({ data }: JsonObject): JsonObject {
  assert(isJsonObject(data));
  return data;
}

/** Checks that the records are these, field by field, and that the exact objects have the same values after they are rewritten. */
function checkList(list: RecordList, exact: readonly Json[]): void {
  assert(exact.every(isJsonObject));
  assert.equal(list.count, exact.length);
  assert.equal(stringifyJson(recordsOfList(list)), stringifyJson([...exact]));
  assert.deepEqual(valuesOf(list), exact.map(sorted));
  const written = recordListOf(exact);
  assert.equal(stringifyJson(recordsOfList(written)), stringifyJson([...exact]));
  assert.deepEqual(valuesOf(written), exact.map(sorted));
  assert.equal(new Set(list.fields).size, list.fields.length);
  for (const each of [list, written]) {
    assert.deepEqual(observedOf(each), observedIn(exact));
    if (each.isCompact && !bytesOfList(each).includes('\\'))
      assert.equal(bytesOfList(each).toString(), stringifyJson([...exact]));
  }
}

/** By field, how many records have a value, and of which kinds. */
function observedOf({ fields, observed }: RecordList): ReadonlyMap<string, number> {
  assert.equal(observed.length, fields.length);
  return new Map(fields.map((field, index) => [field, observed[index] ?? 0]));
}

function observedIn(records: readonly JsonObject[]): ReadonlyMap<string, number> {
  const all = new Map<string, number>();
  for (const [field, value] of records.flatMap((record) => Object.entries(record))) {
    const before = all.get(field) ?? 0;
    all.set(field, value === null ? before : (before + ONE_RECORD) | kindOf(value));
  }
  return all;
}

function kindOf(value: Json): number {
  if (typeof value === 'string') return KIND.text;
  if (typeof value === 'boolean') return KIND.boolean;
  return typeof value === 'number' || isRawNumber(value) ? KIND.number : KIND.nested;
}

/** By record, each field and its value, read from the value's literal. */
function valuesOf(list: RecordList): string[][] {
  return entriesOf(list, (literal) => stringifyJson(parseJson(literal)));
}

/** By record, each field and the literal of its value. */
function literalsOf(list: RecordList): string[][] {
  return entriesOf(list, (literal) => literal);
}

function entriesOf(
  { bytes, fields, values, records, count }: RecordList,
  shown: (literal: string) => string,
): string[][] {
  let at = 0;
  return Array.from({ length: count }, (_, index) => {
    const found: string[] = [];
    for (; at < (records[index * STRIDE + 2] ?? 0); at += STRIDE) {
      const [field = 0, start, end] = values.subarray(at, at + STRIDE);
      const literal = Buffer.from(bytes.subarray(start, end)).toString();
      assert.equal(literal, literal.trim());
      found.push(`${fields[field]} ${shown(literal)}`);
    }
    return found.sort();
  });
}

function sorted(record: JsonObject): string[] {
  return Object.entries(record)
    .map(([field, value]) => `${field} ${stringifyJson(value)}`)
    .sort();
}

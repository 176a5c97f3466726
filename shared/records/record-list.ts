/**
 * Represents the records of a page as the bytes of a JSON list, with the position of each value of each record. Values
 * are literals: nothing is decoded and no type is decided, so that all digits stay (I6) and a record needs no object.
 * The kernel creates such a list from the bytes of a service, and `recordListOf` creates it from objects that the exact
 * parser returned. From there on, both take the same path.
 */
import {
  isJsonObject,
  type Json,
  type JsonObject,
  numberOf,
  parseJson,
  stringifyJson,
  numberText,
} from '../base/json.ts';
import { QUOTE, beginsNumber } from './json-bytes.ts';

/** The field, or the fields together, whose values identify a record. */
export type RecordKey = string | readonly string[];

export function fieldsOfKey(key: RecordKey): readonly string[] {
  return typeof key === 'string' ? [key] : key;
}

/** The primary key of each record as text; `undefined` if the record lacks a field of it, or without a key. */
export function keysOf(list: RecordList, key: RecordKey | undefined): (string | undefined)[] {
  if (key === undefined) return new Array<undefined>(list.count).fill(undefined);
  const [first = [], ...others] = fieldsOfKey(key).map((field) => valuesOf(list, field).map(keyOf));
  if (others.length === 0) return first;
  return first.map((part, index) => {
    const parts = [part, ...others.map((values) => values[index])];
    // As a JSON list, so that no two keys give the same text: ["a","bc"] is not ["ab","c"].
    return parts.includes(undefined) ? undefined : JSON.stringify(parts);
  });
}

/** How many records of a page have no key of their own. */
export function countWithoutKey(list: RecordList, key: RecordKey | undefined): number {
  if (key === undefined) return list.count;
  const keys = keysOf(list, key);
  // I1: a key that occurs twice on one page is not an overlap of pages, so it is not a key of these records.
  const own = new Set(keys.filter((each) => each !== undefined));
  return keys.length - own.size;
}

/** A primary key as text: a text that is not empty, or the digits of a number. */
export function keyOf(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return numberText(value);
}

/** Finds the upstream record of a response, by the key in the response: a service may omit leading zeros. */
export function ownersAmong(
  upstream: ReadonlyMap<string, unknown>,
): (answered: string) => string | undefined {
  const padded = new Map(
    [...upstream.keys()].flatMap((key) => (key.startsWith('0') ? [[withoutZeros(key), key]] : [])),
  );
  return (answered) => (upstream.has(answered) ? answered : padded.get(withoutZeros(answered)));
}

export function withoutZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, '');
}

export interface RecordList {
  readonly count: number;
  readonly bytes: Buffer;
  /** Of the list in `bytes`, brackets included. */
  readonly start: number;
  readonly end: number;
  /**
   * Whether the list certainly has no space between its tokens, and no key that objects move to their front. Except for
   * escapes, its text in `bytes` is then what `stringifyJson` would write.
   */
  readonly isCompact: boolean;
  readonly fields: readonly string[];
  /** By field: how many records have a value other than null, times ONE_RECORD, plus the kinds of these values. */
  readonly observed: Int32Array;
  /** For each value, in the order of the text: the index of its field, the start and the end of its literal. */
  readonly values: Int32Array;
  /** For each record: its start and its end in `bytes`, and the position in `values` after its last value. */
  readonly records: Int32Array;
}

/** The kinds of values, as bits. Null has no bit, because it shows no type. */
export const KIND = { text: 1, number: 2, boolean: 4, nested: 8 } as const;
export const ONE_RECORD = 16;
/** Numbers of a value in `values`, and of a record in `records`. */
export const STRIDE = 3;

export function firstValueOf({ records }: RecordList, index: number): number {
  return index === 0 ? 0 : (records[index * STRIDE - 1] ?? 0);
}

/** The record, with all digits. */
export function recordAt({ bytes, records }: RecordList, index: number): JsonObject {
  const [start = 0, end = 0] = records.subarray(index * STRIDE, index * STRIDE + 2);
  const record = parseJson(textOf(bytes, start, end));
  if (isJsonObject(record)) return record;
  throw new TypeError(`record ${index} of a list is not an object`);
}

export function recordsOfList(list: RecordList): JsonObject[] {
  return Array.from({ length: list.count }, (_, index) => recordAt(list, index));
}

export function bytesOfList({ bytes, start, end }: RecordList): Buffer {
  return bytes.subarray(start, end);
}

export function bytesOfRecord({ bytes, records }: RecordList, index: number): Buffer {
  return bytes.subarray(records[index * STRIDE], records[index * STRIDE + 1]);
}

/** The value of a field in each record; `undefined` if the record does not have the field. */
export function valuesOf(list: RecordList, field: string): (Json | undefined)[] {
  const { bytes, count, fields, values, records } = list;
  const found = new Array<Json | undefined>(count).fill(undefined);
  const wanted = fields.indexOf(field);
  if (wanted === -1) return found;
  let at = 0;
  for (let record = 0; record < count; record += 1) {
    const recordEnd = records[record * STRIDE + 2] ?? 0;
    for (; at < recordEnd; at += STRIDE)
      if (values[at] === wanted)
        found[record] = valueOfLiteral(textOf(bytes, values[at + 1] ?? 0, values[at + 2] ?? 0));
  }
  return found;
}

/** The value of a literal, with all digits. */
export function valueOfLiteral(literal: string): Json {
  const first = literal.charCodeAt(0);
  // Most values are numbers, or texts without an escape, whose meaning is the text between the quotes.
  if (first === QUOTE && !literal.includes('\\')) return literal.slice(1, -1);
  return beginsNumber(first) ? numberOf(literal) : parseJson(literal);
}

const FIRST_BYTES = 1_024;
/** UTF-8 bytes for a unit of UTF-16. */
const MOST_BYTES_OF_UNIT = 3;

/** The list of records that parseJson returned. RawNumbers and the values of repeated keys are kept (I6). */
export function recordListOf(all: readonly JsonObject[]): RecordList {
  let bytes = Buffer.allocUnsafe(FIRST_BYTES);
  let at = 0;
  // I12: not a list of all parts, which would take many times as much memory.
  const write = (part: string) => {
    const most = at + part.length * MOST_BYTES_OF_UNIT;
    if (most > bytes.length) {
      const before = bytes.subarray(0, at);
      bytes = Buffer.allocUnsafe(Math.max(most, 2 * at));
      bytes.set(before);
    }
    at += bytes.write(part, at);
  };
  const fields = new Map<string, number>();
  const observed: number[] = [];
  const values: number[] = [];
  const records: number[] = [];
  const writeValue = ([name, value]: [string, Json], position: number) => {
    write(`${position === 0 ? '' : ','}${stringifyJson(name)}:`);
    if (!fields.has(name)) fields.set(name, fields.size);
    const field = fields.get(name) ?? 0;
    const literal = stringifyJson(value);
    const start = at;
    write(literal);
    values.push(field, start, at);
    const before = observed[field] ?? 0;
    observed[field] = value === null ? before : (before + ONE_RECORD) | kindOf(literal);
  };
  write('[');
  for (const [index, record] of all.entries()) {
    if (index > 0) write(',');
    const start = at;
    write('{');
    Object.entries(record).forEach(writeValue);
    write('}');
    records.push(start, at, values.length);
  }
  write(']');
  return {
    count: all.length,
    bytes: bytes.subarray(0, at),
    start: 0,
    end: at,
    isCompact: true,
    fields: [...fields.keys()],
    observed: Int32Array.from(observed),
    values: Int32Array.from(values),
    records: Int32Array.from(records),
  };
}

function kindOf(literal: string): number {
  if (literal.startsWith('"')) return KIND.text;
  if (literal.startsWith('t') || literal.startsWith('f')) return KIND.boolean;
  return literal.startsWith('{') || literal.startsWith('[') ? KIND.nested : KIND.number;
}

export const NO_RECORDS = recordListOf([]);

/** Bytes `[start, end)` as text; invalid UTF-8 is replaced. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('utf8', start, end);
}

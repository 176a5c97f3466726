/**
 * Reads a list of records in one pass over its bytes. Whoever calls falls back to parseJson where this returns
 * `undefined`, so it accepts only what it certainly reads as parseJson does (I6): lists of objects by the strict grammar,
 * without what is unusual (keys that are escaped, repeated or treated specially, deep nesting).
 * Records of a list mostly have the same fields in the same order. So the next key is guessed from the order of the
 * keys so far, and only its bytes are compared.
 */
import { DUPLICATES } from '../json.ts';
import {
  BACKSLASH,
  beginOfValue,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  endOfSpace,
  endOfValue,
  NOWHERE,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
} from './json-bytes.ts';
import { type RecordList, STRIDE, textOf } from './record-list.ts';

/** Keys that parseJson gives a meaning, or that are no safe key of every object. */
const SPECIAL_KEYS = [DUPLICATES, '__proto__'];
/** A list and a record. */
const DEPTH = 2;
/** How many fields of the usual order may be missing before the next key is looked up. */
const GUESSES = 8;
const UNKNOWN = -1;
/**
 * Room for what stands where while a list is read. It is used again, because memory outside the heap starts collections of
 * all garbage. What a huge page needed is not kept.
 */
const MOST_KEPT = STRIDE * 2 ** 18;
let spareValues = new Int32Array(STRIDE * 2 ** 12);
let spareRecords = new Int32Array(STRIDE * 2 ** 8);

/**
 * The list of objects that begins at `start`; what comes behind it is not looked at.
 * @param bytes UTF-8
 * @returns `undefined` where it is anything unusual, or not JSON at all
 */
export function scanRecords(bytes: Buffer, start: number): RecordList | undefined {
  if (bytes.length >= NOWHERE || bytes[start] !== OPEN_LIST) return undefined;
  const keys = new Keys(bytes);
  let values = spareValues;
  let valuesEnd = 0;
  let records = spareRecords;
  let count = 0;
  let at = endOfSpace(bytes, start + 1);
  const isEmpty = bytes[at] === CLOSE_LIST;
  while (!isEmpty) {
    if (bytes[at] !== OPEN_OBJECT) return undefined;
    const recordStart = at;
    let field = UNKNOWN;
    at = endOfSpace(bytes, at + 1);
    const hasNoValue = bytes[at] === CLOSE_OBJECT;
    while (!hasNoValue) {
      if (bytes[at] !== QUOTE) return undefined;
      field = keys.find(at + 1, field);
      if (field === UNKNOWN || !keys.isFirstIn(count, field)) return undefined;
      const begin = beginOfValue(bytes, keys.endOf(field, at + 1));
      const end = endOfValue(bytes, begin, DEPTH);
      if (valuesEnd === values.length) values = twiceAsLong(values);
      values[valuesEnd] = field;
      values[valuesEnd + 1] = begin;
      values[valuesEnd + 2] = end;
      valuesEnd += STRIDE;
      at = endOfSpace(bytes, end);
      if (bytes[at] !== COMMA) break;
      at = endOfSpace(bytes, at + 1);
    }
    if (bytes[at] !== CLOSE_OBJECT) return undefined;
    if (count * STRIDE === records.length) records = twiceAsLong(records);
    records[count * STRIDE] = recordStart;
    records[count * STRIDE + 1] = at + 1;
    records[count * STRIDE + 2] = valuesEnd;
    count += 1;
    at = endOfSpace(bytes, at + 1);
    if (bytes[at] !== COMMA) break;
    at = endOfSpace(bytes, at + 1);
  }
  if (bytes[at] !== CLOSE_LIST) return undefined;
  if (values.length <= MOST_KEPT) spareValues = values;
  if (records.length <= MOST_KEPT) spareRecords = records;
  return {
    count,
    bytes,
    start,
    end: at + 1,
    fields: keys.names,
    values: values.slice(0, valuesEnd),
    records: records.slice(0, count * STRIDE),
  };
}

/** The keys met so far; a field is the index of its key. */
class Keys {
  readonly names: string[] = [];
  readonly #bytes: Buffer;
  readonly #byName = new Map<string, number>();
  /** Where a key stands first. */
  readonly #starts: number[] = [];
  readonly #lengths: number[] = [];
  /** The field that followed when the order was last learned; the first number is that of the first field. */
  readonly #next: number[] = [UNKNOWN];
  /** The record that had the field last. */
  readonly #lastIn: number[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The field whose key stands at `at`, behind its quote; UNKNOWN where the key is unusual or ends nowhere. */
  find(at: number, previous: number): number {
    let guess = this.#next[previous + 1] ?? UNKNOWN;
    for (let guesses = 0; guess !== UNKNOWN && guesses < GUESSES; guesses += 1) {
      if (this.#standsAt(at, guess)) return guess;
      guess = this.#next[guess + 1] ?? UNKNOWN;
    }
    const field = this.#lookUp(at);
    if (field !== UNKNOWN) this.#next[previous + 1] = field;
    return field;
  }

  /** The place behind the closing quote of a key that stands at `at`. */
  endOf(field: number, at: number): number {
    return at + (this.#lengths[field] ?? 0) + 1;
  }

  /** Whether the record has had the field not yet; afterwards it has. */
  isFirstIn(record: number, field: number): boolean {
    if (this.#lastIn[field] === record) return false;
    this.#lastIn[field] = record;
    return true;
  }

  #standsAt(at: number, field: number): boolean {
    const bytes = this.#bytes;
    const start = this.#starts[field] ?? 0;
    const length = this.#lengths[field] ?? 0;
    for (let index = 0; index < length; index += 1)
      if (bytes[at + index] !== bytes[start + index]) return false;
    return bytes[at + length] === QUOTE;
  }

  #lookUp(at: number): number {
    const end = this.#endOfPlainKey(at);
    if (end === NOWHERE) return UNKNOWN;
    const name = textOf(this.#bytes, at, end);
    if (SPECIAL_KEYS.includes(name)) return UNKNOWN;
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const field = this.names.length;
    this.names.push(name);
    this.#byName.set(name, field);
    this.#starts.push(at);
    this.#lengths.push(end - at);
    this.#next.push(UNKNOWN);
    this.#lastIn.push(UNKNOWN);
    return field;
  }

  /** Where the key's closing quote is; NOWHERE for a key with an escape. */
  #endOfPlainKey(at: number): number {
    for (let end = at; ; end += 1) {
      const byte = this.#bytes[end];
      if (byte === QUOTE) return end;
      if (byte === undefined || byte < SPACE || byte === BACKSLASH) return NOWHERE;
    }
  }
}

function twiceAsLong(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(numbers.length * 2);
  longer.set(numbers);
  return longer;
}

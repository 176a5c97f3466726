/**
 * A JSON text in the kernel's memory: where its values end, by the strict grammar of RFC 8259, and the records of its
 * lists. Nothing is decoded. A page is read by its bytes because making objects and strings of all its values costs ten
 * times as much.
 * Each method takes where something begins and returns the place behind it, or a negative number where the grammar is
 * violated: no byte stands there, so whoever reads on finds a violation again, and one check at the end is enough.
 * That the bytes are UTF-8 is for the caller to check.
 */
import { isUtf8 } from 'node:buffer';
import { DUPLICATES, isJsonObject, parseJson } from '../json.ts';
import { giveBackKernel, type Kernel, takeKernel } from '../kernel/kernel.ts';
import { type RecordList, STRIDE, recordListOf, textOf } from './record-list.ts';

/** Longer ones are left to parseJson. A response is never that long. */
const MOST_BYTES = 2 ** 27;
/** Keys that parseJson gives a meaning, or that are no safe key of every object. */
const SPECIAL_KEYS = [DUPLICATES, '__proto__'];

/** The records of a JSON list that was checked before. @throws SyntaxError or TypeError where it is no list of objects */
export function readRecords(bytes: Buffer): RecordList {
  if (!isUtf8(bytes)) throw new TypeError('UTF-8 was expected');
  const scanned = readText(bytes, (text) => text.recordsAt(0));
  if (scanned?.end === bytes.length) return scanned;
  const list = parseJson(textOf(bytes, 0, bytes.length));
  if (Array.isArray(list) && list.every(isJsonObject)) return recordListOf(list);
  throw new TypeError('a list of objects was expected');
}

/** What `read` makes of the text; `undefined` where that is too long. */
export function readText<Result>(bytes: Buffer, read: (text: JsonText) => Result): Result | undefined {
  if (bytes.length > MOST_BYTES) return undefined;
  const kernel = takeKernel();
  try {
    return read(new JsonText(kernel, bytes));
  } finally {
    giveBackKernel(kernel);
  }
}

export class JsonText {
  readonly #kernel: Kernel;
  readonly #bytes: Buffer;
  /** Where the text is in the kernel's memory. */
  readonly #begin: number;

  constructor(kernel: Kernel, bytes: Buffer) {
    this.#kernel = kernel;
    this.#bytes = bytes;
    this.#begin = kernel.beginText(bytes.length);
    new Uint8Array(kernel.memory.buffer, this.#begin, bytes.length).set(bytes);
  }

  /** The first place that has no white space. The byte before the text belongs to nobody, whatever it is. */
  endOfSpace(at: number): number {
    return at < 0 ? at : this.#kernel.endOfSpace(this.#begin + at) - this.#begin;
  }

  endOfString(at: number): number {
    return this.#kernel.endOfString(this.#begin + at) - this.#begin;
  }

  endOfValue(at: number): number {
    return this.#kernel.endOfValue(this.#begin + at, 0) - this.#begin;
  }

  /** Where the value of a key begins that ends at `at`: behind a colon. */
  beginOfValue(at: number): number {
    return this.#kernel.beginOfValue(this.#begin + at) - this.#begin;
  }

  /**
   * The list of objects that begins at `open`; what comes behind it is not looked at. Whoever calls falls back to
   * parseJson where this returns `undefined`, so it accepts only what it certainly reads as parseJson does (I6).
   * @returns `undefined` where it is anything unusual, or not JSON at all
   */
  recordsAt(open: number): RecordList | undefined {
    const end = this.#kernel.endOfRecords(this.#begin + open);
    if (end === 0) return undefined;
    const { buffer } = this.#kernel.memory;
    const found = new Uint32Array(buffer, this.#kernel.foundAt(), 9);
    const [
      values = 0,
      valuesLength = 0,
      records = 0,
      count = 0,
      keys = 0,
      keyEnds = 0,
      keyCount = 0,
      observed = 0,
      isCompact = 0,
    ] = found;
    const ends = new Uint32Array(buffer, keyEnds, keyCount + 1);
    const names = Buffer.from(buffer, keys, ends[keyCount]);
    const fields = Array.from({ length: keyCount }, (_, field) =>
      textOf(names, ends[field] ?? 0, ends[field + 1] ?? 0),
    );
    if (SPECIAL_KEYS.some((key) => fields.includes(key))) return undefined;
    return {
      count,
      bytes: this.#bytes,
      start: open,
      end: end - this.#begin,
      isCompact: isCompact === 1,
      fields,
      observed: new Int32Array(buffer, observed, keyCount).slice(),
      values: new Int32Array(buffer, values, valuesLength).slice(),
      records: new Int32Array(buffer, records, count * STRIDE).slice(),
    };
  }
}

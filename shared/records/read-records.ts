/**
 * Scans a JSON text in the kernel's memory. Nothing is decoded, because creating objects and strings of all values costs ten
 * times as much. Methods return the position after a value, or a negative number if the grammar is violated. No byte has a
 * negative position, so reading on finds a violation again, and one check at the end is enough.
 * The caller checks that the bytes are UTF-8.
 */
import { isUtf8 } from 'node:buffer';
import { DUPLICATES, isJsonObject, parseJson } from '../base/json.ts';
import { giveBackKernel, type Kernel, takeKernel } from './kernel.ts';
import { type RecordList, STRIDE, recordListOf, textOf } from './record-list.ts';

/** Longer texts are left to parseJson. A response is never that long. */
const MOST_BYTES = 2 ** 27;
/** Keys that parseJson treats specially, or that are not safe as a key of every object. */
const SPECIAL_KEYS = [DUPLICATES, '__proto__'];

/** The list was checked before. @throws SyntaxError or TypeError if it is not a list of objects */
export function readRecords(bytes: Buffer): RecordList {
  if (!isUtf8(bytes)) throw new TypeError('UTF-8 was expected');
  const scanned = readText(bytes, (text) => text.recordsAt(0));
  if (scanned?.end === bytes.length) return scanned;
  const list = parseJson(textOf(bytes, 0, bytes.length));
  if (Array.isArray(list) && list.every(isJsonObject)) return recordListOf(list);
  throw new TypeError('a list of objects was expected');
}

/** The result of `read` for the text; `undefined` if the text is too long. */
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
  /** The position of the text in the kernel's memory. */
  readonly #begin: number;

  constructor(kernel: Kernel, bytes: Buffer) {
    this.#kernel = kernel;
    this.#bytes = bytes;
    this.#begin = kernel.beginText(bytes.length);
    new Uint8Array(kernel.memory.buffer, this.#begin, bytes.length).set(bytes);
  }

  endOfSpace(at: number): number {
    return at < 0 ? at : this.#kernel.endOfSpace(this.#begin + at) - this.#begin;
  }

  endOfString(at: number): number {
    return this.#kernel.endOfString(this.#begin + at) - this.#begin;
  }

  endOfValue(at: number): number {
    return this.#kernel.endOfValue(this.#begin + at, 0) - this.#begin;
  }

  beginOfValue(at: number): number {
    return this.#kernel.beginOfValue(this.#begin + at) - this.#begin;
  }

  /**
   * The list of objects that begins at `open`; the text after the list is ignored. If this returns `undefined`, callers
   * fall back to parseJson, so it accepts only text that it certainly reads as parseJson does (I6).
   * @returns `undefined` if the list is unusual in any way, or not JSON at all
   */
  recordsAt(open: number): RecordList | undefined {
    const end = this.#kernel.endOfRecords(this.#begin + open);
    if (end === 0) return undefined;
    const { buffer } = this.#kernel.memory;
    const found = new Uint32Array(buffer, this.#kernel.foundAt(), 9);
    const [values = 0, valuesLength = 0, records = 0, count = 0] = found;
    const [keys = 0, keyEnds = 0, keyCount = 0, observed = 0, isCompact = 0] = found.subarray(4);
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

/**
 * Keeps the different values of a column in the kernel's memory, as the bytes that Parquet stores. It finds the values
 * that some row has, their layout in a page, the smallest and the largest value.
 */
import {
  allocated,
  copied,
  giveBackKernel,
  type Kernel,
  type Piece,
  release,
  takeKernel,
} from '../../kernel/kernel.ts';
import { ORDERS, type PlainValues } from './plain-values.ts';
import type { Texts } from './texts.ts';

/** The values that are not NULL. */
export interface Present {
  /** The code of each value that some row has, in the order of their first occurrence. */
  distinct: Uint32Array;
  /** For each row that is not NULL: its code, and the place of its value in `distinct`. */
  filled: Uint32Array;
  places: Uint32Array;
  /** For each row: 1, or 0 for NULL. */
  levels: Uint32Array;
  /** The bytes of the values in `distinct`, and of the values of all rows. */
  distinctBytes: number;
  rowBytes: number;
}

const NUMBER_BYTES = 4;

/** Occupies an instance of the kernel until it is closed. */
export class StoredValues {
  readonly #kernel: Kernel = takeKernel();
  readonly #plain: PlainValues;
  readonly #count: number;
  readonly #bytes: Piece;
  readonly #starts: Piece;
  readonly #ends: Piece;

  constructor(plain: PlainValues) {
    const { bytes, starts, ends } = plain.stored;
    this.#plain = plain;
    this.#kernel.releaseAll();
    this.#count = starts.length;
    this.#bytes = copied(this.#kernel, bytes);
    this.#starts = copied(this.#kernel, starts);
    this.#ends = copied(this.#kernel, ends);
  }

  /** @param codes of the rows, at least `rows` of them */
  present(rows: number, codes: Uint32Array): Present {
    const kernel = this.#kernel;
    const ofRows = copied(kernel, codes.subarray(0, rows));
    const distinct = allocated(kernel, this.#count * NUMBER_BYTES);
    const filled = allocated(kernel, rows * NUMBER_BYTES);
    const places = allocated(kernel, rows * NUMBER_BYTES);
    const levels = allocated(kernel, rows * NUMBER_BYTES);
    const placeOf = copied(kernel, new Uint32Array(this.#count));
    const totals = allocated(kernel, 24);
    kernel.presentValues(
      this.#starts.at,
      this.#ends.at,
      this.#count,
      ofRows.at,
      rows,
      distinct.at,
      filled.at,
      places.at,
      levels.at,
      placeOf.at,
      totals.at,
    );
    const { buffer } = kernel.memory;
    const [distinctBytes = 0, rowBytes = 0] = new Float64Array(buffer, totals.at, 2);
    const [met, placed] = new Uint32Array(buffer, totals.at + 16, 2);
    const present = {
      distinct: new Uint32Array(buffer, distinct.at, met).slice(),
      filled: new Uint32Array(buffer, filled.at, placed).slice(),
      places: new Uint32Array(buffer, places.at, placed).slice(),
      levels: new Uint32Array(buffer, levels.at, rows).slice(),
      distinctBytes,
      rowBytes,
    };
    release(kernel, ofRows, distinct, filled, places, levels, placeOf, totals);
    return present;
  }

  /** The values as they lie in a page. @throws RangeError if one of them is NULL */
  encode(codes: Uint32Array): Uint8Array {
    const { stored, isBits, lengthBytes } = this.#plain;
    if (isBits) return bitsOf(stored, codes);
    let bytes = codes.length * lengthBytes;
    for (let index = 0; index < codes.length; index += 1) {
      const code = codes[index] ?? 0;
      const length = (stored.ends[code] ?? 0) - (stored.starts[code] ?? 0);
      if (length < 0) throw new RangeError('NULL has no bytes, and one of the codes stands for it');
      bytes += length;
    }
    const kernel = this.#kernel;
    const wanted = copied(kernel, codes);
    const page = allocated(kernel, bytes);
    const [starts, ends] = [this.#starts.at, this.#ends.at];
    kernel.encodeValues(this.#bytes.at, starts, ends, wanted.at, codes.length, lengthBytes, page.at);
    const encoded = new Uint8Array(kernel.memory.buffer, page.at, page.bytes).slice();
    release(kernel, wanted, page);
    return encoded;
  }

  /** The codes of the smallest and the largest value. @param codes at least one */
  extremes(codes: Uint32Array): { min: number; max: number } {
    const kernel = this.#kernel;
    const wanted = copied(kernel, codes);
    const extremes = allocated(kernel, 2 * NUMBER_BYTES);
    kernel.extremesOf(
      this.#bytes.at,
      this.#starts.at,
      this.#ends.at,
      wanted.at,
      codes.length,
      ORDERS[this.#plain.order],
      extremes.at,
    );
    const [min = 0, max = 0] = new Uint32Array(kernel.memory.buffer, extremes.at, 2);
    release(kernel, wanted, extremes);
    return { min, max };
  }

  close(): void {
    giveBackKernel(this.#kernel);
  }
}

/** Packs values of one byte each into one bit each, the first value in the lowest bit. */
function bitsOf({ bytes, starts }: Texts, codes: Uint32Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(codes.length / 8));
  for (let index = 0; index < codes.length; index += 1) {
    const bit = bytes[starts[codes[index] ?? 0] ?? 0] ?? 0;
    bits[index >> 3] = (bits[index >> 3] ?? 0) | (bit << (index & 7));
  }
  return bits;
}

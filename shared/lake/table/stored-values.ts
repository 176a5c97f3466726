/**
 * The different values of a column in the kernel's memory, as the bytes that Parquet stores: which of them some row has,
 * how they lie in a page, the least and the greatest; and numbers as they are packed in a page.
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

/** The values that are not NULL. */
export interface Present {
  /** The code of each value that some row has, in the order in which they came. */
  distinct: Uint32Array;
  /** For each row that is not NULL: its code, and the place of its value in `distinct`. */
  filled: Uint32Array;
  places: Uint32Array;
  /** For each row: 1, or 0 for NULL. */
  levels: Uint32Array;
  /** How many bytes the values of `distinct` have, and those of all rows. */
  distinctBytes: number;
  rowBytes: number;
}

/** What a page holds: some rows, and the values of those that are not NULL. */
export interface Part {
  fromRow: number;
  toRow: number;
  fromPlace: number;
  toPlace: number;
}

const NUMBER_BYTES = 4;

/** Holds an instance of the kernel until it is closed. */
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

  /** @param codes of the rows, at least so many */
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

  /** The pages that the values take, each at most so many bytes, or one value. */
  parts(rows: number, { filled, levels }: Present, mostBytes: number): Part[] {
    const kernel = this.#kernel;
    const [ofValues, ofRows] = [copied(kernel, filled), copied(kernel, levels)];
    const next = copied(kernel, new Uint32Array(4));
    const parts: Part[] = [];
    for (let toRow = 0; toRow < rows; ) {
      kernel.nextPart(
        this.#starts.at,
        this.#ends.at,
        ofValues.at,
        ofRows.at,
        rows,
        this.#plain.lengthBytes,
        mostBytes,
        next.at,
      );
      const [fromRow = 0, behind = rows, fromPlace = 0, toPlace = 0] = new Uint32Array(
        kernel.memory.buffer,
        next.at,
        4,
      );
      parts.push({ fromRow, toRow: behind, fromPlace, toPlace });
      toRow = behind;
    }
    release(kernel, ofValues, ofRows, next);
    return parts;
  }

  /** The values as they lie in a page. @throws RangeError where one of them is NULL */
  encode(codes: Uint32Array): Uint8Array {
    const { isBits, lengthBytes } = this.#plain;
    if (isBits) return this.#encodeBits(codes);
    const kernel = this.#kernel;
    const [starts, ends] = [this.#starts.at, this.#ends.at];
    const wanted = copied(kernel, codes);
    const bytes = kernel.bytesOfValues(starts, ends, wanted.at, codes.length);
    if (bytes < 0) throw new RangeError('NULL has no bytes, and one of the codes stands for it');
    const page = allocated(kernel, bytes + codes.length * lengthBytes);
    kernel.encodeValues(this.#bytes.at, starts, ends, wanted.at, codes.length, lengthBytes, page.at);
    const encoded = new Uint8Array(kernel.memory.buffer, page.at, page.bytes).slice();
    release(kernel, wanted, page);
    return encoded;
  }

  #encodeBits(codes: Uint32Array): Uint8Array {
    const kernel = this.#kernel;
    const wanted = copied(kernel, codes);
    const bits = copied(kernel, new Uint8Array(Math.ceil(codes.length / 8)));
    kernel.encodeBits(this.#bytes.at, this.#starts.at, wanted.at, codes.length, bits.at);
    const encoded = new Uint8Array(kernel.memory.buffer, bits.at, bits.bytes).slice();
    release(kernel, wanted, bits);
    return encoded;
  }

  /** The codes of the least and of the greatest value. @param codes one at least */
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

  /** Levels or places as Parquet packs them, a number in so many bits. */
  packed(numbers: Uint32Array, width: number): Uint8Array {
    const kernel = this.#kernel;
    const given = copied(kernel, numbers);
    const packed = allocated(kernel, kernel.packedRoom(numbers.length, width));
    const end = kernel.packNumbers(given.at, numbers.length, width, packed.at);
    const bytes = new Uint8Array(kernel.memory.buffer, packed.at, end - packed.at).slice();
    release(kernel, given, packed);
    return bytes;
  }

  close(): void {
    giveBackKernel(this.#kernel);
  }
}

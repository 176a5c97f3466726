/** A column of a row group in the kernel's memory: pages copy the bytes of its values. */
import { ByteWriter } from 'hyparquet-writer';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import { type PhysicalValue, type TypeSpec, typeSpec } from '../base/column-types.ts';
import {
  allocated,
  copied,
  giveBackKernel,
  type Kernel,
  type Piece,
  release,
  takeKernel,
} from '../records/kernel.ts';
import type { CodedColumn } from './coded-rows.ts';
import { plainReader } from './plain-values.ts';

/** The kernel's numbers for the orders of values, by their bytes. */
const ORDERS = { BYTE_ARRAY: 0, BOOLEAN: 0, FIXED_LEN_BYTE_ARRAY: 1, INT32: 2, INT64: 3, DOUBLE: 4 };

/** Before each text in a page stands how many bytes it has. */
const LENGTH_BYTES = 4;
const NUMBER_BYTES = 4;

export interface Present {
  filled: number;
  distinct: number;
  /** The bytes in a page of each different value once, and of the values of all rows. */
  distinctBytes: number;
  rowBytes: number;
}

/** Occupies an instance of the kernel until it is closed. Bytes that it returns are valid until its next call. */
export class StoredValues {
  readonly present: Present;
  readonly #kernel: Kernel = takeKernel();
  readonly #parquet: TypeSpec['parquet'];
  readonly #cells: CodedColumn;
  readonly #lengthBytes: number;
  readonly #order: number;
  readonly #count: number;
  readonly #bytes: Piece;
  readonly #starts: Piece;
  readonly #ends: Piece;
  /** The code of each value that some row has, in the order of their first occurrence. */
  readonly #distinct: Piece;
  /** For each row that is not NULL: its code, and the place of its value in `distinct`. */
  readonly #filled: Piece;
  readonly #places: Piece;
  /** For each row: 1, or 0 for NULL. */
  readonly #levels: Piece;
  #page: Piece | undefined;

  /** @param cells at least `rows` codes */
  constructor(rows: number, cells: CodedColumn) {
    const kernel = this.#kernel;
    kernel.releaseAll();
    this.#parquet = typeSpec(cells.type).parquet;
    const { type } = this.#parquet.element;
    this.#lengthBytes = type === 'BYTE_ARRAY' ? LENGTH_BYTES : 0;
    this.#order = ORDERS[type];
    this.#cells = cells;
    const { bytes, starts: first, ends: last } = cells.values;
    this.#count = first.length;
    this.#bytes = copied(kernel, bytes);
    this.#starts = copied(kernel, first);
    this.#ends = copied(kernel, last);
    const codes = copied(kernel, cells.codes.subarray(0, rows));
    this.#distinct = allocated(kernel, this.#count * NUMBER_BYTES);
    this.#filled = allocated(kernel, rows * NUMBER_BYTES);
    this.#places = allocated(kernel, rows * NUMBER_BYTES);
    this.#levels = allocated(kernel, rows * NUMBER_BYTES);
    const placeOf = kernel.allocateZeros(this.#count * NUMBER_BYTES);
    const totals = kernel.allocate(24);
    const [starts, ends] = [this.#starts.at, this.#ends.at];
    const pieces = [this.#distinct.at, this.#filled.at, this.#places.at, this.#levels.at] as const;
    kernel.presentValues(starts, ends, this.#count, codes.at, rows, ...pieces, placeOf, totals);
    const [distinctBytes = 0, rowBytes = 0] = new Float64Array(kernel.memory.buffer, totals, 2);
    const [distinct = 0, filled = 0] = this.#numbers({ at: totals + 16, bytes: 8 });
    this.present = {
      ...{ filled, distinct },
      distinctBytes: distinctBytes + distinct * this.#lengthBytes,
      rowBytes: rowBytes + filled * this.#lengthBytes,
    };
  }

  dictionary(): Uint8Array {
    const { distinct, distinctBytes } = this.present;
    return this.#encoded(this.#distinct.at, distinct, distinctBytes);
  }

  /** For each row that is not NULL, the place of its value in the dictionary. @param width bits of a place */
  packedPlaces(width: number): Uint8Array {
    const packed = new ByteWriter();
    packed.appendUint8(width);
    writeRleBitPackedHybrid(packed, this.#numbers(this.#places).subarray(0, this.present.filled), width);
    return packed.getBytes();
  }

  values(): Uint8Array {
    return this.#encoded(this.#filled.at, this.present.filled, this.present.rowBytes);
  }

  packedLevels(): Uint8Array {
    const packed = new ByteWriter();
    writeRleBitPackedHybrid(packed, this.#numbers(this.#levels), 1);
    return packed.getBytes();
  }

  /** The smallest and the largest value, for a text its bytes; some row must have a value. */
  extremes(): (PhysicalValue | Uint8Array | undefined)[] {
    const [starts, ends, distinct] = [this.#starts.at, this.#ends.at, this.#distinct.at];
    const found = allocated(this.#kernel, 2 * NUMBER_BYTES);
    const count = this.present.distinct;
    this.#kernel.extremesOf(this.#bytes.at, starts, ends, distinct, count, this.#order, found.at);
    const { type, values } = this.#cells;
    const read = plainReader(type, values);
    return Array.from(this.#numbers(found), (code) => {
      if (type === 'string') return values.bytes.subarray(values.starts[code], values.ends[code]);
      const value = read(code);
      return value === undefined ? undefined : this.#parquet.toPhysical(value);
    });
  }

  close(): void {
    giveBackKernel(this.#kernel);
  }

  #encoded(codes: number, count: number, bytes: number): Uint8Array {
    const kernel = this.#kernel;
    if (this.#page) release(kernel, this.#page);
    const page = allocated(kernel, bytes);
    this.#page = page;
    const [starts, ends] = [this.#starts.at, this.#ends.at];
    kernel.encodeValues(this.#bytes.at, starts, ends, codes, count, this.#lengthBytes, page.at);
    const encoded = new Uint8Array(kernel.memory.buffer, page.at, bytes);
    return this.#parquet.element.type === 'BOOLEAN' ? bitsOf(encoded) : encoded;
  }

  #numbers({ at, bytes }: Piece): Uint32Array {
    return new Uint32Array(this.#kernel.memory.buffer, at, bytes / NUMBER_BYTES);
  }
}

/** Packs values of one byte each into one bit each, the first value in the lowest bit. */
function bitsOf(bytes: Uint8Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(bytes.length / 8));
  for (const [index, bit] of bytes.entries())
    bits[index >> 3] = (bits[index >> 3] ?? 0) | (bit << (index & 7));
  return bits;
}

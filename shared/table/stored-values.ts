/**
 * A column of a row group in the kernel's memory, as Parquet stores it (its encoding PLAIN, little-endian): each different
 * value becomes bytes once, and pages copy these bytes. One piece of code serves all types, so it is compiled once and
 * creates no garbage. A value that its type cannot hold is a bug of the caller and fails here, so it is never cut unnoticed.
 */
import { ByteWriter } from 'hyparquet-writer';
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js';
import type { ParquetElement, PhysicalValue, TypeSpec, Value } from '../base/column-types.ts';
import {
  allocated,
  copied,
  giveBackKernel,
  type Kernel,
  type Piece,
  release,
  takeKernel,
} from '../records/kernel.ts';
import { type CodedColumn, valueOfCode } from './coded-rows.ts';
import { countOf } from './column-facts.ts';

/** The kernel's numbers for the orders of values, by their bytes. */
const ORDERS = { bytes: 0, big_endian: 1, int32: 2, int64: 3, double: 4 };

interface PlainType {
  width: number;
  /** @throws RangeError if the value does not belong to the type */
  write: (view: DataView, at: number, value: PhysicalValue) => void;
  order: keyof typeof ORDERS;
}

const PLAIN_TYPES = {
  // A byte each here, and a bit in a page.
  BOOLEAN: () => ({
    width: 1,
    write(view, at, value) {
      if (typeof value !== 'boolean') throw unfit(value, 'BOOLEAN');
      view.setUint8(at, Number(value));
    },
    order: 'bytes',
  }),
  INT32: () => ({
    width: 4,
    write(view, at, value) {
      if (typeof value !== 'number' || (value | 0) !== value) throw unfit(value, 'INT32');
      view.setInt32(at, value, true);
    },
    order: 'int32',
  }),
  INT64: () => ({
    width: 8,
    write(view, at, value) {
      if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw unfit(value, 'INT64');
      view.setBigInt64(at, value, true);
    },
    order: 'int64',
  }),
  DOUBLE: () => ({
    width: 8,
    write(view, at, value) {
      if (typeof value !== 'number' || Number.isNaN(value)) throw unfit(value, 'DOUBLE');
      view.setFloat64(at, value, true);
    },
    order: 'double',
  }),
  FIXED_LEN_BYTE_ARRAY: ({ type_length: width = 0 }) => ({
    width,
    write: (view, at, value) => writeBigEndian(view, at, value, width),
    order: 'big_endian',
  }),
} satisfies Record<Exclude<ParquetElement['type'], 'BYTE_ARRAY'>, (element: ParquetElement) => PlainType>;

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

  /** @param cells at least `rows` codes @throws RangeError if a value does not belong to the type */
  constructor(parquet: TypeSpec['parquet'], rows: number, cells: CodedColumn) {
    const kernel = this.#kernel;
    kernel.releaseAll();
    this.#parquet = parquet;
    this.#cells = cells;
    const { element } = parquet;
    if (element.type === 'BYTE_ARRAY') {
      if (!('texts' in cells)) throw new RangeError('a Parquet column of BYTE_ARRAY holds texts alone');
      const { bytes, starts, ends } = cells.texts;
      this.#count = starts.length;
      this.#bytes = copied(kernel, bytes);
      this.#starts = copied(kernel, starts);
      this.#ends = copied(kernel, ends);
      this.#lengthBytes = LENGTH_BYTES;
      this.#order = ORDERS.bytes;
    } else {
      if ('texts' in cells) throw new RangeError(`a Parquet column of ${element.type} cannot hold texts`);
      const type = PLAIN_TYPES[element.type](element);
      this.#count = countOf(cells);
      this.#bytes = allocated(kernel, this.#count * type.width);
      this.#starts = allocated(kernel, this.#count * NUMBER_BYTES);
      this.#ends = allocated(kernel, this.#count * NUMBER_BYTES);
      this.#lengthBytes = 0;
      this.#order = ORDERS[type.order];
      if ('units' in cells) this.#storeUnits(cells.units, type.width);
      else this.#storeValues(cells.values, type);
    }
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
    return Array.from(this.#numbers(found), (code) => {
      if ('texts' in this.#cells) {
        const { texts } = this.#cells;
        return texts.bytes.subarray(texts.starts[code], texts.ends[code]);
      }
      const value = valueOfCode(this.#cells, code);
      return value === undefined ? undefined : this.#parquet.toPhysical(value);
    });
  }

  close(): void {
    giveBackKernel(this.#kernel);
  }

  #storeUnits(units: Float64Array, width: number): void {
    const kernel = this.#kernel;
    const given = copied(kernel, units);
    const [bytes, starts, ends] = [this.#bytes.at, this.#starts.at, this.#ends.at];
    const fit = kernel.storeUnits(given.at, units.length, width, this.#order, bytes, starts, ends);
    const { type } = this.#parquet.element;
    if (fit < units.length || (type !== 'INT64' && type !== 'FIXED_LEN_BYTE_ARRAY'))
      throw unfit(units[fit] ?? Number.NaN, `${width} bytes (${type})`);
  }

  #storeValues(values: readonly (Value | undefined)[], { width, write }: PlainType): void {
    // To the end of the memory: V8's Maglev (Node 24) takes a write into the last bytes of a view for a write past its end
    // and drops its code. After that, each write in that place is a call into the runtime.
    const view = new DataView(this.#kernel.memory.buffer, this.#bytes.at);
    const starts = this.#numbers(this.#starts).fill(1);
    const ends = this.#numbers(this.#ends).fill(0);
    for (let code = 0; code < values.length; code += 1) {
      const value = values[code];
      if (value === undefined) continue;
      write(view, code * width, this.#parquet.toPhysical(value));
      starts[code] = code * width;
      ends[code] = code * width + width;
    }
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

function unfit(value: PhysicalValue, type: string): RangeError {
  return new RangeError(`a Parquet column of ${type} cannot hold the ${typeof value} ${value}`);
}

function writeBigEndian(view: DataView, at: number, value: PhysicalValue, width: number): void {
  if (typeof value !== 'bigint' || BigInt.asIntN(width * 8, value) !== value)
    throw unfit(value, `${width} bytes`);
  const low = BigInt.asIntN(64, value);
  if (width === 16) {
    view.setBigInt64(at, low === value ? low >> 63n : value >> 64n);
    view.setBigInt64(at + 8, low);
    return;
  }
  let rest = value;
  for (let index = at + width - 1; index >= at; index -= 1) {
    view.setUint8(index, Number(BigInt.asUintN(8, rest)));
    rest >>= 8n;
  }
}

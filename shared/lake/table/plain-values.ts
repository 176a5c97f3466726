/**
 * Lays out the different values of a column as Parquet stores them (its encoding PLAIN, little-endian), with the order
 * that its statistics use: one entry for each physical type. Each value becomes bytes once, and pages copy these bytes.
 * One piece of code over typed arrays serves all types, so it is compiled once and creates no garbage. A value that its
 * type cannot hold is a bug of the caller and fails here; otherwise it would be cut to the type's width unnoticed.
 */
import type { ParquetElement, PhysicalValue, TypeSpec, Value } from '../../column-types.ts';
import { allocated, copied, giveBackKernel, takeKernel } from '../../kernel/kernel.ts';
import { writableView } from '../../records/murmur.ts';
import type { CodedColumn } from './coded-rows.ts';
import type { Texts } from './texts.ts';

/** The values of a column by their codes. */
export interface PlainValues {
  /** The bytes of each value, with NULL as in texts. */
  readonly stored: Texts;
  /** How many bytes precede each value in a page, to state its length. */
  readonly lengthBytes: number;
  readonly order: Order;
  /** Whether a value is a bit in a page; `stored` has a byte for each. */
  readonly isBits: boolean;
  /** The value for statistics; for a text, its bytes. */
  valueOf: (code: number) => PhysicalValue | Uint8Array | undefined;
}

/** The order of values, by their bytes. */
export type Order = keyof typeof ORDERS;

/** The kernel's numbers for the orders. */
export const ORDERS = { bytes: 0, big_endian: 1, int32: 2, int64: 3, double: 4 };

interface PlainType {
  /** Bytes of a value. */
  width: number;
  /** @throws RangeError if the value does not belong to the type */
  write: (view: DataView, at: number, value: PhysicalValue) => void;
  order: Order;
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

/** Before each text stands how many bytes it has. */
const LENGTH_BYTES = 4;
const NUMBER_BYTES = 4;

/** Lays out the values of a column. @throws RangeError if a value does not belong to the type */
export function plainValues(parquet: TypeSpec['parquet'], cells: CodedColumn): PlainValues {
  const { element } = parquet;
  const { type } = element;
  if ('texts' in cells) {
    if (type !== 'BYTE_ARRAY') throw new RangeError(`a Parquet column of ${type} cannot hold texts`);
    return plainTexts(cells.texts);
  }
  if (type === 'BYTE_ARRAY') throw new RangeError('a Parquet column of BYTE_ARRAY holds texts alone');
  if ('units' in cells) return unitValues(element, cells.units);
  return fixedValues(PLAIN_TYPES[type](element), cells.values, parquet, type === 'BOOLEAN');
}

function plainTexts(stored: Texts): PlainValues {
  const { bytes, starts, ends } = stored;
  return {
    stored,
    lengthBytes: LENGTH_BYTES,
    order: 'bytes',
    isBits: false,
    valueOf: (code) => bytes.subarray(starts[code], ends[code]),
  };
}

function fixedValues(
  { width, write, order }: PlainType,
  values: readonly (Value | undefined)[],
  parquet: TypeSpec['parquet'],
  isBits: boolean,
): PlainValues {
  const { view, stored } = onlyNull(values.length, width);
  for (let code = 0; code < values.length; code += 1) {
    const value = values[code];
    if (value === undefined) continue;
    write(view, code * width, parquet.toPhysical(value));
    stored.starts[code] = code * width;
    stored.ends[code] = code * width + width;
  }
  return {
    stored,
    lengthBytes: 0,
    order,
    isBits,
    valueOf: (code) => {
      const value = values[code];
      return value === undefined ? undefined : parquet.toPhysical(value);
    },
  };
}

/** The same result as `fixedValues` for the same numbers as `bigint`. */
function unitValues(element: ParquetElement, units: Float64Array): PlainValues {
  const { type } = element;
  if (type !== 'INT64' && type !== 'FIXED_LEN_BYTE_ARRAY')
    throw new RangeError(`a Parquet column of ${type} cannot hold whole numbers`);
  const { width, order } = PLAIN_TYPES[type](element);
  const stored = storedUnits(units, width, order);
  return { stored, lengthBytes: 0, order, isBits: false, valueOf: (code) => BigInt(units[code] ?? 0) };
}

function storedUnits(units: Float64Array, width: number, order: Order): Texts {
  const count = units.length;
  const kernel = takeKernel();
  try {
    kernel.releaseAll();
    const given = copied(kernel, units);
    // NULLs stay as they are.
    const bytesAt = kernel.allocateZeros(count * width);
    const [starts, ends] = [allocated(kernel, count * NUMBER_BYTES), allocated(kernel, count * NUMBER_BYTES)];
    const fit = kernel.storeUnits(given.at, count, width, ORDERS[order], bytesAt, starts.at, ends.at);
    if (fit < count) throw unfit(units[fit] ?? Number.NaN, `${width} bytes`);
    const { buffer } = kernel.memory;
    return {
      bytes: Buffer.from(new Uint8Array(buffer, bytesAt, count * width).slice().buffer),
      starts: new Uint32Array(buffer, starts.at, count).slice(),
      ends: new Uint32Array(buffer, ends.at, count).slice(),
    };
  } finally {
    giveBackKernel(kernel);
  }
}

/** Space for `count` values, which are NULL until they are written through the view. */
function onlyNull(count: number, width: number) {
  const view = writableView(count * width);
  const bytes = Buffer.from(view.buffer, 0, count * width);
  return { view, stored: { bytes, starts: new Uint32Array(count).fill(1), ends: new Uint32Array(count) } };
}

function unfit(value: PhysicalValue, type: string): RangeError {
  return new RangeError(`a Parquet column of ${type} cannot hold the ${typeof value} ${value}`);
}

/** A whole number in two's complement, the highest byte first. */
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

/**
 * How Parquet lays out values one behind the other (its encoding PLAIN, little-endian), and in which order its statistics
 * have them: one row a physical type. The values are those of `toPhysical` in `column-types.ts`. What a type cannot hold
 * is a bug of the caller and fails here: it would be cut to the type's width, and nobody would notice.
 */
import type { ParquetElement, PhysicalValue } from '../../column-types.ts';

export interface PlainType {
  /** About how many bytes a value takes. */
  size(value: PhysicalValue): number;
  /** @throws RangeError where a value is not one of the type */
  encode(values: readonly PhysicalValue[]): Uint8Array;
  /** Which of two of the values comes first. */
  orderOf(values: readonly PhysicalValue[]): IsLess;
}

export type IsLess = (a: PhysicalValue, b: PhysicalValue) => boolean;

const PLAIN_TYPES = {
  BOOLEAN: () => ({
    size: () => 1,
    encode: booleans,
    orderOf: () => (a, b) => a < b,
  }),
  INT32: () => ({
    size: () => 4,
    encode: fixedWidth(4, (view, at, value) => {
      if (typeof value !== 'number' || (value | 0) !== value) throw unfit(value, 'INT32');
      view.setInt32(at, value, true);
    }),
    orderOf: () => (a, b) => a < b,
  }),
  INT64: () => ({
    size: () => 8,
    encode: fixedWidth(8, (view, at, value) => {
      if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw unfit(value, 'INT64');
      view.setBigInt64(at, value, true);
    }),
    orderOf: () => (a, b) => a < b,
  }),
  DOUBLE: () => ({
    size: () => 8,
    encode: fixedWidth(8, (view, at, value) => {
      if (typeof value !== 'number' || Number.isNaN(value)) throw unfit(value, 'DOUBLE');
      view.setFloat64(at, value, true);
    }),
    orderOf: () => (a, b) => a < b,
  }),
  BYTE_ARRAY: () => ({
    size: (value) => LENGTH_BYTES + textOf(value).length,
    encode: texts,
    orderOf: (values) => (values.some(hasHighUnit) ? isBefore : (a, b) => a < b),
  }),
  FIXED_LEN_BYTE_ARRAY: ({ type_length: width = 0 }) => ({
    size: () => width,
    encode: (values) => bigEndianIntegers(values, width),
    orderOf: () => (a, b) => a < b,
  }),
} satisfies { [Type in ParquetElement['type']]: (element: ParquetElement) => PlainType };

/** The row of the table for an element of a schema. */
export function plainType(element: ParquetElement): PlainType {
  return PLAIN_TYPES[element.type](element);
}

function unfit(value: PhysicalValue, type: string): RangeError {
  return new RangeError(`a Parquet column of ${type} cannot hold the ${typeof value} ${value}`);
}

function fixedWidth(width: number, write: (view: DataView, at: number, value: PhysicalValue) => void) {
  return (values: readonly PhysicalValue[]) => {
    const view = new DataView(new ArrayBuffer(values.length * width));
    let at = 0;
    for (const value of values) {
      write(view, at, value);
      at += width;
    }
    return new Uint8Array(view.buffer);
  };
}

/** A bit each, the first one lowest. */
function booleans(values: readonly PhysicalValue[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 8));
  for (const [index, value] of values.entries()) {
    if (typeof value !== 'boolean') throw unfit(value, 'BOOLEAN');
    if (value) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return bytes;
}

const WIDEST_INTEGER = 16;

function bigEndianIntegers(values: readonly PhysicalValue[], width: number): Uint8Array {
  const unused = WIDEST_INTEGER - width;
  const view = new DataView(new ArrayBuffer(unused + values.length * width));
  // Each is written with all 16 bytes, from the last one on: the next one covers those that do not belong to it.
  for (let index = values.length - 1; index >= 0; index -= 1) {
    const value = values[index] ?? 0n;
    if (typeof value !== 'bigint' || BigInt.asIntN(width * 8, value) !== value)
      throw unfit(value, `${width} bytes`);
    const low = BigInt.asIntN(64, value);
    view.setBigInt64(index * width + 8, low);
    view.setBigInt64(index * width, low === value ? low >> 63n : value >> 64n);
  }
  return new Uint8Array(view.buffer, unused);
}

const LENGTH_BYTES = 4;
/** Up to this length a loop over the letters is quicker than a call into the runtime. */
const SHORT_TEXT = 20;
const MAX_BYTES_PER_UNIT = 3;

function texts(values: readonly PhysicalValue[]): Uint8Array {
  let size = 0;
  for (const value of values) size += LENGTH_BYTES + textOf(value).length * MAX_BYTES_PER_UNIT;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const value of values) {
    const text = textOf(value);
    const start = at + LENGTH_BYTES;
    const written =
      text.length <= SHORT_TEXT && writeAscii(bytes, start, text) ? text.length : bytes.write(text, start);
    bytes.writeUInt32LE(written, at);
    at = start + written;
  }
  return bytes.subarray(0, at);
}

/** @returns false for a text that is not ASCII */
function writeAscii(bytes: Buffer, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) return false;
    bytes[at + index] = unit;
  }
  return true;
}

function textOf(value: PhysicalValue): string {
  if (typeof value !== 'string') throw unfit(value, 'BYTE_ARRAY');
  return value;
}

const HIGH_UNIT = /[\ud800-\uffff]/;

/** Whether the order of UTF-16, which is JavaScript's, can differ from that of UTF-8, which is Parquet's. */
function hasHighUnit(value: PhysicalValue): boolean {
  return HIGH_UNIT.test(textOf(value));
}

/** The order of the texts' bytes in UTF-8, which is that of their code points. */
function isBefore(valueOfA: PhysicalValue, valueOfB: PhysicalValue): boolean {
  const [a, b] = [textOf(valueOfA).toWellFormed(), textOf(valueOfB).toWellFormed()];
  const common = Math.min(a.length, b.length);
  for (let index = 0; index < common; index += 1) {
    const unitOfA = a.charCodeAt(index);
    const unitOfB = b.charCodeAt(index);
    if (unitOfA !== unitOfB) return rank(unitOfA) < rank(unitOfB);
  }
  return a.length < b.length;
}

/** Surrogates stand for the code points above all that one unit can hold. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

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
  isLess(a: PhysicalValue, b: PhysicalValue): boolean;
}

const PLAIN_TYPES = {
  BOOLEAN: () => ({
    size: () => 1 / 8,
    encode: booleans,
    isLess: (a, b) => a < b,
  }),
  INT32: () => ({
    size: () => 4,
    encode: fixedWidth(4, (view, at, value) => {
      if (typeof value !== 'number' || (value | 0) !== value) throw unfit(value, 'INT32');
      view.setInt32(at, value, true);
    }),
    isLess: (a, b) => a < b,
  }),
  INT64: () => ({
    size: () => 8,
    encode: fixedWidth(8, (view, at, value) => {
      if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw unfit(value, 'INT64');
      view.setBigInt64(at, value, true);
    }),
    isLess: (a, b) => a < b,
  }),
  DOUBLE: () => ({
    size: () => 8,
    encode: fixedWidth(8, (view, at, value) => {
      if (typeof value !== 'number' || Number.isNaN(value)) throw unfit(value, 'DOUBLE');
      view.setFloat64(at, value, true);
    }),
    isLess: (a, b) => a < b,
  }),
  BYTE_ARRAY: () => ({
    size: (value) => LENGTH_BYTES + textOf(value).length,
    encode: (values) => asciiTexts(values) ?? utf8Texts(values),
    isLess: (a, b) => isBefore(textOf(a), textOf(b)),
  }),
  FIXED_LEN_BYTE_ARRAY: ({ type_length: width = 0 }) => ({
    size: () => width,
    encode: (values) => bigEndianIntegers(values, width),
    isLess: (a, b) => a < b,
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
/** From this length on, calling into the runtime is quicker than a loop over the letters. */
const LONG_TEXT = 64;

/** Texts that are all ASCII, most of them short, which is what nearly every column has; `undefined` for others. */
function asciiTexts(values: readonly PhysicalValue[]): Uint8Array | undefined {
  let size = 0;
  for (const value of values) size += LENGTH_BYTES + textOf(value).length;
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const value of values) {
    const text = textOf(value);
    const { length } = text;
    at = bytes.writeUInt32LE(length, at);
    if (length >= LONG_TEXT) {
      if (Buffer.byteLength(text) !== length) return undefined;
      at += bytes.write(text, at, 'latin1');
      continue;
    }
    for (let index = 0; index < length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit > 0x7f) return undefined;
      bytes[at + index] = unit;
    }
    at += length;
  }
  return bytes;
}

function utf8Texts(values: readonly PhysicalValue[]): Uint8Array {
  let size = 0;
  for (const value of values) size += LENGTH_BYTES + Buffer.byteLength(textOf(value));
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const value of values) {
    const written = bytes.write(textOf(value), at + LENGTH_BYTES);
    bytes.writeUInt32LE(written, at);
    at += LENGTH_BYTES + written;
  }
  return bytes;
}

function textOf(value: PhysicalValue): string {
  if (typeof value !== 'string') throw unfit(value, 'BYTE_ARRAY');
  return value;
}

/** The order of the texts' bytes in UTF-8, which is that of their code points. */
function isBefore(a: string, b: string): boolean {
  const common = Math.min(a.length, b.length);
  for (let index = 0; index < common; index += 1) {
    const [unitOfA, unitOfB] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (unitOfA !== unitOfB) return rank(unitOfA) < rank(unitOfB);
  }
  return a.length < b.length;
}

/** Surrogates stand for the code points above all that one unit can hold. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/**
 * How Parquet lays out values one behind the other (its encoding PLAIN, little-endian), and in which order its statistics
 * have them: one row a physical type. The values are those of `toPhysical` in `column-types.ts`. What a type cannot hold
 * is a bug of the caller and fails here: it would be cut to the type's width, and nobody would notice.
 */
import type { ParquetElement, PhysicalValue } from '../../column-types.ts';
import { copyBytes } from '../../records/short-bytes.ts';
import { type Texts, isNullText, textsOf } from './texts.ts';

export interface PlainType {
  /** About how many bytes each value takes. */
  sizes(values: readonly PhysicalValue[]): Uint32Array;
  /** @throws RangeError where a value is not one of the type */
  encode(values: readonly PhysicalValue[]): Uint8Array;
  /** Whether the first of two values comes before the other. */
  isLess(a: PhysicalValue, b: PhysicalValue): boolean;
}

const PLAIN_TYPES = {
  BOOLEAN: () => ({
    sizes: fixedSizes(1),
    encode: booleans,
    isLess: (a, b) => a < b,
  }),
  INT32: () => ({
    sizes: fixedSizes(4),
    encode: fixedWidth(4, (view, at, value) => {
      if (typeof value !== 'number' || (value | 0) !== value) throw unfit(value, 'INT32');
      view.setInt32(at, value, true);
    }),
    isLess: (a, b) => a < b,
  }),
  INT64: () => ({
    sizes: fixedSizes(8),
    encode: fixedWidth(8, (view, at, value) => {
      if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw unfit(value, 'INT64');
      view.setBigInt64(at, value, true);
    }),
    isLess: (a, b) => a < b,
  }),
  DOUBLE: () => ({
    sizes: fixedSizes(8),
    encode: fixedWidth(8, (view, at, value) => {
      if (typeof value !== 'number' || Number.isNaN(value)) throw unfit(value, 'DOUBLE');
      view.setFloat64(at, value, true);
    }),
    isLess: (a, b) => a < b,
  }),
  BYTE_ARRAY: (_element, texts) => ({
    sizes: (codes) => sizesOfTexts(texts, codes),
    encode: (codes) => encodedTexts(texts, codes),
    isLess: (a, b) => isBefore(texts, Number(a), Number(b)),
  }),
  FIXED_LEN_BYTE_ARRAY: ({ type_length: width = 0 }) => ({
    sizes: fixedSizes(width),
    encode: (values) => bigEndianIntegers(values, width),
    isLess: (a, b) => a < b,
  }),
} satisfies { [Type in ParquetElement['type']]: (element: ParquetElement, texts: Texts) => PlainType };

const NO_TEXTS: Texts = textsOf([undefined]);

/**
 * The row of the table for an element of a schema.
 * @param texts of a column of texts: its values are their codes
 */
export function plainType(element: ParquetElement, texts = NO_TEXTS): PlainType {
  return PLAIN_TYPES[element.type](element, texts);
}

function unfit(value: PhysicalValue, type: string): RangeError {
  return new RangeError(`a Parquet column of ${type} cannot hold the ${typeof value} ${value}`);
}

function fixedSizes(size: number) {
  return (values: readonly PhysicalValue[]) => new Uint32Array(values.length).fill(size);
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

function lengthOf(texts: Texts, code: PhysicalValue): number {
  if (typeof code !== 'number' || isNullText(texts, code)) throw unfit(code, 'BYTE_ARRAY');
  return (texts.ends[code] ?? 0) - (texts.starts[code] ?? 0);
}

function sizesOfTexts(texts: Texts, codes: readonly PhysicalValue[]): Uint32Array {
  const sizes = new Uint32Array(codes.length);
  for (const [place, code] of codes.entries()) sizes[place] = LENGTH_BYTES + lengthOf(texts, code);
  return sizes;
}

function encodedTexts(texts: Texts, codes: readonly PhysicalValue[]): Uint8Array {
  let size = 0;
  for (const code of codes) size += LENGTH_BYTES + lengthOf(texts, code);
  const from = new DataView(texts.bytes.buffer, texts.bytes.byteOffset, texts.bytes.length);
  const to = new DataView(new ArrayBuffer(size));
  let at = 0;
  for (const code of codes) {
    const length = lengthOf(texts, code);
    to.setUint32(at, length, true);
    copyBytes(from, texts.starts[Number(code)] ?? 0, to, at + LENGTH_BYTES, length);
    at += LENGTH_BYTES + length;
  }
  return new Uint8Array(to.buffer);
}

/** The order of the bytes, which is that of the code points. */
function isBefore({ bytes, starts, ends }: Texts, a: number, b: number): boolean {
  const [startA, startB] = [starts[a] ?? 0, starts[b] ?? 0];
  const lengthA = (ends[a] ?? 0) - startA;
  const lengthB = (ends[b] ?? 0) - startB;
  const common = Math.min(lengthA, lengthB);
  for (let index = 0; index < common; index += 1) {
    const byteA = bytes[startA + index] ?? 0;
    const byteB = bytes[startB + index] ?? 0;
    if (byteA !== byteB) return byteA < byteB;
  }
  return lengthA < lengthB;
}

/**
 * The different values of a column as Parquet lays them out (its encoding PLAIN, little-endian), and in which order its
 * statistics have them: one row a physical type. Whatever the type, a value becomes its bytes once, and pages are copied
 * from those: one piece of code for all types, over typed arrays, is compiled once and makes no garbage. What a type cannot
 * hold is a bug of the caller and fails here: it would be cut to the type's width, and nobody would notice.
 */
import type { ParquetElement, PhysicalValue, TypeSpec, Value } from '../../column-types.ts';
import { copyBytes, highWords, viewOf, writableView } from '../../records/short-bytes.ts';
import type { CodedColumn } from './coded-rows.ts';
import { type Texts, isNullText } from './texts.ts';

/** The values of a column by their codes. */
export interface PlainValues {
  /** The bytes of each value, and NULL as in texts. */
  readonly stored: Texts;
  /** How many bytes stand before each in a page, to tell its length. */
  readonly lengthBytes: number;
  /** The values one behind the other. */
  encode: (codes: Uint32Array) => Uint8Array;
  /** The codes of the least and of the greatest value. @param codes one at least */
  extremes: (codes: Uint32Array) => { min: number; max: number };
  /** The value for statistics; a text is its bytes. */
  valueOf: (code: number) => PhysicalValue | Uint8Array | undefined;
}

interface PlainType {
  /** Bytes of a value. */
  width: number;
  /** @throws RangeError where the value is not one of the type */
  write: (view: DataView, at: number, value: PhysicalValue) => void;
  order: Order;
}

/** In which order the bytes of values are. */
type Order = 'bytes' | 'big_endian' | 'int32' | 'int64' | 'double';

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
const WORD = 4;
const BYTE_VALUES = 2 ** 8;

/** @throws RangeError where a value is not one of the type */
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
    encode: (codes) => encoded(stored, codes, LENGTH_BYTES),
    extremes: (codes) => extremesOf(stored, 'bytes', codes),
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
    ...ofFixedWidth(stored, order),
    ...(isBits && { encode: (codes) => bits(stored, codes) }),
    valueOf: (code) => {
      const value = values[code];
      return value === undefined ? undefined : parquet.toPhysical(value);
    },
  };
}

/** What `fixedValues` makes of the same numbers as `bigint`. */
function unitValues(element: ParquetElement, units: Float64Array): PlainValues {
  const { type } = element;
  if (type !== 'INT64' && type !== 'FIXED_LEN_BYTE_ARRAY')
    throw new RangeError(`a Parquet column of ${type} cannot hold whole numbers`);
  const { width, order } = PLAIN_TYPES[type](element);
  const { view, stored } = onlyNull(units.length, width);
  for (let code = 0; code < units.length; code += 1) {
    const value = units[code] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    const at = code * width;
    if (!Number.isSafeInteger(value) || Math.abs(value) >= 2 ** (width * 8 - 1))
      throw unfit(value, `${width} bytes`);
    if (type === 'INT64') {
      view.setInt32(at, value, true);
      view.setInt32(at + WORD, highWords(value), true);
    } else writeUnits(view, at, value, width);
    stored.starts[code] = at;
    stored.ends[code] = at + width;
  }
  return { ...ofFixedWidth(stored, order), valueOf: (code) => BigInt(units[code] ?? 0) };
}

/** Room for so many values, which are NULL until they are written through the view. */
function onlyNull(count: number, width: number) {
  const view = writableView(count * width);
  const bytes = Buffer.from(view.buffer, 0, count * width);
  return { view, stored: { bytes, starts: new Uint32Array(count).fill(1), ends: new Uint32Array(count) } };
}

function ofFixedWidth(stored: Texts, order: Order): Omit<PlainValues, 'valueOf'> {
  return {
    stored,
    lengthBytes: 0,
    encode: (codes) => encoded(stored, codes, 0),
    extremes: (codes) => extremesOf(stored, order, codes),
  };
}

/** A whole number in two's complement, the highest byte first. */
function writeUnits(view: DataView, at: number, value: number, width: number): void {
  let rest = value;
  let end = at + width;
  for (; end - at >= WORD; end -= WORD) {
    view.setInt32(end - WORD, rest);
    rest = highWords(rest);
  }
  for (; end > at; end -= 1) {
    view.setUint8(end - 1, rest);
    rest = Math.floor(rest / BYTE_VALUES);
  }
}

function extremesOf(stored: Texts, order: Order, codes: Uint32Array) {
  const view = viewOf(stored.bytes);
  let min = codes[0] ?? 0;
  let max = min;
  for (let place = 1; place < codes.length; place += 1) {
    const code = codes[place] ?? 0;
    if (isBefore(view, order, stored, code, min)) min = code;
    else if (isBefore(view, order, stored, max, code)) max = code;
  }
  return { min, max };
}

function unfit(value: PhysicalValue, type: string): RangeError {
  return new RangeError(`a Parquet column of ${type} cannot hold the ${typeof value} ${value}`);
}

/** Whether the value of code `a` comes before that of `b`. */
function isBefore(view: DataView, order: Order, stored: Texts, a: number, b: number): boolean {
  const atA = stored.starts[a] ?? 0;
  const atB = stored.starts[b] ?? 0;
  switch (order) {
    case 'bytes':
      return areBytesBefore(view, atA, atB, lengthOf(stored, a), lengthOf(stored, b));
    case 'big_endian': {
      const signA = view.getInt8(atA);
      const signB = view.getInt8(atB);
      const length = lengthOf(stored, a);
      return signA === signB ? areBytesBefore(view, atA, atB, length, length) : signA < signB;
    }
    case 'int32':
      return view.getInt32(atA, true) < view.getInt32(atB, true);
    case 'int64': {
      const highA = view.getInt32(atA + 4, true);
      const highB = view.getInt32(atB + 4, true);
      return highA === highB ? view.getUint32(atA, true) < view.getUint32(atB, true) : highA < highB;
    }
    case 'double':
      return view.getFloat64(atA, true) < view.getFloat64(atB, true);
  }
}

/** The order of the bytes, which for texts is that of the code points. */
function areBytesBefore(view: DataView, a: number, b: number, lengthA: number, lengthB: number): boolean {
  const common = Math.min(lengthA, lengthB);
  let index = 0;
  while (index + WORD <= common && view.getInt32(a + index) === view.getInt32(b + index)) index += WORD;
  for (; index < common; index += 1) {
    const byteA = view.getUint8(a + index);
    const byteB = view.getUint8(b + index);
    if (byteA !== byteB) return byteA < byteB;
  }
  return lengthA < lengthB;
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

function lengthOf(texts: Texts, code: number): number {
  const { starts, ends } = texts;
  if (isNullText(texts, code)) throw new RangeError(`NULL has no bytes, and code ${code} stands for it`);
  return (ends[code] ?? 0) - (starts[code] ?? 0);
}

function encoded(stored: Texts, codes: Uint32Array, lengthBytes: number): Uint8Array {
  let size = codes.length * lengthBytes;
  for (let index = 0; index < codes.length; index += 1) size += lengthOf(stored, codes[index] ?? 0);
  const from = viewOf(stored.bytes);
  const to = writableView(size);
  let at = 0;
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    const length = lengthOf(stored, code);
    if (lengthBytes > 0) to.setUint32(at, length, true);
    at += lengthBytes;
    copyBytes(from, stored.starts[code] ?? 0, to, at, length);
    at += length;
  }
  return new Uint8Array(to.buffer, 0, size);
}

/** A bit each, the first one lowest. */
function bits({ bytes, starts }: Texts, codes: Uint32Array): Uint8Array {
  const packed = new Uint8Array(Math.ceil(codes.length / 8));
  for (let index = 0; index < codes.length; index += 1)
    if (bytes[starts[codes[index] ?? 0] ?? 0] === 1)
      packed[index >> 3] = (packed[index >> 3] ?? 0) | (1 << (index & 7));
  return packed;
}

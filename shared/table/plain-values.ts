/**
 * Stores the different values of a column as bytes, in Parquet's encoding PLAIN (little-endian). Most values of a report arrive
 * as bytes and are written as bytes: turning each into a JavaScript value would cost more than everything else that is done
 * with them. A value that its type cannot hold is a bug of the caller and fails here, so it is never cut unnoticed.
 */
import {
  type ColumnType,
  type ParquetElement,
  type PhysicalValue,
  type Value,
  bigEndianInteger,
  typeSpec,
} from '../base/column-types.ts';
import { viewOf } from '../records/murmur.ts';

/**
 * By code: where a value stands in `bytes`; for NULL, the end is before the start. A text has no length before it, and a
 * boolean takes a byte.
 */
export interface PlainValues {
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

interface Layout {
  /** @throws RangeError if the value does not belong to the type */
  write: (view: DataView, at: number, value: PhysicalValue, width: number) => void;
  read: (view: DataView, at: number, width: number) => PhysicalValue;
}

const LAYOUTS: Record<Exclude<ParquetElement['type'], 'BYTE_ARRAY'>, Layout> = {
  BOOLEAN: {
    write(view, at, value) {
      if (typeof value !== 'boolean') throw unfit(value, 'BOOLEAN');
      view.setUint8(at, Number(value));
    },
    read: (view, at) => view.getUint8(at) !== 0,
  },
  INT32: {
    write(view, at, value) {
      if (typeof value !== 'number' || (value | 0) !== value) throw unfit(value, 'INT32');
      view.setInt32(at, value, true);
    },
    read: (view, at) => view.getInt32(at, true),
  },
  INT64: {
    write(view, at, value) {
      if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw unfit(value, 'INT64');
      view.setBigInt64(at, value, true);
    },
    read: (view, at) => view.getBigInt64(at, true),
  },
  DOUBLE: {
    write(view, at, value) {
      if (typeof value !== 'number' || Number.isNaN(value)) throw unfit(value, 'DOUBLE');
      view.setFloat64(at, value, true);
    },
    read: (view, at) => view.getFloat64(at, true),
  },
  FIXED_LEN_BYTE_ARRAY: { write: writeBigEndian, read: readBigEndian },
};

const WIDTHS = { BOOLEAN: 1, INT32: 4, INT64: 8, DOUBLE: 8, BYTE_ARRAY: 0, FIXED_LEN_BYTE_ARRAY: 0 };

/** The bytes of each value; 0 for texts, which differ in length. */
export function widthOf({ type, type_length: width }: ParquetElement): number {
  return width ?? WIDTHS[type];
}

export function isNull({ starts, ends }: Pick<PlainValues, 'starts' | 'ends'>, code: number): boolean {
  return (starts[code] ?? 1) > (ends[code] ?? 0);
}

/** Lone surrogates of texts are replaced. @param values by code; a code without a value is NULL */
export function plainValues(
  type: ColumnType,
  count: number,
  values: Iterable<readonly [code: number, value: Value | undefined]>,
): PlainValues {
  const { parquet } = typeSpec(type);
  const { element } = parquet;
  const starts = new Uint32Array(count).fill(1);
  const ends = new Uint32Array(count);
  if (element.type === 'BYTE_ARRAY') {
    const parts: Buffer[] = [];
    let at = 0;
    for (const [code, value] of values) {
      if (value === undefined) continue;
      if (typeof value !== 'string') throw new RangeError(`a column of texts cannot hold a ${typeof value}`);
      const part = Buffer.from(value);
      parts.push(part);
      starts[code] = at;
      at += part.length;
      ends[code] = at;
    }
    return { bytes: Buffer.concat(parts), starts, ends };
  }
  const { write } = LAYOUTS[element.type];
  const width = widthOf(element);
  // One more value: V8's Maglev (Node 24) takes a write into the last bytes of a view for a write past its end and drops
  // its code. After that, each write in that place is a call into the runtime.
  const bytes = Buffer.alloc((count + 1) * width);
  const view = viewOf(bytes);
  for (const [code, value] of values) {
    if (value === undefined) continue;
    write(view, code * width, parquet.toPhysical(value), width);
    starts[code] = code * width;
    ends[code] = code * width + width;
  }
  return { bytes, starts, ends };
}

/** Reads the value of a code; `undefined` for NULL. */
export function plainReader(type: ColumnType, values: PlainValues): (code: number) => Value | undefined {
  const { bytes, starts, ends } = values;
  const { parquet } = typeSpec(type);
  const { element } = parquet;
  if (element.type === 'BYTE_ARRAY')
    return (code) => (isNull(values, code) ? undefined : bytes.toString('utf8', starts[code], ends[code]));
  const { read } = LAYOUTS[element.type];
  const [view, width] = [viewOf(bytes), widthOf(element)];
  return (code) =>
    isNull(values, code) ? undefined : parquet.fromPhysical(read(view, starts[code] ?? 0, width));
}

function unfit(value: PhysicalValue, type: string): RangeError {
  return new RangeError(`a Parquet column of ${type} cannot hold the ${typeof value} ${value}`);
}

function writeBigEndian(view: DataView, at: number, value: PhysicalValue, width: number): void {
  if (typeof value !== 'bigint' || BigInt.asIntN(width * 8, value) !== value)
    throw unfit(value, `${width} bytes`);
  if (width === 16) {
    view.setBigInt64(at, value >> 64n);
    view.setBigInt64(at + 8, BigInt.asIntN(64, value));
    return;
  }
  let rest = value;
  for (let index = at + width - 1; index >= at; index -= 1) {
    view.setUint8(index, Number(BigInt.asUintN(8, rest)));
    rest >>= 8n;
  }
}

function readBigEndian(view: DataView, at: number, width: number): bigint {
  // Most values are this short, and putting a value together from bytes takes many times as long.
  if (width === 16 && isShort(view, at)) return view.getBigInt64(at + 8);
  return bigEndianInteger(new Uint8Array(view.buffer, view.byteOffset + at, width));
}

/** Whether the first half of 16 bytes only repeats the sign of the second half. */
function isShort(view: DataView, at: number): boolean {
  const sign = view.getInt32(at + 8) >> 31;
  return view.getInt32(at) === sign && view.getInt32(at + 4) === sign;
}

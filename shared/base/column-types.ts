/**
 * Defines the types that a column of the lake can have. Each type is one row of `SCALAR_TYPES` (a function creates the
 * decimals), and the row has every fact about the type that any part of the program needs. If the facts were spread
 * over `switch` statements, a new type would fall into a default branch and be written as another type. To add a type,
 * name it in `ScalarValues` and run the compiler: it reports the missing row, then each missing cell. Promise I6 rests
 * on the first two cells: `toValue` returns exact values only, and `texts` shows whether the column alone can reproduce
 * the original text. A value that fails either test is also kept in `_rescued`.
 */
import { DAY_MS } from './days.ts';
import type { Json } from './json.ts';
import {
  BIGINT_DIGITS,
  type Digits,
  decimalText,
  exactBigint,
  exactBoolean,
  exactDay,
  exactDouble,
  exactInstant,
  exactText,
  exactUnscaled,
} from './exact-values.ts';

interface ScalarValues {
  string: string;
  bigint: bigint;
  double: number;
  boolean: boolean;
  /** Midnight UTC of the day. */
  date: Date;
  /** To the millisecond, in UTC. */
  timestamp: Date;
}

export type ScalarType = keyof ScalarValues;
/** `decimal(precision,scale)`, precision at most 38. */
export type DecimalType = `decimal(${number},${number})`;
export type ColumnType = ScalarType | DecimalType;

/** A decimal is held as a whole number of its smallest unit: 1.5 in a `decimal(9,2)` is 150n. */
export type Value = ScalarValues[ScalarType];

/** A value as Parquet stores it: days and microseconds since 1970, a decimal's units, text as text. */
export type PhysicalValue = string | bigint | number | boolean;

/** Derived column: when the reading that brought a row began; no content, or no re-read day would be equal. */
export const SYNCED_AT = '_synced_at';
/** Derived column: JSON of the values that do not fit the columns of their fields (I6). */
export const RESCUED = '_rescued';
export const DERIVED_COLUMNS: readonly string[] = [RESCUED, SYNCED_AT];
/** Partition keys of the reports' tables, in the order of the folders. */
export const DAY_PARTITION_KEYS = ['brand', 'dt'] as const;

/** A column of a table. `field` is the record's key whose values the column has; derived columns have no `field`. */
export interface Column {
  name: string;
  type: ColumnType;
  field?: string;
}

export interface ParquetElement {
  type: 'BOOLEAN' | 'INT32' | 'INT64' | 'DOUBLE' | 'BYTE_ARRAY' | 'FIXED_LEN_BYTE_ARRAY';
  type_length?: number;
  /** The older annotations, which every reader supports: they mean a timestamp in UTC. */
  converted_type?: 'UTF8' | 'DATE' | 'TIMESTAMP_MICROS' | 'DECIMAL';
  precision?: number;
  scale?: number;
}

/** An element as a reader returns it: the type may be one that we never write. */
interface FoundElement {
  type?: string;
  converted_type?: string;
  precision?: number;
  scale?: number;
}

export interface TypeSpec<V extends Value = Value> {
  /** The JSON value as the column stores it; `undefined` if that would differ from the original value in any way. */
  toValue(value: Json): V | undefined;
  /** Only for types with `bigint` values: how many digits they have, and how many of them after the point. */
  digits?: Digits;
  /** All texts that mean this value; we show the first of them. */
  texts(held: V): readonly [string, ...string[]];
  parquet: {
    element: ParquetElement;
    toPhysical(held: V): PhysicalValue;
    /** A value as Parquet stores it, without its annotation; `undefined` if it is of another kind. */
    fromPhysical(stored: unknown): V | undefined;
  };
  trino: string;
  hive: string;
  iceberg: string;
  duckdb: string;
}

const MICROS = 1_000n;

const SCALAR_TYPES = {
  string: {
    toValue: exactText,
    texts: (held) => [held],
    parquet: {
      element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
      toPhysical: (held) => held,
      fromPhysical: (stored) => (stored instanceof Uint8Array ? utf8.decode(stored) : undefined),
    },
    trino: 'varchar',
    hive: 'string',
    iceberg: 'string',
    duckdb: 'VARCHAR',
  },
  bigint: {
    toValue: exactBigint,
    digits: BIGINT_DIGITS,
    texts: (held) => [String(held)],
    parquet: {
      element: { type: 'INT64' },
      toPhysical: (held) => held,
      fromPhysical: (stored) => (typeof stored === 'bigint' ? stored : undefined),
    },
    ...everywhere('bigint'),
    iceberg: 'long',
  },
  double: {
    toValue: exactDouble,
    texts: (held) => [String(held)],
    parquet: {
      element: { type: 'DOUBLE' },
      toPhysical: (held) => held,
      fromPhysical: (stored) => (typeof stored === 'number' ? stored : undefined),
    },
    ...everywhere('double'),
  },
  boolean: {
    toValue: exactBoolean,
    texts: (held) => [String(held)],
    parquet: {
      element: { type: 'BOOLEAN' },
      toPhysical: (held) => held,
      fromPhysical: (stored) => (typeof stored === 'boolean' ? stored : undefined),
    },
    ...everywhere('boolean'),
  },
  date: {
    toValue: exactDay,
    texts: (held) => {
      const day = held.toISOString().slice(0, 10);
      return [day, day.replaceAll('-', '')];
    },
    parquet: {
      element: { type: 'INT32', converted_type: 'DATE' },
      toPhysical: (held) => Math.floor(held.getTime() / DAY_MS),
      fromPhysical: (stored) => (typeof stored === 'number' ? new Date(stored * DAY_MS) : undefined),
    },
    ...everywhere('date'),
  },
  timestamp: {
    toValue: exactInstant,
    texts: (held) => {
      const iso = held.toISOString();
      const ms = held.getTime();
      const whole = ms % 1000 === 0 ? [iso.replace('.000Z', 'Z'), held.toUTCString()] : [];
      return [iso, ...whole, String(ms / 1000), String(ms)];
    },
    parquet: {
      // Iceberg has microseconds only: Spark would read milliseconds as times of January 1970, without an error.
      element: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
      toPhysical: (held) => BigInt(held.getTime()) * MICROS,
      fromPhysical: (stored) => (typeof stored === 'bigint' ? new Date(Number(stored / MICROS)) : undefined),
    },
    trino: 'timestamp(3)',
    hive: 'timestamp',
    iceberg: 'timestamptz',
    duckdb: 'TIMESTAMP',
  },
} satisfies { [Type in ScalarType]: TypeSpec<ScalarValues[Type]> };

const MAX_PRECISION = 38;

function decimalSpec(type: DecimalType): TypeSpec<bigint> {
  const shape = decimalShape(type);
  return {
    toValue: (value) => exactUnscaled(value, shape),
    digits: shape,
    texts: (held) => withoutZeros(decimalText(held, shape.scale)),
    parquet: {
      element: {
        type: 'FIXED_LEN_BYTE_ARRAY',
        type_length: Math.ceil((Math.log2(10 ** shape.precision) + 1) / 8),
        converted_type: 'DECIMAL',
        ...shape,
      },
      toPhysical: (held) => held,
      fromPhysical: (stored) => {
        if (typeof stored === 'bigint') return stored;
        return stored instanceof Uint8Array ? bigEndianInteger(stored) : undefined;
      },
    },
    ...everywhere(type),
    iceberg: type.replace(',', ', '),
  };
}

function everywhere(name: string) {
  return { trino: name, hive: name, iceberg: name, duckdb: name.toUpperCase() };
}

/** The text, and the texts with fewer zeros after the point: 1.50 and 1.5, 2.0 and 2. */
function withoutZeros(text: string): [string, ...string[]] {
  const shorter: string[] = [];
  if (text.includes('.'))
    for (let end = text.length - 1; text[end] === '0'; end -= 1) shorter.push(text.slice(0, end));
  return [text, ...shorter.map((each) => (each.endsWith('.') ? each.slice(0, -1) : each))];
}

export function typeSpec(type: ColumnType): TypeSpec {
  return isScalarType(type) ? SCALAR_TYPES[type] : decimalSpec(type);
}

/** `decimal(9,2)` has 9 digits, 2 of them after the point. */
function decimalShape(type: DecimalType): Digits {
  const [precision = 0, scale = 0] = type.slice('decimal('.length, -1).split(',').map(Number);
  return { precision, scale };
}

export const ALLOWED_TYPES = [
  ...Object.keys(SCALAR_TYPES),
  `decimal(p,s) with s <= p <= ${MAX_PRECISION}`,
].join(', ');

/** A type as settings and stored schemas write it; `undefined` for any other text. */
export function parseColumnType(text: string): ColumnType | undefined {
  if (isScalarType(text)) return text;
  const [, digits, places] = /^decimal\((\d{1,2}),(\d{1,2})\)$/.exec(text) ?? [];
  if (digits === undefined || places === undefined) return undefined;
  const [precision, scale] = [Number(digits), Number(places)];
  const fits = precision >= 1 && precision <= MAX_PRECISION && scale <= precision;
  return fits ? `decimal(${precision},${scale})` : undefined;
}

export function typeOfElement(found: FoundElement): ColumnType | undefined {
  const { precision = 0, scale = 0 } = found;
  if (found.converted_type === 'DECIMAL') return parseColumnType(`decimal(${precision},${scale})`);
  return Object.keys(SCALAR_TYPES)
    .filter(isScalarType)
    .find((type) => {
      const element: ParquetElement = SCALAR_TYPES[type].parquet.element;
      return element.type === found.type && element.converted_type === found.converted_type;
    });
}

function isScalarType(text: string): text is ScalarType {
  return Object.hasOwn(SCALAR_TYPES, text);
}

// A byte order mark at the beginning of a text belongs to the text.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function bigEndianInteger(bytes: Uint8Array): bigint {
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

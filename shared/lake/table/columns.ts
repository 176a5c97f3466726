/**
 * From records to columns. `observe` notes which kinds of values a field had, `growSchema` appends a column for each field
 * that is new, and `rowMapper` turns records into rows of these columns.
 * If the first value decided the type of a new column, the type would depend on the order of the records, and a column
 * that began with whole numbers would break when cents arrive. So the kinds of all values of a day are collected
 * first, in a form whose merging is commutative, and decided once. Afterwards a column never changes (I7).
 * Nothing in a record is dropped (I6): what fits no column is kept as JSON in `_rescued`.
 */
import { DUPLICATES, type Json, type JsonObject, isRawNumber, stringifyJson } from '../../json.ts';
import { DAY_PARTITION_KEYS } from '../paths.ts';
import type { DocumentedColumn } from '../../reports/definition.ts';
import { type Column, type ColumnType, type TypeSpec, typeSpec, type Value } from '../../column-types.ts';

/** The documented columns, then `_rescued` and `_synced_at`, then the discovered ones in the order of discovery. */
export interface TableSchema {
  columns: Column[];
}

/** A row by column name; a missing name, null and undefined are NULL. */
export type Row = Record<string, Value | null | undefined>;

/**
 * By record field: which kinds of JSON value it held, as bit flags (1 text, 2 number, 4 boolean, 8 object or list);
 * null leaves no trace. Plain JSON. Merging is commutative, associative and idempotent.
 */
export type Observations = Record<string, number>;

const TEXT = 1;
const NUMBER = 2;
const BOOLEAN = 4;
const NESTED = 8;

/** The discovered columns of a table, at most. */
export const MAX_DISCOVERED = 1_000;
/** More fields than a schema has room for, and few enough for a progress document. */
const MAX_OBSERVED = MAX_DISCOVERED + 200;
/** Glue's limit for a column name. A longer field does not become a column. */
const MAX_FIELD_LENGTH = 255;
/** Partition keys, and the one such name that every JavaScript object inherits. */
const RESERVED = [...DAY_PARTITION_KEYS, 'constructor'];

/** The schema of a table without any records yet. */
export function baseSchema(documented: readonly DocumentedColumn[]): TableSchema {
  const taken = new Set(RESERVED);
  const columns = documented.map(({ field, type }) => ({
    name: freeName(snakeCase(field), taken),
    type,
    field,
  }));
  return {
    columns: [...columns, { name: '_rescued', type: 'string' }, { name: '_synced_at', type: 'timestamp' }],
  };
}

/** Adds the kinds of values that a record has, in place. Fields that cannot be columns are left out: they are rescued. */
export function observe(into: Observations, record: JsonObject): void {
  let grown = false;
  for (const [field, value] of Object.entries(record)) {
    const kind = jsonKind(value);
    if (kind === 0 || !canBeColumn(field)) continue;
    const known = observed(into, field);
    if (known === 0) grown = true;
    if ((known | kind) !== known) into[field] = known | kind;
  }
  if (grown) for (const field of Object.keys(into).sort().slice(MAX_OBSERVED)) delete into[field];
}

/** The kinds of values that either has seen. */
export function mergeObservations(a: Observations, b: Observations): Observations {
  // The first fields in name order are kept, so that the result does not depend on the order of merging.
  const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort().slice(0, MAX_OBSERVED);
  return Object.fromEntries(fields.map((field) => [field, observed(a, field) | observed(b, field)]));
}

/**
 * Appends a column for every observed field that has none, in name order, while there is room for more.
 * @param fixedTypes by column name: the type it gets instead of the discovered one
 * @returns the same object where there is nothing to append
 */
export function growSchema(
  schema: TableSchema,
  observations: Observations,
  fixedTypes: Readonly<Record<string, ColumnType>>,
): TableSchema {
  const known = new Set(schema.columns.map(({ field }) => field));
  const room = MAX_DISCOVERED - schema.columns.length + 1 + indexOfLastDerived(schema);
  const fields = Object.keys(observations)
    .filter((field) => observed(observations, field) !== 0 && canBeColumn(field) && !known.has(field))
    .sort()
    .slice(0, Math.max(0, room));
  if (fields.length === 0) return schema;
  const taken = new Set([...RESERVED, ...schema.columns.map(({ name }) => name)]);
  const discovered = fields.map((field): Column => {
    const name = freeName(snakeCase(field), taken);
    const fixed = Object.hasOwn(fixedTypes, name) ? fixedTypes[name] : undefined;
    return { name, type: fixed ?? discoveredType(snakeCase(field), observed(observations, field)), field };
  });
  return { columns: [...schema.columns, ...discovered] };
}

/**
 * Prepares a schema for mapping records. A value that its column cannot store or could not reproduce exactly, and every
 * field without a column, goes into the row's `_rescued`: JSON by field, in name order.
 * @returns (record, when this content was first read) → row
 */
export function rowMapper(schema: TableSchema): (record: JsonObject, syncedAt: Date) => Row {
  const columns = new Map(
    schema.columns.map(({ name, type, field }) => [field, { name, spec: typeSpec(type) }]),
  );
  return (record, syncedAt) => {
    const row: Row = {};
    const rescued: [string, Json][] = [];
    for (const [field, value] of Object.entries(record)) {
      if (value === null) continue;
      const column = columns.get(field);
      const held = column?.spec.toValue(value);
      if (column && held !== undefined) row[column.name] = held;
      // I6: what the column cannot store or could not reproduce exactly is kept as it came.
      if (!column || held === undefined || !roundTrips(column.spec, held, value))
        rescued.push([field, value]);
    }
    if (rescued.length > 0) row._rescued = stringifyJson(Object.fromEntries(rescued.sort(byField)));
    row._synced_at = syncedAt;
    return row;
  };
}

function jsonKind(value: Json): number {
  if (value === null) return 0;
  if (typeof value === 'string') return TEXT;
  if (typeof value === 'boolean') return BOOLEAN;
  return typeof value === 'number' || isRawNumber(value) ? NUMBER : NESTED;
}

function observed(observations: Observations, field: string): number {
  return Object.hasOwn(observations, field) ? (observations[field] ?? 0) : 0;
}

/** `__proto__` is not a safe key in every object that the name passes through. Values of repeated keys are rescued. */
function canBeColumn(field: string): boolean {
  return field !== '__proto__' && field !== DUPLICATES && field.length <= MAX_FIELD_LENGTH;
}

function indexOfLastDerived({ columns }: TableSchema): number {
  return columns.findLastIndex(({ field }) => field === undefined);
}

function discoveredType(name: string, kinds: number): ColumnType {
  if (kinds === NUMBER) return /(id|_no|_number)$/.test(name) ? 'string' : 'decimal(38,9)';
  return kinds === BOOLEAN ? 'boolean' : 'string';
}

/** `adGroupId` → `ad_group_id`, `HTTPStatus` → `http_status`; what is neither ASCII letter nor digit separates. */
function snakeCase(field: string): string {
  const name = field
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .join('_');
  return name.slice(0, MAX_FIELD_LENGTH - '_1000'.length) || 'field';
}

/** The name, or the first of `name_2`, `name_3`… that is free; adds it to `taken`. */
function freeName(base: string, taken: Set<string>): string {
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}_${number}`;
  taken.add(name);
  return name;
}

/** Whether the column alone reproduces the original value: numbers by value, texts letter by letter. */
function roundTrips(spec: TypeSpec, held: Value, value: Json): boolean {
  return typeof value !== 'string' || value === held || spec.texts(held).includes(value);
}

function byField([a]: [string, Json], [b]: [string, Json]): number {
  return a < b ? -1 : 1;
}

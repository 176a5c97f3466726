/**
 * If the first value decided the type of a new column, the type would depend on the order of the records, and a column
 * that began with whole numbers would break when cents arrive. So the kinds of all values of a day are collected first,
 * in a form whose merging is commutative, and decided once. After that a column never changes (I7).
 * Nothing in a record is dropped (I6): a value that fits no column is kept as JSON in `_rescued`.
 */
import { DUPLICATES } from '../base/json.ts';
import type { DocumentedColumn } from '../reports/definition.ts';
import {
  DAY_PARTITION_KEYS,
  type Column,
  type ColumnType,
  RESCUED,
  SYNCED_AT,
  type Value,
} from '../base/column-types.ts';
import { WELL_KNOWN, comparedName } from '../reports/roles.ts';
import { KIND, ONE_RECORD, type RecordList } from '../records/record-list.ts';

/**
 * The documented columns, then `_synced_at` and `_rescued`, then the discovered columns in the order of discovery. The first
 * column is never `_rescued`, whose values are known only after all others (`ParquetFile.writeGroup`).
 */
export interface TableSchema {
  columns: readonly Column[];
}

/** A row by column name; a missing name, null and undefined are NULL. */
export type Row = Record<string, Value | null | undefined>;

/** By field: how many records had a value other than null, times ONE_RECORD, plus the kinds of these values as bits. */
export type Observations = Record<string, number>;

export const MAX_DISCOVERED = 1_000;
/** Otherwise one odd record with thousands of keys would take all columns of its table, and no later field would get one. */
export const MAX_DISCOVERED_OF_DAY = 250;
/** Enough to name the fields without a column, and few enough for a progress document. */
const MAX_OBSERVED = 2_500;
/** Glue's limit for a column name. A longer field does not become a column. */
const MAX_FIELD_LENGTH = 255;
/** A number that makes the name unique may follow. */
const MAX_NAME_LENGTH = MAX_FIELD_LENGTH - '_1000'.length;
const NAMES_OF_ROLES: ReadonlySet<string> = new Set(Object.values(WELL_KNOWN).flat());
/** Partition keys, and the only such name that every JavaScript object inherits. */
const RESERVED = [...DAY_PARTITION_KEYS, 'constructor'];

export function baseSchema(documented: readonly DocumentedColumn[]): TableSchema {
  const taken = new Set(RESERVED);
  const columns = documented.map(({ field, type }) => ({
    name: freeName(snakeCase(field), taken),
    type,
    field,
  }));
  return {
    columns: [...columns, { name: SYNCED_AT, type: 'timestamp' }, { name: RESCUED, type: 'string' }],
  };
}

/** Adds the fields of a page's records, in place. Fields that cannot be columns are left out; they are rescued. */
export function observe(into: Observations, { fields, observed: ofList }: RecordList): void {
  for (const [index, field] of fields.entries()) {
    const found = ofList[index] ?? 0;
    if (found > 0 && canBeColumn(field)) into[field] = joined(observed(into, field), found);
  }
  // Only above twice the limit: a field that appears late must have a chance to become more frequent than the fields
  // that are removed.
  if (Object.keys(into).length <= 2 * MAX_OBSERVED) return;
  for (const field of byFrequency(into).slice(MAX_OBSERVED)) delete into[field];
}

export function mergeObservations(a: Observations, b: Observations): Observations {
  const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  const all = Object.fromEntries(
    fields.map((field) => [field, joined(observed(a, field), observed(b, field))]),
  );
  if (fields.length <= MAX_OBSERVED) return all;
  const kept = byFrequency(all).slice(0, MAX_OBSERVED).sort();
  return Object.fromEntries(kept.map((field) => [field, observed(all, field)]));
}

/**
 * Appends columns in name order: first the fields that the settings list, then the fields of roles and keys, then the most
 * frequent fields of the day, up to the limit. A column never changes its type. If the settings require another type for an
 * existing column, its field gets a further column of that type: `amount_bigint` beside `amount`.
 * @param wanted the fields of roles and keys, by name or path; well-known names of roles are wanted in any case
 * @returns the same object if there is nothing to append
 */
export function growSchema(
  schema: TableSchema,
  observations: Observations,
  fixedTypes: Readonly<Record<string, ColumnType>>,
  wanted: readonly string[] = [],
): TableSchema {
  const documented = new Set(schema.columns.slice(0, indexOfLastDerived(schema)).map(({ field }) => field));
  const known = new Set(schema.columns.map(({ field }) => field));
  const candidates = byFrequency(observations, known).filter((field) => !documented.has(field));
  const named = candidates.filter((field) => Object.hasOwn(fixedTypes, snakeCase(field)));
  const first = new Set([...named, ...fieldsWanted(candidates, wanted)]);
  const others = candidates.filter((field) => !first.has(field)).slice(0, MAX_DISCOVERED_OF_DAY);
  const room = Math.max(0, MAX_DISCOVERED - schema.columns.length + 1 + indexOfLastDerived(schema));
  const retyped = columnsBeside(schema, observations, fixedTypes).slice(0, room);
  const fields = [...first, ...others]
    .filter((field) => !known.has(field))
    .slice(0, room - retyped.length)
    .sort();
  if (fields.length + retyped.length === 0) return schema;
  const taken = new Set([...RESERVED, ...schema.columns.map(({ name }) => name)]);
  const discovered = fields.map((field): Column => {
    const name = freeName(snakeCase(field), taken);
    const fixed = Object.hasOwn(fixedTypes, name) ? fixedTypes[name] : undefined;
    return { name, type: fixed ?? discoveredType(snakeCase(field), kindsOf(observations, field)), field };
  });
  const beside = retyped.map((column) => ({ ...column, name: freeName(column.name, taken) }));
  return { columns: [...schema.columns, ...discovered, ...beside] };
}

/** Only the first field of each well-known name: a service may have thousands of spellings of it. */
function fieldsWanted(candidates: readonly string[], wanted: readonly string[]): string[] {
  const names = new Set(wanted.flatMap((name) => [name, name.split('.')[0]]));
  const firstOf = new Map(candidates.toReversed().map((field) => [comparedName(field), field]));
  return [
    ...candidates.filter((field) => names.has(field) || names.has(snakeCase(field))),
    ...[...NAMES_OF_ROLES].flatMap((name) => firstOf.get(name) ?? []),
  ];
}

/** I7: the further columns for existing columns whose observed fields have another type in the settings. */
function columnsBeside(
  { columns }: TableSchema,
  observations: Observations,
  fixedTypes: Readonly<Record<string, ColumnType>>,
): Column[] {
  return Object.entries(fixedTypes).flatMap(([fixed, type]) => {
    const { field } = columns.find(({ name }) => name === fixed) ?? {};
    if (field === undefined || kindsOf(observations, field) === 0) return [];
    if (columns.some((column) => column.field === field && column.type === type)) return [];
    // `amount` and `decimal(18,2)`: `amount_decimal_18_2`
    const suffix = `_${type.replaceAll(/\W+/g, '_').replace(/_$/, '')}`;
    return { name: fixed.slice(0, MAX_NAME_LENGTH - suffix.length) + suffix, type, field };
  });
}

export function fieldsWithoutColumn(schema: TableSchema, observations: Observations): string[] {
  const known = new Set(schema.columns.map(({ field }) => field));
  return Object.keys(observations).filter((field) => !known.has(field));
}

function observed(observations: Observations, field: string): number {
  return Object.hasOwn(observations, field) ? (observations[field] ?? 0) : 0;
}

function kindsOf(observations: Observations, field: string): number {
  return observed(observations, field) % ONE_RECORD;
}

function joined(a: number, b: number): number {
  const [kindsOfA, kindsOfB] = [a % ONE_RECORD, b % ONE_RECORD];
  return a - kindsOfA + (b - kindsOfB) + (kindsOfA | kindsOfB);
}

function byFrequency(observations: Observations, first?: ReadonlySet<string | undefined>): string[] {
  const recordsOf = (field: string) => Math.floor(observed(observations, field) / ONE_RECORD);
  const fields = Object.keys(observations).filter(
    (field) => kindsOf(observations, field) !== 0 && canBeColumn(field),
  );
  const early = new Set(
    fields.filter((field) => first?.has(field) || NAMES_OF_ROLES.has(comparedName(field))),
  );
  const rank = (field: string) => (early.has(field) ? 0 : 1);
  return fields.sort((a, b) => recordsOf(b) - recordsOf(a) || rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** `__proto__` is not a safe key in every object that the name passes through. Values of repeated keys are rescued. */
function canBeColumn(field: string): boolean {
  return field !== '__proto__' && field !== DUPLICATES && field.length <= MAX_FIELD_LENGTH;
}

function indexOfLastDerived({ columns }: TableSchema): number {
  return columns.findLastIndex(({ field }) => field === undefined);
}

function discoveredType(name: string, kinds: number): ColumnType {
  if (kinds === KIND.number) return /(id|_no|_number)$/.test(name) ? 'string' : 'decimal(38,9)';
  return kinds === KIND.boolean ? 'boolean' : 'string';
}

/** `adGroupId` → `ad_group_id`, `HTTPStatus` → `http_status`; all but ASCII letters and digits separate. */
export function snakeCase(field: string): string {
  const name = field
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .join('_');
  return name.slice(0, MAX_NAME_LENGTH) || 'field';
}

function freeName(base: string, taken: Set<string>): string {
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}_${number}`;
  taken.add(name);
  return name;
}

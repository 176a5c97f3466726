/**
 * The slow twin of `typedColumns`: a row per record, each value read by itself.
 */
import { SYNCED_AT, type TypeSpec, type Value, typeSpec } from '../../shared/base/column-types.ts';
import { type Json, type JsonObject, stringifyJson } from '../../shared/base/json.ts';
import type { Row, TableSchema } from '../../shared/table/columns.ts';

/**
 * Prepares a schema for mapping records. A value that its column cannot store or reproduce exactly, and every field
 * without a column, goes into the row's `_rescued`: JSON by field, in name order.
 * @returns (record, when this content was first read) → row
 */
export function rowMapper(schema: TableSchema): (record: JsonObject, syncedAt: Date) => Row {
  const columns = schema.columns.map(({ name, type, field }) => ({ name, field, spec: typeSpec(type) }));
  return (record, syncedAt) => {
    const row: Row = {};
    const rescued: [string, Json][] = [];
    for (const [field, value] of Object.entries(record)) {
      if (value === null) continue;
      const exact = columns.filter((column) => {
        const held = column.field === field ? column.spec.toValue(value) : undefined;
        if (held !== undefined) row[column.name] = held;
        return held !== undefined && roundTrips(column.spec, held, value);
      });
      // I6: a value that no column can store or reproduce exactly is kept as it arrived.
      if (exact.length === 0) rescued.push([field, value]);
    }
    if (rescued.length > 0) row._rescued = stringifyJson(Object.fromEntries(rescued.sort(byField)));
    row._synced_at = syncedAt;
    return row;
  };
}

/** The rows that the records need and that are missing, and the rows beyond: at most three of each, as texts. */
export function unlike(schema: TableSchema, records: readonly JsonObject[], rows: readonly Row[]) {
  const toRow = rowMapper(schema);
  const expected = records.map((record) => textOfRow(schema, toRow(record, new Date(0))));
  const found = rows.map((row) => textOfRow(schema, row));
  return { missing: excess(expected, found), surplus: excess(found, expected) };
}

/** Equal rows have the same text, whenever they were read. */
export function textOfRow({ columns }: TableSchema, row: Row): string {
  const values = columns.flatMap(({ name }) =>
    name === SYNCED_AT || (row[name] ?? null) === null ? [] : [[name, row[name]]],
  );
  return JSON.stringify(values, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
}

function excess(these: readonly string[], those: readonly string[]): string[] {
  const left = [...those];
  const more = these.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return more.slice(0, 3);
}

/** Whether the column alone reproduces the original value: numbers by value, texts letter by letter. */
function roundTrips(spec: TypeSpec, held: Value, value: Json): boolean {
  return typeof value !== 'string' || value === held || spec.texts(held).includes(value);
}

function byField([a]: [string, Json], [b]: [string, Json]): number {
  return a < b ? -1 : 1;
}

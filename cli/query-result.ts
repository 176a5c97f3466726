import { type DuckDBConnection, type DuckDBType, DuckDBTypeId, type Json } from '@duckdb/node-api';
import { rawNumber } from '../shared/json.ts';
import { table } from './text-table.ts';

/** A result as DuckDB's JSON form has it: integers beyond 2^53 and decimals are text with all their digits. */
export interface QueryResult {
  names: string[];
  types: DuckDBType[];
  rows: Json[][];
}

/** @throws DuckDB's own error, whose message says what is wrong with the SQL */
export async function query(connection: DuckDBConnection, sql: string): Promise<QueryResult> {
  const reader = await connection.runAndReadAll(sql);
  return { names: reader.deduplicatedColumnNames(), types: reader.columnTypes(), rows: reader.getRowsJson() };
}

/** The rows as objects for `printJson`: numbers stay numbers, with all their digits. */
export function resultObjects({ names, types, rows }: QueryResult): unknown[] {
  return rows.map((row) =>
    Object.fromEntries(
      row.map((value, index) => [
        names[index] ?? '',
        typeof value === 'string' && isNumeric(types[index]) ? rawNumber(value) : value,
      ]),
    ),
  );
}

/** The rows as an aligned table, at most `maxWidth` columns wide. */
export function resultTable({ names, types, rows }: QueryResult, maxWidth?: number): string {
  const scales = types.map((type, index) =>
    type.typeId === DuckDBTypeId.DECIMAL
      ? Math.max(0, ...rows.map((row) => usedScale(row[index])))
      : undefined,
  );
  return table(
    names.map((name, index) => ({ name, align: isNumeric(types[index]) ? 'right' : 'left' })),
    rows.map((row) => row.map((value, index) => cell(value, scales[index]))),
    maxWidth,
  );
}

const NUMERIC: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.UHUGEINT,
  DuckDBTypeId.BIGNUM,
  DuckDBTypeId.DECIMAL,
]);

function isNumeric(type: DuckDBType | undefined): boolean {
  return (
    type !== undefined &&
    (NUMERIC.has(type.typeId) || [DuckDBTypeId.FLOAT, DuckDBTypeId.DOUBLE].includes(type.typeId))
  );
}

function cell(value: Json | undefined, scale: number | undefined): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'object') return JSON.stringify(value);
  if (scale === undefined) return String(value);
  const [whole = '', fraction = ''] = String(value).split('.');
  return scale === 0 ? whole : `${whole}.${fraction.slice(0, scale)}`;
}

/** The number of decimal places, trailing zeros not counted. */
function usedScale(value: Json | undefined): number {
  const [, places = ''] = typeof value === 'string' ? value.split('.') : [];
  return places.replace(/0+$/, '').length;
}

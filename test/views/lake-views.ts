import type { DuckDBConnection } from '@duckdb/node-api';
import { closesTable } from '../../shared/catalog/closes-table.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { type TableRoles, type TableSchemas, viewOver } from '../../shared/catalog/view-roles.ts';
import { type Column, typeSpec } from '../../shared/base/column-types.ts';
import { beforeShape } from '../../shared/history/index.ts';
import { baseSchema } from '../../shared/table/columns.ts';
import { type ReportView, allViews, withReadViews } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { NOW_SQL, inDuckDb } from '../../shared/reports/views/view-sql.ts';

export const views: readonly ReportView[] = allViews(reports);

const PARTITIONS = ['brand', 'dt'];

/** The columns of the tables that views read, by table, with the partitions as the last columns. */
export function tablesOf(schemas: TableSchemas): Map<string, readonly Pick<Column, 'name' | 'type'>[]> {
  const text = (names: readonly string[]) => names.map((name) => ({ name, type: 'string' as const }));
  const ofReports = Object.values(reports).flatMap((report) => {
    const columns = schemas.get(report.table)?.columns ?? [];
    const before = beforeShape(report, columns);
    return [
      [report.table, [...columns, ...text(PARTITIONS)]] as const,
      [before.name, [...before.columns, ...text(PARTITIONS)]] as const,
    ];
  });
  const ofLedgers = [coverageTable, closesTable].map(
    ({ name, columns, partitionKeys }) => [name, [...columns, ...text(partitionKeys)]] as const,
  );
  return new Map([...ofReports, ...ofLedgers]);
}

interface Options {
  roles?: TableRoles;
  /** SQL of the current time. */
  now?: string;
  /** The names of views; the views that they read are created too. Missing: all. */
  only?: readonly string[];
}

/** Creates empty tables, and views over them, in the current schema. */
export async function createViews(
  connection: DuckDBConnection,
  schemas: TableSchemas,
  { roles = new Map(), now = NOW_SQL, only }: Options = {},
): Promise<void> {
  const all = new Map(
    Object.values(reports).map(({ table, columns }) => [table, schemas.get(table) ?? baseSchema(columns)]),
  );
  for (const [table, columns] of tablesOf(all)) {
    const defined = columns.map(({ name, type }) => `"${name}" ${typeSpec(type).duckdb}`);
    await connection.run(`CREATE OR REPLACE TABLE ${table} (${defined.join(', ')})`);
  }
  for (const view of withReadViews(
    views,
    views.filter(({ name }) => only?.includes(name) ?? true),
  )) {
    const sql = inDuckDb(viewOver(view, all, roles).sql).replaceAll(NOW_SQL, now);
    await connection.run(`CREATE OR REPLACE VIEW ${view.name} AS ${sql}`);
  }
}

export type Cell = string | number | bigint | boolean | null | undefined;
export type Row = Readonly<Record<string, Cell>>;

export async function insert(
  connection: DuckDBConnection,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  for (const [names, own] of Map.groupBy(rows, (row) =>
    Object.keys(row)
      .map((name) => `"${name}"`)
      .join(', '),
  )) {
    const values = own.map((row) => `(${Object.values(row).map(literal).join(', ')})`);
    await connection.run(`INSERT INTO ${table} (${names}) VALUES ${values.join(', ')}`);
  }
}

function literal(value: Cell): string {
  if (value === null || value === undefined) return 'NULL';
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

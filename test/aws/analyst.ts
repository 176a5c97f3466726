import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type Json } from '@duckdb/node-api';
import * as z from 'zod/mini';
import { allViews } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { inDuckDb } from '../../shared/reports/views/view-sql.ts';
import { bringDown, catalogued } from './athena.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import type { Held } from './local-aws.ts';

interface Column {
  name: string;
  /** The type in Hive's words. */
  type: string;
}

interface Answer {
  columns: Column[];
  rows: Record<string, Json>[];
}

const columnsSchema = z.array(
  z.pipe(
    z.object({ Name: z.string(), Type: z.string() }),
    z.transform(({ Name, Type }): Column => ({ name: Name, type: Type })),
  ),
);
const tableSchema = z.object({
  Name: z.string(),
  DatabaseName: z.string(),
  TableType: z.enum(['EXTERNAL_TABLE', 'VIRTUAL_VIEW']),
  PartitionKeys: z._default(columnsSchema, []),
  StorageDescriptor: z.object({ Columns: columnsSchema }),
  ViewOriginalText: z.optional(z.string()),
});
type Table = z.infer<typeof tableSchema>;

/** The parts of a view that Athena reads: SQL, the database of its names, and its columns with Trino's types. */
const prestoViewSchema = z.object({
  originalSql: z.string(),
  catalog: z.string(),
  schema: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
});

/** Athena's name for Glue. */
const CATALOG = 'awsdatacatalog';
/** Types whose name in Trino differs from Hive's. */
const HIVE_TYPES: Readonly<Record<string, string>> = { varchar: 'string', 'timestamp(3)': 'timestamp' };

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const placeOf = ({ DatabaseName, Name }: Table) => [CATALOG, DatabaseName, Name].map(quoted).join('.');

/**
 * Shows in DuckDB what an analyst in Athena would see. Tables come from Glue's description alone, with the rows at the
 * locations of their partitions and the views over them.
 */
export async function openDatabase({ tables, objects }: Held, database: string) {
  const described = [...tables.values()].map(({ table }) => z.parse(tableSchema, table));
  // Glue may list a view before the views that it reads.
  const order = allViews(reports).map(({ name }) => name);
  const views = described
    .filter(({ TableType }) => TableType === 'VIRTUAL_VIEW')
    .map(viewOf)
    .sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const copy = await temporaryFolder();
  await Promise.all(catalogued(tables).map((partition) => bringDown(partition, objects, copy.path)));
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const here = [CATALOG, database].map(quoted).join('.');
  await connection.run(`SET TimeZone = 'UTC'; ATTACH ':memory:' AS ${CATALOG}; CREATE SCHEMA ${here}`);
  for (const table of described.filter(({ TableType }) => TableType === 'EXTERNAL_TABLE')) {
    await createTable(connection, table);
    if (tables.get(table.Name)?.partitions.size) await fill(connection, table, copy.path);
  }
  await copy.remove();
  for (const { place, catalog, schema, sql } of views)
    await connection.run(
      `USE ${quoted(catalog)}.${quoted(schema)}; CREATE VIEW ${place} AS ${inDuckDb(sql)}`,
    );
  await connection.run(`USE ${here}`);

  return {
    views,
    async query(sql: string): Promise<Answer> {
      const read = await connection.runAndReadAll(sql);
      const types = read.columnTypes().map((type) => hiveType(String(type).toLowerCase()));
      return {
        columns: read.columnNames().map((name, index) => ({ name, type: types[index] ?? '' })),
        rows: read.getRowObjectsJson(),
      };
    },
    close: () => connection.closeSync(),
  };
}

/** A view by its text, with the columns that Glue shows for it. */
function viewOf(table: Table) {
  const [, encoded = ''] = /^\/\* Presto View: (\S+) \*\/$/.exec(table.ViewOriginalText ?? '') ?? [];
  const text = Buffer.from(encoded, 'base64').toString();
  const { originalSql, columns, ...where } = z.parse(prestoViewSchema, JSON.parse(text));
  return {
    name: table.Name,
    place: placeOf(table),
    sql: originalSql,
    ...where,
    declared: columns.map(({ name, type }): Column => ({ name, type: hiveType(type) })),
    shown: table.StorageDescriptor.Columns,
  };
}

async function createTable(connection: DuckDBConnection, table: Table): Promise<void> {
  const { StorageDescriptor, PartitionKeys } = table;
  const columns = [...StorageDescriptor.Columns, ...PartitionKeys];
  const typed = columns.map(({ name, type }) => `${quoted(name)} ${type}`);
  await connection.run(`CREATE TABLE ${placeOf(table)} (${typed.join(', ')})`);
}

async function fill(connection: DuckDBConnection, table: Table, folder: string): Promise<void> {
  const files = join(folder, 'current', table.Name, '**', '*.parquet');
  await connection.run(
    `INSERT INTO ${placeOf(table)} BY NAME SELECT * FROM read_parquet('${files}',
      union_by_name = true, hive_partitioning = true, hive_types_autocast = false)`,
  );
}

export const hiveType = (type: string) => HIVE_TYPES[type] ?? type;

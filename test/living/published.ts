/** Reads a lake as any other program would: its published files, by DuckDB. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { ColumnType } from '../../shared/column-types.ts';
import { readSchema } from '../../shared/lake/documents/read.ts';
import { brandPartitions } from '../../shared/lake/paths.ts';
import type { Lake } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { BRAND } from '../simulation/contents.ts';

/** Writes all objects of a lake to a folder, and the catalog's current snapshots as `current/<table>/<partition>/<snapshot>.parquet`. */
export async function writeFiles(lake: Lake, folder: string): Promise<void> {
  await writeLake(lake.store, folder);
  for (const { table } of Object.values(reports)) {
    const pointers = await lake.catalog?.snapshotsByPartition(table, brandPartitions(BRAND));
    for (const [partition, [snapshot = '']] of pointers ?? [])
      await cp(
        join(folder, `snapshots/${table}/${partition}/${snapshot}/part-0000.parquet`),
        join(folder, 'current', table, partition, `${snapshot}.parquet`),
      );
  }
}

/** The columns of published files whose field id or type differs from the table's schema. */
export async function wrongTypes(lake: Lake, folder: string): Promise<string[]> {
  const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
  const wrong: string[] = [];
  for (const report of Object.values(reports)) {
    const { columns } = await readSchema(lake.store, report);
    const expected = new Map(
      columns.map(({ name, type }, index) => [name, `${index + 1} ${storedAs(type)}`]),
    );
    const files = join(folder, 'current', report.table, '**', '*.parquet').replaceAll("'", "''");
    const found = await duckdb.runAndReadAll(
      `SELECT DISTINCT name, concat_ws(' ', field_id, type, converted_type, precision, scale) AS type
       FROM parquet_schema('${files}') WHERE num_children IS NULL ORDER BY ALL`,
    );
    for (const [name, type] of found.getRows())
      if (expected.get(String(name)) !== type)
        wrong.push(
          `${report.table}.${String(name)} is ${String(type)} instead of ${expected.get(String(name))}`,
        );
  }
  return wrong;
}

/** The type as Parquet writes it. */
function storedAs(type: ColumnType): string {
  const [, precision, scale] = /^decimal\((\d+),(\d+)\)$/.exec(type) ?? [];
  if (precision !== undefined) return `FIXED_LEN_BYTE_ARRAY DECIMAL ${precision} ${scale}`;
  return SCALARS[type] ?? 'unknown';
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'BYTE_ARRAY UTF8',
  bigint: 'INT64',
  double: 'DOUBLE',
  boolean: 'BOOLEAN',
  date: 'INT32 DATE',
  timestamp: 'INT64 TIMESTAMP_MICROS',
};

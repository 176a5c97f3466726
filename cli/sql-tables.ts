/**
 * The tables and views of `query` and `demo`, in an in-memory DuckDB. Each table is a view over the Parquet files that
 * the ledgers name now, so a query sees exactly what is committed (I3), whatever else is in the lake; `coverage`
 * is computed from the same ledgers. Only the tables that the SQL names are set up, since a lake in S3 has to be
 * downloaded first. Before the caller's SQL runs, DuckDB is locked: it reads the lake's folder and no other file.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { monthOf } from '../shared/days.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { typeSpec, type Value } from '../shared/column-types.ts';
import { DAY_PARTITION_KEYS } from '../shared/lake/paths.ts';
import type { Row } from '../shared/lake/table/columns.ts';
import {
  type ReportLedgers,
  committedDays,
  committedSnapshotKey,
  readLedgers,
  readSchema,
} from '../shared/lake/documents/read.ts';
import { type CoverageFacts, coverageRows, coverageTable } from '../shared/catalog/coverage.ts';
import { freshness } from '../shared/catalog/freshness.ts';
import { upstreamState } from '../shared/planning/due.ts';
import { enabledPolicy } from '../shared/planning/policy.ts';
import { missingColumns } from '../shared/catalog/ensure-tables.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { ReportDefinition, ReportRegistry, View } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { note } from './output.ts';
import { type SnapshotFiles, snapshotFiles } from './snapshot-files.ts';

export interface SqlLake {
  store: ObjectStore;
  reports: ReportRegistry;
  /** They decide `next_due` in `coverage`, which is null without them. */
  settings: Settings | undefined;
  nowMs: number;
}

/**
 * A connection with the tables and views that the SQL names, or with all of them where it names none.
 * @throws BrandReportsError `config` where DuckDB would misread the lake's path
 */
export async function createSqlConnection(lake: SqlLake, sql: string): Promise<DuckDBConnection> {
  const { store, reports } = lake;
  const all = Object.values(reports);
  const ledgers = await readLedgers(store, reports);
  const named = all.filter((report) =>
    [report.table, ...report.views.map(({ name }) => name)].some(isNamedIn(sql)),
  );
  const namesCoverage = [coverageTable.name, freshness.name].some(isNamedIn(sql));
  const wanted = named.length > 0 || namesCoverage ? named : all;
  for (const { report, damaged } of ledgers) {
    if (!namesCoverage && !wanted.includes(report)) continue;
    for (const { message } of damaged) note(`warning: ${message}`);
  }
  const files = snapshotFiles(store);
  if (/\/(brand|dt)=/.test(files.folder))
    throw new BrandReportsError(
      'config',
      'lake_folder',
      `The path ${files.folder} contains "brand=" or "dt=", which DuckDB would read as a partition. Use a path without them, for example a symbolic link.`,
    );

  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(
    "SET TimeZone = 'UTC'; SET enable_external_file_cache = false; SET autoinstall_known_extensions = false",
  );
  await connection.run(coverageSql(lake, ledgers));
  await createView(connection, freshness);
  for (const report of wanted) await addTable(connection, store, files, report, ledgers);
  await connection.run(
    `SET allowed_directories = [${literal(`${files.folder}/`)}]; SET enable_external_access = false; SET lock_configuration = true`,
  );
  return connection;
}

async function addTable(
  connection: DuckDBConnection,
  store: ObjectStore,
  files: SnapshotFiles,
  report: ReportDefinition,
  ledgers: readonly ReportLedgers[],
): Promise<void> {
  const { columns } = await readSchema(store, report);
  // I3: the keys come from the ledger, and a snapshot's files never change.
  const keys = committedDays(ledgers.filter((ledger) => ledger.report === report)).map(committedSnapshotKey);
  const paths = await files.pathsOf(keys);
  const typedColumns = [...columns, ...PARTITION_COLUMNS];
  const names = typedColumns.map(({ name }) => identifier(name)).join(', ');
  const empty = typedColumns
    .map(({ name, type }) => `NULL::${typeSpec(type).duckdb} AS ${identifier(name)}`)
    .join(', ');
  // The select without rows gives every column its type, even one that no file has yet.
  const rows = paths.length === 0 ? '' : ` UNION ALL BY NAME SELECT * FROM ${readParquet(paths)}`;
  await connection.run(
    `CREATE VIEW ${identifier(report.table)} AS SELECT ${names} FROM (SELECT ${empty} WHERE false${rows})`,
  );
  for (const view of report.views) {
    if (missingColumns(view, columns).length === 0) await createView(connection, view);
  }
}

async function createView(connection: DuckDBConnection, { name, sql }: View): Promise<void> {
  await connection.run(`CREATE VIEW ${identifier(name)} AS ${sql}`);
}

const PARTITION_COLUMNS = DAY_PARTITION_KEYS.map((name) => ({ name, type: 'string' as const }));

function readParquet(paths: readonly string[]): string {
  const list = paths.map((path) => literal(path)).join(', ');
  const types = PARTITION_COLUMNS.map(({ name, type }) => `${literal(name)}: ${typeSpec(type).duckdb}`).join(
    ', ',
  );
  return `read_parquet([${list}], hive_partitioning = true, hive_types = {${types}}, union_by_name = true)`;
}

function coverageSql({ settings, nowMs }: SqlLake, ledgers: readonly ReportLedgers[]): string {
  const columns = [
    ...coverageTable.columns,
    ...coverageTable.partitionKeys.map((name) => ({ name, type: 'string' as const })),
  ];
  const definition = columns
    .map(({ name, type }) => `${identifier(name)} ${typeSpec(type).duckdb}`)
    .join(', ');
  const rows = ledgers.flatMap((stored) =>
    [...stored.ledgers].flatMap(([month, ledger]) =>
      coverageRows(ledger, coverageFacts(stored, ledgers, settings), nowMs).map(
        (row): Row => ({ ...row, brand: stored.brand, report: stored.report.name, month }),
      ),
    ),
  );
  const values = rows.map((row) => `(${columns.map(({ name }) => literal(row[name])).join(', ')})`);
  const insert = values.length === 0 ? '' : `; INSERT INTO coverage VALUES ${values.join(', ')}`;
  return `CREATE TABLE coverage (${definition})${insert}`;
}

function coverageFacts(
  { brand, report, index }: ReportLedgers,
  ledgers: readonly ReportLedgers[],
  settings: Settings | undefined,
): CoverageFacts {
  const { day } = report;
  const upstream = ledgers.find(
    (other) => other.brand === brand && day.by === 'upstream' && other.report.name === day.report,
  );
  return {
    policy: enabledPolicy(settings, brand, report),
    hasReturnedRecords: index.hasReturnedRecords,
    upstream: (dt) => upstreamState(upstream?.ledgers.get(monthOf(dt))?.days[dt]),
  };
}

function isNamedIn(sql: string): (name: string) => boolean {
  return (name) => new RegExp(`\\b${name}\\b`, 'i').test(sql);
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function literal(value: Value | null | undefined): string {
  if (value === null || value === undefined) return 'NULL';
  if (value instanceof Date) return `TIMESTAMP '${value.toISOString().slice(0, -1).replace('T', ' ')}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

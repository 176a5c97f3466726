/**
 * Creates the tables and views of `query` and `demo` in an in-memory DuckDB. Each table is a view over the Parquet files that
 * the ledgers name now, so a query sees exactly the committed rows (I3). As of an instant, it uses the files that the ledgers
 * name for that instant. `coverage` is computed from the same ledgers. Only the tables that the SQL
 * names are created, because the files of a lake in S3 have to be downloaded first. Before the caller's SQL runs, DuckDB is
 * locked: it can read the lake's folder and no other file.
 */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { monthOf } from '../shared/days.ts';
import {
  DERIVED_COLUMNS,
  DAY_PARTITION_KEYS,
  type Column,
  typeSpec,
  type Value,
} from '../shared/column-types.ts';
import { configError } from '../shared/errors.ts';
import {
  CHANGES_PREFIX,
  LEDGER_TABLES,
  SNAPSHOTS_PREFIX,
  closedTable,
  versionKey,
} from '../shared/lake/paths.ts';
import type { Row } from '../shared/lake/table/columns.ts';
import {
  type ReportLedgers,
  committedChangesKey,
  committedDays,
  daysOfLedgers,
  readLedgers,
  readSchema,
} from '../shared/lake/documents/read.ts';
import { settingsInUse } from '../shared/lake/documents/brand-settings.ts';
import { type Close, readCloses } from '../shared/lake/documents/close.ts';
import { changeViews, changesTable } from '../shared/history/index.ts';
import { lifecycleShape } from '../shared/lifecycle/index.ts';
import { coverageRows, coverageTable } from '../shared/catalog/coverage.ts';
import { freshness } from '../shared/catalog/freshness.ts';
import { reportDaysIn } from '../shared/day-facts.ts';
import { enabledPolicy } from '../shared/planning/policy.ts';
import { tableRoles, viewOver } from '../shared/catalog/view-roles.ts';
import { gapNotes, settingsNotes } from './role-notes.ts';
import { inDuckDb } from '../shared/reports/views/view-sql.ts';
import type { ObjectStore } from '../shared/ports.ts';
import {
  type ReportDefinition,
  type ReportRegistry,
  type ReportView,
  type View,
  dayTables,
} from '../shared/reports/definition.ts';
import { dayColumn, withDay } from '../shared/reports/views/typed-day.ts';
import type { LakeSettings } from '../shared/settings/settings.ts';
import type { Past } from './options.ts';
import { type CsvTable, createCsvTables } from './csv-tables.ts';
import { counted, note } from './output.ts';
import { printedCommand, withRunnableCommands } from './printed-command.ts';
import { type SnapshotFiles, snapshotFiles } from './snapshot-cache.ts';
import { namesIn } from './sql-names.ts';
import { openSession } from './sql-session.ts';
import { oneLine } from './terminal-text.ts';
import {
  type DayVersion,
  closedRoles,
  closedVersions,
  closesOf,
  currentVersions,
  erasedFromCloses,
  erasedNow,
  refuseBeforeFirst,
  refusePresent,
  versionsAt,
} from './sql-versions.ts';

export interface SqlLake {
  store: ObjectStore;
  reports: ReportRegistry;
  /** They replace the lake's own settings of their brands. */
  settings: LakeSettings | undefined;
  /** The file of these settings. If they give records another meaning than the lake's, a note names the file. */
  settingsFile?: string;
  nowMs: number;
  /**
   * The tables as they were at this instant, at most `nowMs`, or when this month was closed, with its days alone; missing: as
   * they are.
   */
  asOf?: Past | undefined;
  /** `changes` has this day alone, and `coverage` its month; missing: all days. */
  day?: string;
  /** SQL reads no other file of the lake, such as raw records. */
  tablesOnly?: boolean;
  /** Files that are tables of texts beside the lake's tables. */
  csvs?: readonly CsvTable[];
  /** DuckDB may also write here. The caller's SQL cannot, because it only reads. */
  outputFolder?: string;
  /** Called with the ledgers that all tables follow from, so that the caller can describe the same days. */
  onLedgers?: (ledgers: readonly ReportLedgers[]) => void;
  /** Called with each line on columns of the named views that are NULL; missing: printed to standard error. */
  onGap?: (line: string) => void;
  /** Called with each file that is missing or damaged; missing: its rows are left out with a warning. */
  onUnreadable?: (what: string, why: string) => void;
}

/** Receives statements: a connection of DuckDB, or a script. */
export interface SqlSession {
  run(sql: string): Promise<unknown>;
}

/** A session whose tables are empty until all views exist: DuckDB opens every file below a view that it creates. */
interface EmptySession extends SqlSession {
  fills: (() => Promise<void>)[];
}

type Paths = ReadonlyMap<string, string>;

interface TableFile {
  key: string;
  /** `orders of acme, 2026-01-31` */
  what: string;
}

/**
 * Opens a connection with the tables and views that the SQL names, or with all of them if it names no table.
 * @throws BrandReportsError `config` if DuckDB would misread the lake's path, or the lake has no answer as of then
 */
export async function createSqlConnection(lake: SqlLake, sql: string): Promise<DuckDBConnection> {
  const files = snapshotFiles(lake.store);
  const { outputFolder, csvs = [], tablesOnly = false } = lake;
  const ofTables = [SNAPSHOTS_PREFIX, CHANGES_PREFIX].map((prefix) => resolve(files.folder, prefix));
  const folders = [
    ...(tablesOnly ? ofTables : [files.folder]),
    ...(outputFolder === undefined ? [] : [outputFolder]),
  ];
  const connection = await openSession(folders, (opened) => createCsvTables(opened, csvs));
  try {
    const { includes: isNamed } = await namesIn(connection, sql);
    await createRelations(connection, lake, files, isNamed);
    return connection;
  } catch (thrown) {
    connection.closeSync();
    throw thrown;
  }
}

/**
 * Creates the tables and views of the lake in the current database of the session, over the given files.
 * @param isNamed whether a table or view is wanted; if no table is, all are created
 * @throws BrandReportsError `config`, like `createSqlConnection`
 */
export async function createRelations(
  session: SqlSession,
  lake: SqlLake,
  files: SnapshotFiles,
  isNamed: (name: string) => boolean,
): Promise<void> {
  const { store, reports, asOf, day } = lake;
  const connection: EmptySession = { run: (sql) => session.run(sql), fills: [] };
  const all = Object.values(reports);
  const present = [...LEDGER_TABLES, freshness.name];
  const changes = [changesTable.name, ...changeViews(reports).map(({ name }) => name)];
  const views = all.flatMap((report) => report.views);
  const isPast = asOf !== undefined;
  const closedTables = all.flatMap(dayTables).map(closedTable);
  if (isPast) {
    const tables = [...present, ...changes, ...closedTables];
    const readsThem = (view: ReportView) => view.tables.some((table) => tables.includes(table));
    const only = [...tables, ...views.filter(readsThem).map(({ name }) => name)];
    refusePresent([...new Set(only)].filter(isNamed));
  }
  const asClosed = typeof asOf === 'string' ? await closesOf(store, asOf) : undefined;
  const month = day === undefined ? undefined : monthOf(day);
  const span = month === undefined ? {} : { from: month, to: month };
  const ledgers = await readLedgers(store, reports, span, lake.nowMs);
  const { settings, notes } = settingsInUse(ledgers, lake.settings, lake.settingsFile);
  lake.onLedgers?.(ledgers);
  const namedViews = views.filter(({ name }) => isNamed(name));
  const isRead = (table: string) => isNamed(table) || namedViews.some(({ tables }) => tables.includes(table));
  const named = all.filter((report) =>
    [...dayTables(report), ...dayTables(report).map(closedTable)].some(isRead),
  );
  const ofNamed = ledgers.filter(({ report }) => named.includes(report));
  if (typeof asOf === 'number') refuseBeforeFirst(daysOfLedgers(ofNamed), asOf);
  const warnOf = ({ message }: { message: string }) =>
    note(oneLine(`warning: ${withRunnableCommands(message)}`));
  if (named.length > 0 && ofNamed.length === 0)
    warnOf({
      message: `${store.url} has no day of the tables yet: name --lake, or run "brand-reports sync"`,
    });
  const ofAllReports = [...present, ...changes].some(isNamed);
  const isOfCsvs = lake.csvs?.some(({ name }) => isNamed(name)) ?? false;
  const wanted = named.length > 0 || ofAllReports || isOfCsvs ? named : all;
  for (const { report, damaged } of ledgers)
    if (ofAllReports || wanted.includes(report)) damaged.forEach(warnOf);
  // A folder `country=US` on the way would replace the column country of every row.
  if (/[=*?[]/.test(files.folder))
    throw configError(
      'lake_folder',
      `The path ${files.folder} contains "=", "*", "?" or "[", which DuckDB would read as a partition or a pattern. Use a path without them, for example a symbolic link.`,
    );

  if (!isPast) {
    await connection.run(coverageSql({ ...lake, settings }, ledgers));
    await createView(connection, freshness);
    if (changes.some(isNamed) || wanted === all) await addChanges(connection, lake, files, ledgers);
  }
  const created = new Set(isPast ? [] : [coverageTable.name]);
  const columnsOf = new Map<string, Pick<StoredSchema, 'columns' | 'keys'>>();
  const isClosedRead = (name: string) =>
    isRead(name) || (!isPast && wanted === all && views.some(({ tables }) => tables.includes(name)));
  const closes = closedTables.some(isClosedRead) ? await readCloses(store, undefined, warnOf, span) : [];
  for (const report of wanted) {
    const own = ledgers.filter((ledger) => ledger.report === report);
    const versions = asClosed
      ? closedVersions(asClosed, report)
      : typeof asOf === 'number'
        ? versionsAt(daysOfLedgers(own), asOf, lake.nowMs)
        : currentVersions(own);
    for (const table of await tablesOf(store, report, asClosed)) {
      const { name, columns, objectOf } = table;
      const closed = { ...table, name: closedTable(name) };
      if (isClosedRead(closed.name)) {
        await addTable(connection, lake, files, closed, closedVersions(closes, report), true);
        created.add(closed.name);
      }
      columnsOf.set(name, { columns });
      if (wanted !== all && !isRead(name)) continue;
      await addTable(connection, lake, files, table, versions);
      created.add(name);
      const without = versions.filter(({ version }) => objectOf(version) === undefined).length;
      if (without === 0 || !isRead(name)) continue;
      const why = 'it is lost; the next reading of each day adds it';
      (lake.onUnreadable ?? warn)(`${name} of ${counted(without, 'day')}`, why);
    }
  }
  const roles = asClosed ? closedRoles(asClosed, wanted) : tableRoles(wanted, settings, ledgers);
  const closesRead = asClosed ?? (closedTables.some(isRead) ? closes : []);
  const erased = typeof asOf === 'number' ? erasedNow(ofNamed) : erasedFromCloses(closesRead, wanted);
  for (const line of erased) (lake.onGap ?? note)(oneLine(`warning: ${line}`));
  const isShown = wanted === all ? () => true : isNamed;
  if (!asClosed)
    for (const line of [
      ...settingsNotes(notes, lake.settingsFile),
      ...gapNotes(ledgers, reports, roles, isShown),
    ])
      (lake.onGap ?? note)(line);
  for (const view of views)
    if (view.tables.every((table) => created.has(table)))
      await createView(connection, viewOver(view, columnsOf, roles));
  for (const fill of connection.fills) await fill();
}

interface DayTable {
  name: string;
  table: string;
  columns: readonly Column[];
  /** The id of a version's object in this table; `undefined` if it has no object. */
  objectOf: (version: DayVersion['version']) => string | undefined;
}

/** The tables of a report (`dayTables`). @param asClosed closes that decide the number of columns */
export async function tablesOf(
  store: ObjectStore,
  report: ReportDefinition,
  asClosed: readonly Close[] | undefined,
): Promise<DayTable[]> {
  const { columns } = await readSchema(store, report);
  const ofLifecycle = lifecycleShape(report);
  const all: DayTable[] = [
    { name: report.table, table: report.table, columns, objectOf: ({ snapshot }) => snapshot },
  ];
  if (ofLifecycle)
    all.push({ ...ofLifecycle, table: ofLifecycle.name, objectOf: ({ lifecycle }) => lifecycle });
  return all.map((table) => {
    // I7: columns are only appended.
    const counts = asClosed?.flatMap(({ tables }) => tables[table.name]?.columns ?? []) ?? [];
    return counts.length === 0 ? table : { ...table, columns: table.columns.slice(0, Math.max(...counts)) };
  });
}

/** @param isClosed whether its versions are those of closes: then rows have the month of the close */
async function addTable(
  connection: EmptySession,
  lake: SqlLake,
  files: SnapshotFiles,
  { name, table, columns, objectOf }: DayTable,
  versions: readonly DayVersion[],
  isClosed = false,
): Promise<void> {
  // I3: the keys come from the ledger, and a snapshot's files never change.
  const tableFiles = versions.flatMap(({ day: { brand, day }, version, close }) => {
    const object = objectOf(version);
    const what = `${isClosed ? 'closed ' : ''}${table} of ${brand}, ${day}`;
    return object === undefined ? [] : [{ key: versionKey(table, brand, day, object), what, close }];
  });
  const rowsOf = (paths: Paths) => {
    if (!isClosed) return rowsOfFiles(paths, PARTITION_COLUMNS);
    const closes = tableFiles.flatMap(({ key, close }) => {
      const path = paths.get(key);
      return path === undefined ? [] : [`(${literal(path)}, ${literal(close)})`];
    });
    // A file is read once, even if it belongs to several versions.
    return `SELECT rows.*, versions.close FROM ${readParquet(paths, PARTITION_COLUMNS, ["filename = '_file'"])} AS rows JOIN (VALUES ${closes.join(', ')}) AS versions(_file, close) USING (_file)`;
  };
  const all = [...withDerivedLast(columns), ...textColumns(isClosed ? ['close'] : [])];
  await createRelation(connection, lake, { name, columns: all }, files, tableFiles, rowsOf);
}

async function addChanges(
  connection: EmptySession,
  lake: SqlLake,
  files: SnapshotFiles,
  ledgers: readonly ReportLedgers[],
): Promise<void> {
  const days = committedDays(ledgers).filter(({ day }) => lake.day === undefined || lake.day === day);
  const objects = days.flatMap((day): TableFile[] => {
    const key = committedChangesKey(day);
    return key === undefined
      ? []
      : [{ key, what: `changes of ${day.report.table} of ${day.brand}, ${day.day}` }];
  });
  const { name, columns, partitionKeys } = changesTable;
  const all = [...columns, ...textColumns(partitionKeys)];
  await createRelation(connection, lake, { name, columns: all }, files, objects, (paths) =>
    rowsOfFiles(paths, textColumns(['brand', 'report', 'dt']), 'substr(dt, 1, 7) AS month'),
  );
  for (const view of changeViews(lake.reports)) await createView(connection, view);
}

/**
 * Creates a view over the files. It leaves out a missing or damaged file with a warning, so that all other rows stay available.
 * @param rowsOf selects the rows of these files, at least one
 */
async function createRelation(
  connection: EmptySession,
  lake: SqlLake,
  { name, columns }: { name: string; columns: readonly Pick<Column, 'name' | 'type'>[] },
  files: SnapshotFiles,
  tableFiles: readonly TableFile[],
  rowsOf: (paths: Paths) => string,
): Promise<void> {
  const day = dayColumn(columns.map((column) => column.name));
  const derived = day ? `, ${day.value} AS ${day.name}` : '';
  const names = columns.map((column) => identifier(column.name)).join(', ') + derived;
  // The select without rows gives every column its type, even one that no file has yet.
  const empty = columns
    .map((column) => `NULL::${typeSpec(column.type).duckdb} AS ${identifier(column.name)}`)
    .join(', ');
  const create = (paths: Paths) => {
    const rows = paths.size === 0 ? [] : [rowsOf(paths)];
    const union = [`SELECT ${empty} WHERE false`, ...rows].join(' UNION ALL BY NAME ');
    return connection.run(`CREATE OR REPLACE VIEW ${identifier(name)} AS SELECT ${names} FROM (${union})`);
  };
  const all = await files.pathsOf(tableFiles.map(({ key }) => key));
  const paths = new Map(tableFiles.map(({ key }, index) => [key, all[index] ?? '']));
  await create(new Map());
  connection.fills.push(async () => {
    try {
      // To do this, DuckDB opens each file.
      await create(paths);
    } catch (thrown) {
      const readable = await readablePaths(connection, lake, tableFiles, paths);
      if (readable.size === paths.size) throw thrown;
      await create(readable);
    }
  });
}

async function readablePaths(
  connection: SqlSession,
  { store, onUnreadable = warn }: SqlLake,
  tableFiles: readonly TableFile[],
  paths: Paths,
): Promise<Paths> {
  const readable = new Map<string, string>();
  for (const [key, path] of paths) {
    try {
      await connection.run(`SELECT 1 FROM read_parquet(${literal(path)}) LIMIT 0`);
      readable.set(key, path);
    } catch (thrown) {
      const { what = key } = tableFiles.find((file) => file.key === key) ?? {};
      const [why = ''] = (thrown instanceof Error ? thrown.message : String(thrown)).split('\n', 1);
      onUnreadable(what, why);
      // A damaged copy must not outlive its object.
      if (store.localFolder === undefined) await rm(path, { force: true });
    }
  }
  return readable;
}

function warn(what: string, why: string): void {
  const left = `${what} cannot be read and is left out: ${why}`;
  note(oneLine(`warning: ${left}. "${printedCommand('verify')}" shows what to do.`));
}

async function createView(connection: SqlSession, view: View): Promise<void> {
  const { name, sql, columns } = withDay(view);
  const comments = columns.map(
    ([column, , description]) =>
      `COMMENT ON COLUMN ${identifier(name)}.${identifier(column)} IS ${literal(description)}`,
  );
  await connection.run([`CREATE VIEW ${identifier(name)} AS ${inDuckDb(sql)}`, ...comments].join('; '));
}

export const PARTITION_COLUMNS = textColumns(DAY_PARTITION_KEYS);

/** The order of `SELECT *`: `dt` comes before `_rescued` and `_synced_at`, which interest fewer people. */
function withDerivedLast(columns: readonly Column[]) {
  const isDerived = ({ name }: Column) => DERIVED_COLUMNS.includes(name);
  const fields = columns.filter((column) => !isDerived(column));
  return [...fields, ...PARTITION_COLUMNS, ...columns.filter(isDerived)];
}

function textColumns(names: readonly string[]) {
  return names.map((name) => ({ name, type: 'string' as const }));
}

/** SQL of all rows of these files. @param partition the columns that the paths have */
export function rowsOfFiles(
  paths: Paths,
  partition: readonly Pick<Column, 'name' | 'type'>[],
  ...more: readonly string[]
): string {
  return `SELECT ${['*', ...more].join(', ')} FROM ${readParquet(paths, partition)}`;
}

function readParquet(
  paths: Paths,
  partition: readonly Pick<Column, 'name' | 'type'>[],
  options: readonly string[] = [],
): string {
  const list = [...paths.values()].map((path) => literal(path)).join(', ');
  const types = partition.map(({ name, type }) => `${literal(name)}: ${typeSpec(type).duckdb}`).join(', ');
  const all = ['hive_partitioning = true', `hive_types = {${types}}`, 'union_by_name = true', ...options];
  return `read_parquet([${list}], ${all.join(', ')})`;
}

function coverageSql({ settings, nowMs }: SqlLake, ledgers: readonly ReportLedgers[]): string {
  const { name, columns: ownColumns, partitionKeys } = coverageTable;
  const columns = [...ownColumns, ...textColumns(partitionKeys)];
  const day = dayColumn(columns.map((column) => column.name));
  const derived = day ? `, ${day.name} date GENERATED ALWAYS AS (${day.value})` : '';
  const definition = columns
    .map((column) => `${identifier(column.name)} ${typeSpec(column.type).duckdb}`)
    .join(', ');
  const rows = ledgers.flatMap(({ brand, report, ledgers: stored }) => {
    const of = reportDaysIn(ledgers, { brand, report, policy: enabledPolicy(settings, brand, report) });
    return [...stored].flatMap(([month, ledger]) =>
      coverageRows(ledger, of, nowMs).map((row): Row => ({ ...row, brand, report: report.name, month })),
    );
  });
  const values = rows.map((row) => `(${columns.map((column) => literal(row[column.name])).join(', ')})`);
  const insert = values.length === 0 ? '' : `; INSERT INTO ${name} VALUES ${values.join(', ')}`;
  return `CREATE TABLE ${name} (${definition}${derived})${insert}`;
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(value: Value | null | undefined): string {
  if (value === null || value === undefined) return 'NULL';
  if (value instanceof Date) return `TIMESTAMP '${value.toISOString().slice(0, -1).replace('T', ' ')}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

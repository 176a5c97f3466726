/**
 * Each table is a view over the Parquet files that the ledgers name now, so a query sees exactly the committed rows (I3). Only
 * tables that the SQL reads are created, because the files of a lake in S3 have to be downloaded first.
 */
import { resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { closesRows, closesTable } from '../shared/catalog/closes-table.ts';
import { coverageRows, coverageTable } from '../shared/catalog/coverage.ts';
import { freshness } from '../shared/catalog/freshness.ts';
import { tableRoles, viewOver } from '../shared/catalog/view-roles.ts';
import { typeSpec } from '../shared/base/column-types.ts';
import { reportDaysIn } from '../shared/day/day-facts.ts';
import { daysOfMonth, monthOf } from '../shared/base/days.ts';
import { configError } from '../shared/base/errors.ts';
import {
  type UsedSettings,
  readSettingsVersion,
  settingsInUse,
  usedSettings,
} from '../shared/lake/brand-settings.ts';
import { type Close, readCloses } from '../shared/lake/close.ts';
import {
  type CommittedDay,
  type DayOfLedger,
  type ReportLedgers,
  committedDays,
  daysOfLedgers,
  readLedgers,
  readSchema,
} from '../shared/lake/read.ts';
import type { StoredSchema } from '../shared/lake/schema.ts';
import { SNAPSHOTS_PREFIX, beforeTable } from '../shared/lake/paths.ts';
import type { Row } from '../shared/table/columns.ts';
import { enabledPolicy } from '../shared/planning/policy.ts';
import type { ObjectStore, TableShape } from '../shared/ports.ts';
import {
  type ReportDefinition,
  type ReportRegistry,
  type ReportView,
  type View,
  allViews,
  rolesUsedBy,
  withReadViews,
} from '../shared/reports/definition.ts';
import { dayColumn, withDay } from '../shared/reports/views/typed-day.ts';
import { inDuckDb } from '../shared/reports/views/view-sql.ts';
import type { LakeSettings } from '../shared/settings/settings.ts';
import { type CsvTable, createCsvTables } from './csv-tables.ts';
import { daysRead } from './days-read.ts';
import type { Past } from './options.ts';
import { note } from './output.ts';
import { withRunnableCommands } from './printed-command.ts';
import { cell } from './query-result.ts';
import { gapNotes, usedSettingsLines } from './role-notes.ts';
import { type SnapshotFiles, snapshotFiles } from './snapshot-cache.ts';
import { addBefore, addTable, beforeFiles } from './sql-days.ts';
import {
  type EmptySession,
  type SqlSession,
  type TypedColumn,
  identifier,
  literal,
  orUnreadable,
  pathsOf,
  rowsOfFiles,
  textColumns,
  typedRows,
} from './sql-files.ts';
import { namesIn } from './sql-names.ts';
import {
  type DayAt,
  type PastDays,
  type PlacesBy,
  closesUpTo,
  daysAtCloses,
  daysAtInstant,
  refusePresent,
  refuseUnknown,
} from './sql-past.ts';
import { openSession } from './sql-session.ts';
import { oneLine } from './terminal-text.ts';

export interface SqlLake {
  store: ObjectStore;
  reports: ReportRegistry;
  /** They replace the lake's own settings of their brands. */
  settings: LakeSettings | undefined;
  /** The file of these settings, for the note that they give records another meaning than the lake's. */
  settingsFile?: string;
  nowMs: number;
  /** An instant, at most `nowMs`, or a closed month; missing: as they are. A day has what had been read whole by then. */
  asOf?: Past | undefined;
  /** The tables have this day alone, and `coverage` its month; missing: all days. */
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
}

const FROM_DOCUMENTS = [coverageTable.name, closesTable.name];

/** @throws BrandReportsError `config` if DuckDB would misread the lake's path, or the lake has no answer as of then */
export async function createSqlConnection(lake: SqlLake, sql: string): Promise<DuckDBConnection> {
  const files = snapshotFiles(lake.store);
  const { outputFolder, csvs = [], tablesOnly = false } = lake;
  const folders = [
    tablesOnly ? resolve(files.folder, SNAPSHOTS_PREFIX) : files.folder,
    ...(outputFolder === undefined ? [] : [outputFolder]),
  ];
  const connection = await openSession(folders, (opened) => createCsvTables(opened, csvs));
  try {
    const { includes, queries } = await namesIn(connection, sql);
    // With empty SQL, the caller runs queries later.
    const wants = queries === 0 ? undefined : includes;
    const made = await createRelations(connection, lake, files, wants, placesBy(connection, files));
    const [lost] = made.lost.length === 0 ? [] : await daysRead(connection, sql, made.lost);
    if (lost) throw configError('damaged_document', lost.message);
    if (made.past && made.past.unknown.length > 0) {
      const all = made.days.map((of) => ({ brand: of.brand, report: of.report.name, dt: of.day, of }));
      const read = (await daysRead(connection, sql, all)).map(({ of }) => of);
      refuseUnknown(made.past, read);
    }
    return connection;
  } catch (thrown) {
    connection.closeSync();
    throw thrown;
  }
}

/**
 * @param wants whether a table or view is wanted; if the SQL names no table, all are created without rows; missing: all are
 * @param placesThen missing: the lake is not as of an instant
 * @throws BrandReportsError `config`, like `createSqlConnection`
 */
export async function createRelations(
  session: SqlSession,
  lake: SqlLake,
  files: SnapshotFiles,
  wants?: (name: string) => boolean,
  placesThen: PlacesBy = async () => new Map(),
): Promise<{ days: DayOfLedger[]; lost: LostDay[]; past: PastDays | undefined }> {
  const { store, reports, asOf, day } = lake;
  const connection: EmptySession = { run: (sql) => session.run(sql), fills: [] };
  const all = Object.values(reports);
  const views = viewsOfLake(reports);
  const isNamed = wants ?? (() => false);
  if (asOf !== undefined) refusePresent([coverageTable.name, freshness.name].filter(isNamed));
  const month = day === undefined ? undefined : monthOf(day);
  const ledgers = await readLedgers(store, reports, { from: month, to: month }, lake.nowMs);
  lake.onLedgers?.(ledgers);
  const namedViews = withReadViews(
    views,
    views.filter(({ name }) => isNamed(name)),
  );
  const isRead = (name: string) =>
    isNamed(name) || namedViews.some((view) => view.name === name || view.tables.includes(name));
  const named = all.filter(({ table }) => isRead(table) || isRead(beforeTable(table)));
  const ofNamed = ledgers.filter(({ report }) => named.includes(report));
  const warnOf = ({ message }: { message: string }) =>
    note(oneLine(`warning: ${withRunnableCommands(message)}`));
  if (named.length > 0 && ofNamed.length === 0)
    warnOf({
      message: `${store.url} has no day of the tables yet: name --lake, or run "brand-reports sync"`,
    });
  const ofAllReports = FROM_DOCUMENTS.some(isRead);
  const isOfCsvs = lake.csvs?.some(({ name }) => isNamed(name)) ?? false;
  const isAll = named.length === 0 && !ofAllReports && !isOfCsvs;
  const wanted = isAll ? all : named;
  for (const { report, damaged } of ledgers)
    if (ofAllReports || wanted.includes(report)) damaged.forEach(warnOf);
  // A folder `country=US` on the way would replace the column country of every row.
  if (/[=*?[]/.test(files.folder))
    throw configError(
      'lake_folder',
      `${files.folder} contains "=", "*", "?" or "[". Use a path without them.`,
    );

  const isWanted = (table: string) => isAll || isRead(table);
  const ofWanted = ledgers.filter(({ report }) => wanted.includes(report));
  const daysWanted = daysOfLedgers(ofWanted).filter((each) => day === undefined || each.day === day);
  const closes =
    isWanted(closesTable.name) || typeof asOf === 'string'
      ? await readCloses(store, undefined, (error, of) => {
          if (typeof asOf === 'string' && of.month <= asOf) throw error;
          (lake.onGap ?? note)(oneLine(`warning: ${withRunnableCommands(error.message)}`));
        })
      : [];
  const past =
    asOf === undefined
      ? undefined
      : typeof asOf === 'number'
        ? await daysAtInstant(daysWanted, new Date(asOf), placesThen)
        : daysAtCloses(closesUpTo(closes, asOf), daysWanted);
  for (const line of past?.notes ?? []) (lake.onGap ?? note)(oneLine(line));
  const days: readonly DayAt[] =
    past?.days ?? committedDays(ofWanted).filter((each) => day === undefined || each.day === day);

  const { settings, notes, used } = await settingsAsOf(lake, ledgers, closes);
  const coverage = coverageRowsOf({ ...lake, settings }, ledgers);
  const created = new Set([coverageTable.name]);
  if (asOf === undefined) await connection.run(tableSql(coverageTable, coverage));
  if (isWanted(closesTable.name)) {
    const then = closes.filter(({ month: of, closedAt }) =>
      typeof asOf === 'string' ? of <= asOf : Date.parse(closedAt) <= (asOf ?? Number.POSITIVE_INFINITY),
    );
    await connection.run(tableSql(closesTable, closesRowsOf(all, then)));
    created.add(closesTable.name);
  }
  const schemas = new Map<string, StoredSchema>();
  for (const report of wanted) {
    const schema = await readSchema(store, report);
    schemas.set(report.table, schema);
    const of = {
      report,
      columns: schema.columns,
      days: days.filter((each) => each.report === report),
      isPast: past !== undefined,
    };
    for (const [name, add] of [
      [report.table, addTable],
      [beforeTable(report.table), addBefore],
    ] as const) {
      if (!isWanted(name)) continue;
      await add(connection, files, of);
      created.add(name);
    }
  }
  const roles = tableRoles(wanted, settings, ledgers);
  const isListed = isAll && wants !== undefined;
  const isShown = isAll ? () => !isListed : isNamed;
  const derived = views.filter((view) => rolesUsedBy(views, view).length > 0);
  const origins = usedSettingsLines(used);
  const lines = [
    ...notes,
    ...(derived.some(({ name }) => isWanted(name)) ? origins.map((origin) => `note: ${origin}`) : []),
    ...gapNotes(ledgers, reports, roles, isShown),
  ];
  for (const line of lines) (lake.onGap ?? note)(line);
  const then = past && coverageThen(coverage, past.days);
  for (const view of views) {
    const isNow = view.name === freshness.name;
    if (isNow ? past : !isWanted(view.name)) continue;
    if (!view.tables.every((table) => created.has(table))) continue;
    await createView(
      connection,
      viewOver(view, schemas, roles),
      derived.includes(view) ? origins : [],
      view.tables.includes(coverageTable.name) ? then : undefined,
    );
    created.add(view.name);
  }
  // A damaged file fails the SQL that reads it, and not SHOW TABLES.
  for (const fill of isListed ? [] : connection.fills) await fill();
  return { days: isAll ? [] : daysWanted, lost: isAll ? [] : ofWanted.flatMap(lostDays), past };
}

/** A day of a month whose ledger cannot be used: without it, SQL would count records of the day as 0. */
interface LostDay {
  brand: string;
  report: string;
  dt: string;
  message: string;
}

function lostDays({ brand, report: { name: report }, damaged }: ReportLedgers): LostDay[] {
  return damaged.flatMap(({ month, message }) =>
    month === undefined ? [] : daysOfMonth(month).map((dt) => ({ brand, report, dt, message })),
  );
}

/** All views of a lake, each after the views that it reads. */
export function viewsOfLake(reports: ReportRegistry): ReportView[] {
  return [...allViews(reports), { ...freshness, tables: [coverageTable.name] }];
}

/** The settings of the lake or of the command; as of a closed month, those by which its totals were shown. */
async function settingsAsOf(
  { store, reports, settings: given, settingsFile, asOf }: SqlLake,
  ledgers: readonly ReportLedgers[],
  closes: readonly Close[],
) {
  const { settings, notes } = settingsInUse(ledgers, given, settingsFile);
  const lines = notes.map(({ text }) => oneLine(`note: ${text}`));
  if (typeof asOf !== 'string') return { settings, notes: lines, used: usedSettings(ledgers, given) };
  const brands = { ...settings?.brands };
  const used: UsedSettings[] = [];
  for (const { brand, settings: hash } of closes.filter(({ month }) => month === asOf)) {
    if (hash === undefined) continue;
    brands[brand] = await readSettingsVersion(store, brand, hash, reports);
    used.push({ brand, hash: hash.slice(0, 8), since: `the close of ${asOf}` });
  }
  return { settings: { ...settings, brands }, notes: [], used };
}

function placesBy(connection: DuckDBConnection, files: SnapshotFiles): PlacesBy {
  return async (days, at) => {
    const places = new Map<CommittedDay, number>();
    for (const own of Map.groupBy(days, ({ report }) => report).values()) {
      const objects = own.flatMap(beforeFiles);
      const paths = await pathsOf(files, objects);
      const found = new Map<string, number>();
      if (paths.size > 0) {
        const placed = `SELECT brand, dt, CAST(max(_place) AS integer) FROM (${rowsOfFiles(paths.values())}) WHERE _by <= ${literal(at)} GROUP BY ALL`;
        const reader = await connection
          .runAndReadAll(placed)
          .catch(orUnreadable(connection, files, objects, paths));
        for (const [brand, dt, place] of reader.getRowsJson())
          found.set(`${cell(brand)} ${cell(dt)}`, Number(place));
      }
      for (const day of own) {
        const { anewPlace = 0 } = day.committed.history ?? {};
        places.set(day, Math.max(anewPlace, found.get(`${day.brand} ${day.day}`) ?? 0));
      }
    }
    return places;
  };
}

/** @param origins the settings by which its numbers are derived, for readers of a database file */
async function createView(
  connection: SqlSession,
  view: View,
  origins: readonly string[],
  coverage?: string,
): Promise<void> {
  const { name, sql, columns, description: about } = withDay(view);
  const comments = columns.map(
    ([column, , description]) =>
      `COMMENT ON COLUMN ${identifier(name)}.${identifier(column)} IS ${literal(description)}`,
  );
  comments.push(`COMMENT ON VIEW ${identifier(name)} IS ${literal([about, ...origins].join('; '))}`);
  const then = coverage === undefined ? '' : `WITH ${coverageTable.name} AS ${coverage} FROM (`;
  const select = `${then}${inDuckDb(sql)}${then && ')'}`;
  await connection.run([`CREATE VIEW ${identifier(name)} AS ${select}`, ...comments].join('; '));
}

function coverageRowsOf({ settings, nowMs }: SqlLake, ledgers: readonly ReportLedgers[]): Row[] {
  return ledgers.flatMap(({ brand, report, ledgers: stored }) => {
    const of = reportDaysIn(ledgers, { brand, report, policy: enabledPolicy(settings, brand, report) });
    return [...stored.values()].flatMap((ledger) =>
      coverageRows(ledger, of, nowMs).map((row): Row => ({ ...row, brand })),
    );
  });
}

/** As of the past, views read the days that were known then, with the number of their changes. */
function coverageThen(rows: readonly Row[], days: readonly DayAt[]): string {
  const idOf = (...names: readonly unknown[]) => names.join(' ');
  const placeOf = new Map(
    days.map(({ brand, report, day, place = 0 }) => [idOf(brand, report.name, day), place]),
  );
  const known = rows.flatMap((row): Row[] => {
    const place = placeOf.get(idOf(row.brand, row.report, row.dt));
    return place === undefined ? [] : [{ ...row, place: BigInt(place) }];
  });
  const columns = columnsOfTable(coverageTable);
  if (known.length === 0) return typedRows(columns);
  const names = columns.map(({ name }) => identifier(name)).join(', ');
  return typedRows(columns, `SELECT * FROM (VALUES ${valuesSql(columns, known)}) AS days(${names})`);
}

function closesRowsOf(reports: readonly ReportDefinition[], closes: readonly Close[]): Row[] {
  return closes.flatMap(({ brand, month }) => {
    const own = closes.filter((close) => close.brand === brand);
    return reports.flatMap((report) => closesRows(own, report, month).map((row): Row => ({ ...row, brand })));
  });
}

function columnsOfTable({ columns, partitionKeys }: TableShape): TypedColumn[] {
  return [...columns, ...textColumns(partitionKeys)];
}

function valuesSql(columns: readonly TypedColumn[], rows: readonly Row[]): string {
  return rows.map((row) => `(${columns.map(({ name }) => literal(row[name])).join(', ')})`).join(', ');
}

function tableSql(shape: TableShape, rows: readonly Row[]): string {
  const columns = columnsOfTable(shape);
  const day = dayColumn(columns.map(({ name }) => name));
  const derived = day ? `, ${day.name} date GENERATED ALWAYS AS (${day.value})` : '';
  const definition = columns
    .map(({ name, type }) => `${identifier(name)} ${typeSpec(type).duckdb}`)
    .join(', ');
  const insert = rows.length === 0 ? '' : `; INSERT INTO ${shape.name} VALUES ${valuesSql(columns, rows)}`;
  return `CREATE TABLE ${shape.name} (${definition}${derived})${insert}`;
}

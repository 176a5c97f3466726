/**
 * Finds the days that SQL reads, including days that the lake lacks, by DuckDB's plan over empty copies ("shapes") of the tables,
 * in which the days are a separate source. The conditions directly above it select the days. In doubt a day counts as read.
 */
import { DAY_PARTITION_KEYS } from '../shared/base/column-types.ts';
import type { DuckDBConnection } from '@duckdb/node-api';
import { freshness } from '../shared/catalog/freshness.ts';
import { monthOf } from '../shared/base/days.ts';
import { type Json, isJsonObject, parseJson } from '../shared/base/json.ts';
import { LEDGER_TABLES, beforeTable } from '../shared/lake/paths.ts';
import { reports } from '../shared/reports/index.ts';
import { asSqlError, prepared } from './query-result.ts';
import { namesIn } from './sql-names.ts';
import { openSession } from './sql-session.ts';
import { identifier, literal } from './sql-files.ts';
import type { LakeDay } from './lake-days.ts';

/** The columns that depend on the day alone. In a shape all other columns are numbered, so that no name occurs twice. */
const DAY_COLUMNS = ['day_brand', 'day_report', 'day_month', 'day_dt'];
/** Every table, with its report; tables computed from ledgers have the days of all reports. */
const TABLES = [
  ...Object.values(reports).flatMap((of) =>
    [of.table, beforeTable(of.table)].map((table) => ({ table, report: of.name })),
  ),
  ...LEDGER_TABLES.map((table) => ({ table, report: undefined })),
];
const OF_ALL_REPORTS = [...LEDGER_TABLES, freshness.name];
/** The claimed rows of the first table's days; each further table claims more, so a plan shows which table it reads. */
const FIRST_ROWS = 7_000_001;
const OTHER_ROWS = 2;
/** The words of conditions that can be evaluated from the plan's text: texts, columns of the day, and operators. */
const WORD =
  /'[^']*'|\b(day_(brand|report|month|dt)|and|or|not|in|is|null|between|cast|try_cast|as|varchar|date|timestamp|with|time|zone|year|month|date_trunc|strftime|prefix|lower)\b|[\s\d()<>=!~:,.+-]/gi;

type Scan = (typeof TABLES)[number] & { condition?: string | undefined };

/** @returns the days among `all` that the SQL may read. @throws BrandReportsError `config` if it reads a file */
export async function daysRead<Day extends Pick<LakeDay, 'brand' | 'report' | 'dt'>>(
  connection: DuckDBConnection,
  sql: string,
  days: readonly Day[],
): Promise<Day[]> {
  await prepared(connection, sql);
  const probe = await openSession([]);
  try {
    const columns = DAY_COLUMNS.map((name) => `${name} VARCHAR`).join(', ');
    const rows = days.map(({ brand, report, dt }, index) => [index, brand, report, monthOf(dt), dt]);
    const values = rows.map((row) => `(${row.map(literal).join(', ')})`).join(', ');
    await probe.run(`CREATE TABLE all_days (position INT, ${columns})`);
    if (values) await probe.run(`INSERT INTO all_days VALUES ${values}`);
    const read = new Set<string | undefined>();
    for (const { report = '', condition = 'true' } of await scansOf(connection, probe, sql)) {
      const positions = `SELECT position FROM all_days WHERE ${literal(report)} IN (day_report, '') AND`;
      const where = (text: string) => textsOf(probe, `${positions} (${text})`);
      const isText = condition.replace(WORD, '') === '';
      const found = await where(isText ? condition : 'true').catch(() => where('true'));
      for (const [position] of found) read.add(position);
    }
    return days.filter((_, index) => read.has(String(index)));
  } finally {
    probe.closeSync();
  }
}

async function scansOf(from: DuckDBConnection, probe: DuckDBConnection, sql: string): Promise<Scan[]> {
  const ofColumns = 'FROM duckdb_columns() WHERE NOT internal ORDER BY table_oid, column_index';
  const columns = await textsOf(from, `SELECT table_name, column_name, data_type ${ofColumns}`);
  const shapes = TABLES.filter(({ table }) => columns.some(([of]) => of === table));
  for (const shape of shapes) await probe.run(shapeSql(shape, columns));
  const ofViews = 'FROM duckdb_views() WHERE NOT internal ORDER BY view_oid';
  for (const [name, text = ''] of await textsOf(from, `SELECT view_name, sql ${ofViews}`))
    if (!TABLES.some(({ table }) => table === name)) await probe.run(text);
  try {
    // The SQL is one query and is passed as an argument: after a prefix, further statements of it would run.
    const [[, plan = ''] = []] = await textsOf(probe, `EXPLAIN (FORMAT json) FROM query(${literal(sql)})`);
    return [...scansIn(parseJson(plan))];
  } catch (thrown) {
    // The plan may have a form that is not known here.
    if (/Permission Error/.test(String(thrown))) asSqlError(thrown);
    const { includes } = await namesIn(probe, sql);
    return shapes.filter(({ report }) => report !== undefined || OF_ALL_REPORTS.some(includes));
  }
}

/** A view like a table, over functions that are opaque to the optimizer. @param all table, name and type of columns */
function shapeSql(shape: Scan, all: readonly string[][]): string {
  const columns = all.filter(([table]) => table === shape.table);
  const selected = columns.map(([, name = ''], index) => {
    // The last column `day` is made from `dt`; a field of that name stands before `dt`.
    if (name === 'day' && index === columns.length - 1) return 'TRY_CAST(day_dt AS DATE) AS day';
    // In a table of a report, `month` and `report` are fields of the service.
    const isOfDay = shape.report === undefined || DAY_PARTITION_KEYS.some((key) => key === name);
    const own = DAY_COLUMNS.find((column) => isOfDay && column === `day_${name}`);
    return `${own ?? `c${index}`} AS ${identifier(name)}`;
  });
  const days = `repeat_row('', '', '', '', num_rows = ${FIRST_ROWS + TABLES.indexOf(shape)})`;
  const types = columns.map(([, , type]) => `NULL::${type}`).join(', ');
  const others = `repeat_row(${types}, num_rows = ${OTHER_ROWS}) AS others(${columns.map((_, index) => `c${index}`).join(', ')})`;
  return `CREATE VIEW ${shape.table} AS SELECT ${selected.join(', ')} FROM ${days} AS days(${DAY_COLUMNS.join(', ')}), ${others}`;
}

function* scansIn(node: Json, condition?: string): Generator<Scan> {
  if (Array.isArray(node)) for (const child of node) yield* scansIn(child, condition);
  if (!isJsonObject(node)) return;
  const { name, extra_info: facts = {}, children = null } = node;
  if (!isJsonObject(facts)) throw new Error('a plan of an unknown form');
  const { Expression: own, Projections: kept, 'Estimated Cardinality': rows } = facts;
  const table = TABLES[Number(rows) - FIRST_ROWS];
  if (name === 'REPEAT_ROW' && table) yield { ...table, condition };
  else if (name === 'REPEAT_ROW' && Number(rows) !== OTHER_ROWS) throw new Error('a plan of an unknown form');
  // A projection of the needed columns, `#0`, `#3`, may be between condition and source.
  const isChoice = name === 'PROJECTION' && /^(\[?"#\d+"[\],]?)+$/.test(JSON.stringify(kept ?? ''));
  const filter = name === 'FILTER' && typeof own === 'string' ? own : undefined;
  yield* scansIn(children, isChoice ? condition : filter);
}

async function textsOf(connection: DuckDBConnection, sql: string): Promise<string[][]> {
  return (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(String));
}

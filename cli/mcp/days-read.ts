/**
 * Finds the days that SQL reads, also those that the lake lacks. DuckDB itself moves the conditions of the SQL through views
 * and joins to the tables. Here it plans the same SQL over shapes of the tables, in which the day of a row is a source of its
 * own, and the conditions that the plan has right above this source decide. In doubt no day is left out.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { monthOf } from '../../shared/days.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import { type Json, isJsonObject, parseJson } from '../../shared/json.ts';
import { DAY_PARTITION_KEYS, LEDGER_TABLES } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { cell } from '../query-result.ts';
import { namesIn } from '../sql-names.ts';
import { identifier, literal } from '../sql-tables.ts';
import { versionsTable } from '../sql-versions.ts';
import type { LakeDay } from './lake-days.ts';

/** The columns that the day alone decides. In a shape all others are numbered, so that none of them is called like these. */
const DAY_COLUMNS = ['day_brand', 'day_report', 'day_month', 'day_dt'];
/** Every table, with its report; the tables that are made from ledgers have the days of all reports. */
const TABLES: { table: string; report?: string }[] = [
  ...Object.values(reports).flatMap((of) =>
    [of.table, versionsTable(of)].map((table) => ({ table, report: of.name })),
  ),
  ...LEDGER_TABLES.map((table) => ({ table })),
];
/** The days of the first table claim so many rows, those of each further one more: a plan shows which table it reads. */
const FIRST_ROWS = 7_000_001;
const OTHER_ROWS = 2;
/** What could be true of a day when the SQL runs and not now, or names a column by its position. */
const UNUSABLE = /#\d|\b(random|\w*uuid\w*)\(/i;

/** Where SQL reads a table, and the condition on its days. */
type Scan = (typeof TABLES)[number] & { condition?: string | undefined };

/**
 * @param connection with the tables and views that the SQL names
 * @returns those of the days that the SQL may read. @throws BrandReportsError `config` if it reads a file
 */
export async function daysRead(connection: DuckDBConnection, sql: string, days: readonly LakeDay[]) {
  const instance = await DuckDBInstance.create(':memory:', { enable_external_access: 'false' });
  const probe = await instance.connect();
  try {
    const columns = DAY_COLUMNS.map((name) => `${name} VARCHAR`).join(', ');
    await probe.run(`SET TimeZone = 'UTC'; CREATE TABLE all_days (position INT, ${columns})`);
    const valuesOf = ({ brand, report, dt }: LakeDay) => [brand, report, monthOf(dt), dt].map(literal);
    const rows = days.map((day, index) => `(${[index, ...valuesOf(day)].join(', ')})`);
    if (rows.length > 0) await probe.run(`INSERT INTO all_days VALUES ${rows.join(', ')}`);
    const read = new Set<LakeDay>();
    for (const { report, condition = 'true' } of await scansOf(connection, probe, sql)) {
      const where = (text: string) => textsOf(probe, `SELECT position FROM all_days WHERE ${text}`);
      const found = await where(UNUSABLE.test(condition) ? 'true' : condition).catch(() => where('true'));
      const met = found.flatMap(([position]) => days[Number(position)] ?? []);
      for (const day of met) if (report === undefined || report === day.report) read.add(day);
    }
    return days.filter((day) => read.has(day));
  } finally {
    probe.closeSync();
    instance.closeSync();
  }
}

async function scansOf(from: DuckDBConnection, probe: DuckDBConnection, sql: string): Promise<Scan[]> {
  const shapes: Scan[] = [];
  for (const shape of TABLES) if (await copyShape(from, probe, shape)) shapes.push(shape);
  const ofViews = 'FROM duckdb_views() WHERE NOT internal ORDER BY view_oid';
  for (const [name, text = ''] of await textsOf(from, `SELECT view_name, sql ${ofViews}`))
    if (!TABLES.some(({ table }) => table === name)) await probe.run(text);
  try {
    const [[, plan = ''] = []] = await textsOf(probe, `EXPLAIN (FORMAT json) ${sql}`);
    return [...scansIn(parseJson(plan))];
  } catch (thrown) {
    // Some SQL has no plan, for example a PIVOT without its values; what is no query is refused when it runs.
    const isFile = /^Permission Error/.test(thrown instanceof Error ? thrown.message : '');
    if (!isFile || (await namesIn(probe, sql)).queries !== 1) return shapes;
    const next = 'Allowed: tables and views of the lake. Next step: call the tool "views" for their names.';
    throw new BrandReportsError('config', 'sql_refused', `The SQL reads a file. ${next}`);
  }
}

/** Makes a view like a table, over functions that no optimizer looks into. @returns whether there is such a table */
async function copyShape(from: DuckDBConnection, probe: DuckDBConnection, shape: Scan): Promise<boolean> {
  const ofTable = `FROM duckdb_columns() WHERE table_name = ${literal(shape.table)} ORDER BY column_index`;
  const found = await textsOf(from, `SELECT column_name, data_type ${ofTable}`);
  const columns = found.map(([name = '', type = '']) => ({ name, type }));
  if (columns.length === 0) return false;
  const selected = columns.map(({ name }, index) => {
    // The last column `day` is made from `dt`; a field of that name stands before `dt`.
    if (name === 'day' && index === columns.length - 1) return 'TRY_CAST(day_dt AS DATE) AS day';
    // In a table of a report, `month` and `report` are fields of the service.
    const isOfDay = shape.report === undefined || DAY_PARTITION_KEYS.some((key) => key === name);
    const own = DAY_COLUMNS.find((column) => isOfDay && column === `day_${name}`);
    return `${own ?? `c${index}`} AS ${identifier(name)}`;
  });
  const source = (types: readonly string[], rows: number, names: readonly string[]) =>
    `repeat_row(${types.map((type) => `NULL::${type}`).join(', ')}, num_rows = ${rows}) AS s${rows}(${names.join(', ')})`;
  const texts = DAY_COLUMNS.map(() => 'VARCHAR');
  const days = source(texts, FIRST_ROWS + TABLES.indexOf(shape), DAY_COLUMNS);
  const [types, numbers] = [columns.map(({ type }) => type), columns.map((_, index) => `c${index}`)];
  const view = `CREATE VIEW ${identifier(shape.table)} AS SELECT ${selected.join(', ')}`;
  await probe.run(`${view} FROM ${days}, ${source(types, OTHER_ROWS, numbers)}`);
  return true;
}

function* scansIn(node: Json, condition?: string): Generator<Scan> {
  if (Array.isArray(node)) for (const child of node) yield* scansIn(child, condition);
  if (!isJsonObject(node)) return;
  const { name, extra_info: info, children = null } = node;
  const facts = isJsonObject(info) ? info : {};
  const { Expression: own, Projections: kept, 'Estimated Cardinality': rows } = facts;
  const table = TABLES[Number(rows) - FIRST_ROWS];
  if (name === 'REPEAT_ROW' && table) yield { ...table, condition };
  else if (name === 'REPEAT_ROW' && Number(rows) !== OTHER_ROWS) throw new Error('a plan of an unknown form');
  // Between condition and source may stand a choice of the columns that are needed at all: `#0`, `#3`.
  const isChoice = name === 'PROJECTION' && /^(\[?"#\d+"[\],]?)+$/.test(JSON.stringify(kept ?? ''));
  const filter = name === 'FILTER' && typeof own === 'string' ? own : undefined;
  yield* scansIn(children, isChoice ? condition : filter);
}

/** The rows of a query of ours, as text. */
export async function textsOf(connection: DuckDBConnection, sql: string): Promise<string[][]> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRowsJson().map((row) => row.map((value) => cell(value, undefined)));
}

/** Other SQL than one query is refused: COPY could replace a ledger of the lake, and ATTACH could leave a file in it. */
import { type DuckDBConnection, type DuckDBPreparedStatement, StatementType } from '@duckdb/node-api';
import { isDay } from '../shared/base/days.ts';
import { configError } from '../shared/base/errors.ts';
import { DAY, MONTH, dayConditions } from './day-conditions.ts';
import { literal } from './sql-files.ts';
import { namesIn } from './sql-names.ts';

/**
 * Table functions of DuckDB that a query may call although they change the process (`lock_configuration` does not bind
 * them): logs and profiles are written to files, pointers are read. The last three could hide a call or a table in a text.
 */
const REFUSED_FUNCTIONS = [
  'enable_logging',
  'disable_logging',
  'truncate_duckdb_logs',
  'enable_profiling',
  'disable_profiling',
  'enable_peg_parser',
  'disable_peg_parser',
  'arrow_scan',
  'arrow_scan_dumb',
  'json_execute_serialized_sql',
  'query',
  'query_table',
];

/** @throws BrandReportsError `config` for SQL that is not one query; DuckDB's own error for a query that is wrong */
export async function prepareQuery(
  connection: DuckDBConnection,
  sql: string,
): Promise<DuckDBPreparedStatement> {
  // DuckDB receives the text up to this character.
  if (sql.includes('\0')) throw refused(`${quoted(sql)} contains the character NUL`);
  const names = await namesIn(connection, sql);
  if (names.queries === 0) throw refused('The SQL is empty');
  const statements = await connection.extractStatements(sql);
  // DuckDB makes several statements of a PIVOT without IN, also a CREATE TYPE.
  if (statements.count > 1) throw refused(`${quoted(sql)} is several statements`);
  // Preparing another statement may already write: EXPORT creates its folder.
  if (names.queries !== 1) throw refused(`${quoted(sql)} is not a query`);
  const called = REFUSED_FUNCTIONS.find((name) => names.includes(name));
  if (called !== undefined) throw refused(`${quoted(sql)} calls ${called}()`);
  await refuseWrongDays(connection, sql);
  const statement = await statements.prepare(0);
  if (statement.statementType === StatementType.SELECT) return statement;
  throw refused(`${quoted(sql)} is not a query but ${StatementType[statement.statementType]}`);
}

function refused(what: string) {
  const allowed = 'one SELECT (also WITH, FROM, and PIVOT with IN), DESCRIBE, SHOW, SUMMARIZE or VALUES';
  return configError('sql_refused', `${what}. Allowed: ${allowed}. To save rows, use --output FILE.`);
}

const MAX_QUOTED = 60;

function quoted(sql: string): string {
  const text = sql.trim();
  return text.length > MAX_QUOTED ? `"${text.slice(0, MAX_QUOTED)}…"` : `"${text}"`;
}

/** The signs of comparisons with a bound, which need not be a day. */
const BOUNDS: Readonly<Record<string, string>> = {
  COMPARE_GREATERTHAN: '>',
  COMPARE_GREATERTHANOREQUALTO: '>=',
  COMPARE_LESSTHAN: '<',
  COMPARE_LESSTHANOREQUALTO: '<=',
  COMPARE_BETWEEN: '<=',
};
/** Their bound may be the beginning of a text, as 2026 is of a month. In a plan, BETWEEN is also `dt >= '2026-03' AND dt < '2026-04'`. */
const BEGINNINGS = /(GREATERTHANOREQUALTO|LESSTHAN|BETWEEN)$/;
/** Each day, and NULL. A condition may have aggregates, such as `max(dt) > '2026-11-09'`. */
const DAYS = `(SELECT strftime(each, '%Y-%m-%d') AS "${DAY}", left("${DAY}", 7) AS "${MONTH}"
  FROM generate_series(DATE '1970-01-01', DATE '2099-12-31', INTERVAL 1 DAY) AS days(each) UNION ALL SELECT NULL, NULL) GROUP BY ALL`;

/** `dt` is text in every catalog: `dt >= '2026-11-9'` would silently select other days. @throws BrandReportsError `config` */
async function refuseWrongDays(connection: DuckDBConnection, sql: string): Promise<void> {
  for (const { name, left, right } of await dayConditions(connection, sql)) {
    const isNegated = /NOTEQUAL|NOT_IN|COMPARE_DISTINCT|^!|^not_/.test(name);
    const bound = BOUNDS[name];
    const sign = bound ?? (isNegated ? '<>' : '=');
    if (right === undefined) {
      if (!(await isMetByDay(connection, isNegated ? `NOT (${left})` : left))) throw wrongDays(left, '=');
      continue;
    }
    // Rows beside the days of the lake may have a word, such as a total. `nullif(dt, '')` compares without selecting days.
    const isWord = /^\D*$/.test(right) && (bound === undefined || left !== DAY);
    // 2026-1 is the beginning of a number.
    const isStart = right === '' || (/\D$|\d\d$/.test(right) && BEGINNINGS.test(name));
    // A bound may be the 31st of any month, or in a year that DAYS lacks.
    const near = right.replace(/^(?!19[7-9]|20)\d{4}(?!\d)/, '2000').replace(/(29|3[01])$/, '28');
    const met = bound
      ? `typeof(${left}) <> 'VARCHAR' OR ${left} = ${literal(near)} OR (${isStart} AND starts_with(${left}, ${literal(near)}))`
      : `${left} = ${literal(right)}`;
    if (!isWord && !(left === DAY && isDay(right)) && !(await isMetByDay(connection, met)))
      throw wrongDays(`${left} ${sign} ${literal(right)}`, sign, right);
  }
}

/** Whether any day, or NULL, meets the condition; also if it cannot be evaluated. */
async function isMetByDay(connection: DuckDBConnection, condition: string): Promise<boolean> {
  const sql = `SELECT bool_or(met) FROM (SELECT ${condition} AS met, "${DAY}", "${MONTH}" FROM ${DAYS})`;
  const found = await connection.runAndReadAll(sql).catch(() => undefined);
  return found?.getRows()[0]?.[0] !== false;
}

function wrongDays(sql: string, sign: string, text = '') {
  const condition = sql.replaceAll(DAY, 'dt').replaceAll(MONTH, 'month').replaceAll('"', '');
  if (sql.includes(MONTH)) {
    const [, of = '2026', number = '11'] = /^(\d{4})\D?(\d\d?)/.exec(text) ?? [];
    const next = `Use month ${sign} '${of}-${number.padStart(2, '0')}'.`;
    return configError('sql', `${condition} selects wrong months, because month is text: YYYY-MM. ${next}`);
  }
  const [, year = '', month = '', date = ''] = /(\d{4})\D?(\d{1,2})\D?(\d{1,2})/.exec(text) ?? [];
  const meant = [year, month.padStart(2, '0'), date.padStart(2, '0')].join('-');
  const day = isDay(meant) ? meant : '2026-11-09';
  return configError(
    'sql',
    `${condition.replace(' !~~ ', ' NOT LIKE ').replace(' ~~ ', ' LIKE ')} selects wrong days, because dt is text: the whole day as YYYY-MM-DD. Use dt ${sign} '${day}', for a month dt LIKE '${day.slice(0, 7)}-%', or the column day, which is a DATE: day ${sign} DATE '${day}'.`,
  );
}

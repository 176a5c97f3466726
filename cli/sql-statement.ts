/**
 * Prepares a user's SQL if it only reads. DuckDB's own parser has to find one query, and the prepared statement has to be one.
 * Other SQL is refused: COPY could replace a ledger of the lake, and ATTACH could leave a file in it.
 */
import { type DuckDBConnection, type DuckDBPreparedStatement, StatementType } from '@duckdb/node-api';
import { configError } from '../shared/errors.ts';
import { refuseWrongDays } from './day-conditions.ts';
import { namesIn } from './sql-names.ts';

/**
 * Table functions of DuckDB that a query may call although they change the process (`lock_configuration` does not bind
 * them): logs and profiles are written to files, pointers are read. `json_execute_serialized_sql` could hide a call.
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
  const last = statements.count - 1;
  // DuckDB makes several statements of a PIVOT without IN: a CREATE TYPE for each list of values, then a SELECT. A text that
  // begins like a query has no other CREATE: the SELECT of its first statement comes before any further statement.
  const isPivot = last > 0 && QUERY.test(sql);
  if (last > 0 && !isPivot) throw refused(`${quoted(sql)} is several statements`);
  // Preparing another statement may already write: EXPORT creates its folder.
  if (names.queries !== 1 && !isPivot) throw refused(`${quoted(sql)} is not a query`);
  const called = REFUSED_FUNCTIONS.find((name) => names.includes(name));
  if (called !== undefined)
    throw refused(`${quoted(sql)} calls ${called}(), or computes the text that query() runs`);
  await refuseWrongDays(connection, names.conditions);
  for (let index = 0; index < last; index++) {
    const type = await statements.prepare(index);
    if (type.statementType !== StatementType.CREATE) throw refused(`${quoted(sql)} is several statements`);
    await type.run();
  }
  const statement = await statements.prepare(last);
  if (statement.statementType === StatementType.SELECT) return statement;
  throw refused(`${quoted(sql)} is not a query but ${StatementType[statement.statementType]}`);
}

function refused(what: string) {
  return configError(
    'sql_refused',
    `${what}. SQL only reads the lake. Allowed: one SELECT (also WITH, FROM and PIVOT), DESCRIBE, SHOW, SUMMARIZE or VALUES, e.g. "SHOW TABLES". To save rows, use --output FILE with a SELECT; of several statements, run each by itself.`,
  );
}

const MAX_QUOTED = 60;

function quoted(sql: string): string {
  const text = sql.trim();
  return text.length > MAX_QUOTED ? `"${text.slice(0, MAX_QUOTED)}…"` : `"${text}"`;
}

/** Comments that end where a reader sees their end. */
const GAP = String.raw`(?:[\s;]|--[^\n\r]*[\n\r]|/\*[^*/]*\*/)*`;
/** The first word of a query that may contain a PIVOT. */
const QUERY = new RegExp(`^${GAP}(?:[(]|(?:PIVOT|PIVOT_WIDER|SELECT|FROM|WITH)\\b)`, 'i');

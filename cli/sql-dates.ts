/** Explains why `dt`, which is text, does not work as a date, and corrects the SQL: `day` is the same day as a DATE. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { BrandReportsError, configError } from '../shared/errors.ts';
import { prepareQuery } from './sql-statement.ts';

const COMPARISON = String.raw`(?:[<>=!]+|(?:NOT\s+)?(?:BETWEEN\b|IN\s*\())`;
const A_DATE = String.raw`(?:\b(?:DATE|TIMESTAMP)\s*'[^']*'|\bCURRENT_\w+|\))`;
/** Finds `dt` before a comparison with anything but a text, and after a comparison with a date. */
const COMPARED = String.raw`\bdt\b(?="?\s*${COMPARISON}\s*(?!'|\s))|(?<=${A_DATE}\s*[<>=!]+\s*(?:\w+\.)?"?)\bdt\b`;
/** Finds the words to replace, as few as possible, because `dt LIKE '2026-01%'` needs the text. */
const REPLACED = [new RegExp(COMPARED, 'gi'), /\bdt\b/gi];

/**
 * Adds the next step to the error of SQL that uses `dt` as a date.
 * @throws `thrown`, or a BrandReportsError `config` whose message has SQL that was tried
 */
export async function rethrowWithDay(
  connection: DuckDBConnection,
  sql: string,
  thrown: unknown,
): Promise<never> {
  if (!(thrown instanceof BrandReportsError) || !/^(Error: )?Binder Error/.test(thrown.message)) throw thrown;
  for (const pattern of REPLACED) {
    const corrected = sql.replace(pattern, 'day');
    if (corrected === sql || !(await prepareQuery(connection, corrected).catch(() => undefined))) continue;
    const message = `${thrown.message}\n\ndt is text (YYYY-MM-DD), and the column "day" is the same day as a DATE. This works: ${corrected}`;
    throw configError('sql', message);
  }
  throw thrown;
}

import {
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBType,
  DuckDBTypeId,
  type Json,
  ResultReturnType,
} from '@duckdb/node-api';
import { BrandReportsError, configError } from '../shared/base/errors.ts';
import { rawNumber } from '../shared/base/json.ts';
import { prepareQuery } from './sql-statement.ts';
import { tableLayout } from './text-table.ts';

/** A result in DuckDB's JSON form: integers beyond 2^53 and decimals are text with all their digits. */
export interface QueryResult {
  names: string[];
  types: DuckDBType[];
  /** DuckDB computes the rows while they are read, once: a result of millions of rows is never in memory. */
  blocks: AsyncIterable<Json[][]>;
  readRows: number;
}

/** @returns the SQL as a statement, if it is one query. @throws BrandReportsError `config` that explains the error */
export function prepared(connection: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
  return prepareQuery(connection, sql).catch(asSqlError);
}

/** @throws BrandReportsError `config`, like `prepared`; `blocks` may throw one, too */
export async function query(connection: DuckDBConnection, sql: string): Promise<QueryResult> {
  const statement = await prepared(connection, sql);
  const streamed = await statement.stream().catch(asSqlError);
  const types = streamed.columnTypes();
  // In JSON, the fields of such a row would replace each other.
  if (types.some((type) => /STRUCT\("" /.test(String(type))))
    throw configError('sql', "The fields of a row (a, b) have no names. Use {'a': a, 'b': b}, or columns.");
  const result: QueryResult = {
    names: streamed.deduplicatedColumnNames(),
    types,
    blocks: blocks(),
    readRows: 0,
  };
  return result;

  async function* blocks() {
    for await (const rows of streamed.yieldRowsJson()) {
      result.readRows += rows.length;
      yield rows;
    }
    if (streamed.returnType === ResultReturnType.INVALID) await rethrow(statement);
  }
}

/** A stream that fails ends like a complete one. DuckDB's client shows the error only if the query runs again. */
async function rethrow(statement: DuckDBPreparedStatement): Promise<never> {
  await statement.run().catch(asSqlError);
  const message = 'The query failed after its first rows, and not when it was repeated. Run it again.';
  throw configError('sql', message);
}

export function asSqlError(thrown: unknown): never {
  if (thrown instanceof BrandReportsError) throw thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  // Only the session's time limit interrupts.
  if (/INTERRUPT Error/.test(message))
    throw configError('sql', 'The SQL took too long and was ended. Select fewer days or columns.');
  const isOfDay = /Cannot (compare|mix) .*VARCHAR.*(DATE|TIMESTAMP)|(DATE|TIMESTAMP).*VARCHAR/.test(message);
  const next = '\ndt is text: compare the column day, which is a DATE, instead.';
  throw configError('sql', isOfDay ? message + next : message);
}

async function* jsonText(result: QueryResult): AsyncGenerator<string> {
  yield '[';
  let separator = '';
  for await (const row of resultObjects(result)) {
    yield separator + JSON.stringify(row);
    separator = ',';
  }
  yield ']\n';
}

/** JSON has no NaN and no Infinity: they stay text, as in a list. */
const DIGITS = /^-?\d/;

export async function* resultObjects({ names, types, blocks }: QueryResult): AsyncGenerator<object> {
  for await (const rows of blocks)
    for (const row of rows)
      yield Object.fromEntries(
        row.map((value, index) => [
          names[index] ?? '',
          typeof value === 'string' && isNumeric(types[index]) && DIGITS.test(value)
            ? rawNumber(value)
            : value,
        ]),
      );
}

const LAYOUT_ROWS = 1_000;

async function* tableText(result: QueryResult): AsyncGenerator<string> {
  let layout: ReturnType<typeof layoutOf> | undefined;
  for await (const rows of withLayoutRows(result.blocks)) {
    if (layout === undefined) {
      layout = layoutOf(result, rows);
      yield `${layout.head}\n`;
    }
    for (const row of rows) yield `${layout.line(row)}\n`;
  }
}

/** The same rows, but the first block has all rows that the layout needs. Without rows the first block is empty. */
async function* withLayoutRows(blocks: AsyncIterable<Json[][]>): AsyncGenerator<Json[][]> {
  let first: Json[][] | undefined = [];
  for await (const rows of blocks) {
    first = first?.concat(rows);
    if (first === undefined) yield rows;
    else if (first.length >= LAYOUT_ROWS) {
      yield first;
      first = undefined;
    }
  }
  if (first) yield first;
}

function layoutOf({ names, types }: QueryResult, rows: readonly Json[][]) {
  const scales = types.map(({ typeId }, index) =>
    typeId === DuckDBTypeId.DECIMAL
      ? rows.reduce((most, row) => Math.max(most, usedScale(row[index])), 0)
      : undefined,
  );
  const cellsOf = (row: readonly Json[]) => row.map((value, index) => cell(value, scales[index]));
  const columns = names.map((name, index) => ({
    name,
    align: isNumeric(types[index]) ? ('right' as const) : ('left' as const),
  }));
  const { head, line } = tableLayout(columns, rows.map(cellsOf));
  return { head, line: (row: readonly Json[]) => line(cellsOf(row)) };
}

function isNumeric(type: DuckDBType | undefined): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|FLOAT|DOUBLE|DECIMAL\(.*\))$/.test(String(type));
}

/** @param scale the decimal places that the column shows at least; missing: the value unchanged */
export function cell(value: Json | undefined, scale?: number): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'object') return JSON.stringify(value);
  if (scale === undefined) return String(value);
  const [whole = '', fraction = ''] = String(value).split('.');
  // A row after the rows of the layout may have more places.
  const places = Math.max(scale, usedScale(value));
  return places === 0 ? whole : `${whole}.${fraction.slice(0, places)}`;
}

function usedScale(value: Json | undefined): number {
  const [, places = ''] = typeof value === 'string' ? value.split('.') : [];
  return places.replace(/0+$/, '').length;
}

/** CSV by RFC 4180: NULL is an empty cell, the empty text `""`. A text with `=` first is exact, although spreadsheets run it. */
async function* csvText({ names, blocks }: QueryResult): AsyncGenerator<string> {
  yield `${names.map(csvCell).join(',')}\r\n`;
  for await (const rows of blocks) for (const row of rows) yield `${row.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: Json): string {
  if (value === null) return '';
  const text = cell(value);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const TEXTS = { table: tableText, csv: csvText, json: jsonText };

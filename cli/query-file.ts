/**
 * Writes the rows of a query to a file: text, a workbook or Parquet. It writes into a temporary folder beside the file, and
 * moves the file to its place when it is complete. A query that fails leaves the older file unchanged.
 */
import { createWriteStream, rmSync, statSync } from 'node:fs';
import { mkdtemp, realpath, rename } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type DuckDBConnection, type DuckDBType, DuckDBTypeId, type Json } from '@duckdb/node-api';
import { textOf } from '../shared/adapters/error-fields.ts';
import { configError } from '../shared/errors.ts';
import { shellWord } from '../shared/shell-word.ts';
import { count, joined } from './output.ts';
import { TEXTS } from './query-formats.ts';
import { DIGITS, type QueryResult, asSqlError, cell, isNumeric, prepared, query } from './query-result.ts';
import { literal } from './sql-tables.ts';

/** Formats by the ending of the file. */
const FORMATS = {
  '.csv': 'csv',
  '.json': 'json',
  '.parquet': 'parquet',
  '.xlsx': 'xlsx',
} as const;
type FileFormat = (typeof FORMATS)[keyof typeof FORMATS];

/** @throws BrandReportsError `config` if the ending is unknown, or belongs to another format than `wanted` */
export function fileFormat(file: string, wanted: string | undefined): FileFormat {
  const found = Object.entries(FORMATS).find(([ending]) => extname(file).toLowerCase() === ending)?.[1];
  if (found === undefined)
    throw badOutput(`${file} has no known ending. Allowed: ${Object.keys(FORMATS).join(', ')}.`);
  if (wanted === undefined || wanted === found) return found;
  throw badOutput(
    `The ending of ${file} means ${found}, but ${wanted} is requested as well. Leave --format and --json out.`,
  );
}

/**
 * Calls `write` with a path in an empty folder, and moves the file that `write` creates there to its place.
 * @throws BrandReportsError `config` if the place is in the lake, is a folder or does not exist
 */
export async function writeWhole<Result>(
  file: string,
  lakeFolder: string | undefined,
  write: (path: string) => Promise<Result>,
): Promise<Result> {
  const named = dirname(resolve(file));
  const parent = await realpath(named).catch(() => named);
  if (lakeFolder !== undefined && isInside(parent, await realpath(lakeFolder)))
    throw badOutput(`${file} is in the lake, whose files must not change. Choose another folder.`);
  const place = join(parent, basename(file));
  if (statSync(place, { throwIfNoEntry: false })?.isDirectory())
    throw badOutput(`${file} is a folder. Name a file in it.`);
  const folder = await mkdtemp(join(parent, '.brand-reports-')).catch((error: unknown) => {
    const next = `Make its folder, or choose another one: mkdir -p ${shellWord(named)}`;
    throw badOutput(`${file} cannot be written (${textOf(error, 'code')}). ${next}`);
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // The handler is removed by then, so the signal ends the process. An exit would wait until DuckDB ends its query.
  const interrupted = (signal: NodeJS.Signals) => {
    remove();
    process.kill(process.pid, signal);
  };
  process.once('exit', remove).once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const path = join(folder, 'rows');
    const result = await write(path);
    await rename(path, place);
    return result;
  } finally {
    process.off('exit', remove).off('SIGINT', interrupted).off('SIGTERM', interrupted);
    remove();
  }
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way.split(/[\\/]/, 1)[0] !== '..';
}

function badOutput(message: string) {
  return configError('bad_output', message);
}

/**
 * Runs the SQL and writes its rows to `path`. DuckDB writes only Parquet, and needs permission to write there.
 * @returns the number of rows. @throws BrandReportsError `config` for wrong SQL, or for rows that the format cannot contain
 */
export async function writeRows(
  connection: DuckDBConnection,
  sql: string,
  format: FileFormat,
  path: string,
): Promise<number> {
  if (format === 'parquet') return copyToParquet(connection, sql, path);
  const result = await query(connection, sql);
  const bytes = format === 'xlsx' ? await workbook(result) : Readable.from(joined(TEXTS[format](result)));
  await pipeline(bytes, createWriteStream(path, { flags: 'wx' }));
  return result.readRows;
}

/** The SQL is one query and is passed as an argument, so it cannot end the COPY around it. */
async function copyToParquet(connection: DuckDBConnection, sql: string, path: string): Promise<number> {
  await prepared(connection, sql);
  const rows = `FROM query(${literal(sql)})`;
  const described = await connection.runAndReadAll(`DESCRIBE ${rows}`).catch(asSqlError);
  // Parquet has no integer of 128 bits, the type of each sum: DuckDB would write a double and lose digits.
  const exact = described.getRowsJson().flatMap(([column, type]) => {
    const name = `"${cell(column, undefined).replaceAll('"', '""')}"`;
    const decimal = cell(type, undefined).replaceAll(/\bU?HUGEINT\b/g, 'DECIMAL(38,0)');
    return decimal === type ? [] : [`CAST(${name} AS ${decimal}) AS ${name}`];
  });
  const replaced = exact.length === 0 ? '' : `SELECT * REPLACE (${exact.join(', ')}) `;
  const copy = `COPY (${replaced}${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd)`;
  const copied = await connection.runAndReadAll(copy).catch(asSqlError);
  return Number(copied.getRows()[0]?.[0]);
}

/** More rows than a sheet can have continue on the next sheet. */
async function workbook({ names, types, blocks }: QueryResult): Promise<Readable> {
  const { writeXlsxStream } = await import('hucre/xlsx');
  const columns = names.map((name, index) => {
    const numFmt = DATE_FORMATS.get(types[index]?.typeId ?? DuckDBTypeId.INVALID);
    return { header: sheetText(name), ...(numFmt !== undefined && { numFmt }) };
  });
  return Readable.fromWeb(writeXlsxStream(sheetRows(), { name: 'query', columns, freezePane: { rows: 1 } }));

  async function* sheetRows() {
    for await (const rows of blocks)
      for (const row of rows) yield row.map((value, index) => sheetCell(value, types[index]));
  }
}

const DATE_FORMATS = new Map([
  [DuckDBTypeId.DATE, 'yyyy-mm-dd'],
  [DuckDBTypeId.TIMESTAMP, 'yyyy-mm-dd hh:mm:ss'],
]);
/** Spreadsheets disagree on times before March 1900, and keep no more than milliseconds. */
const SHEET_TIME = /^(?!1900-0[12])(19|[2-9]\d)\d\d-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,3})?)?$/;
/** The digits of a number that a spreadsheet keeps, and the UTF-16 units that a cell can have. */
const EXACT_DIGITS = 15;
const MAX_CELL_UNITS = 32_767;

/** Numbers and times keep their type if a spreadsheet keeps them exactly, else they are text. A text is never a formula. */
function sheetCell(value: Json, type: DuckDBType | undefined): string | number | boolean | Date | null {
  if (value === null || typeof value === 'boolean') return value;
  const text = cell(value, type?.typeId === DuckDBTypeId.DECIMAL ? 0 : undefined);
  const isFloat = type?.typeId === DuckDBTypeId.DOUBLE || type?.typeId === DuckDBTypeId.FLOAT;
  const isExact = isFloat || text.replaceAll(/^[-0.]+|\./g, '').length <= EXACT_DIGITS;
  if (isNumeric(type) && DIGITS.test(text) && isExact) return Number(text);
  if (type && DATE_FORMATS.has(type.typeId) && SHEET_TIME.test(text))
    return new Date(text.length > 10 ? `${text.replace(' ', 'T')}Z` : text);
  return sheetText(text);
}

/** The text for XML: without U+FFFE and U+FFFF, and without sequences that a spreadsheet reads as an escape. */
function sheetText(text: string): string {
  if (text.length > MAX_CELL_UNITS)
    throw badOutput(
      `A text of ${count(text.length)} characters does not fit into a cell of a sheet (32,767). Use .csv or .parquet, or leave its column out.`,
    );
  return text.replaceAll(/[\ufffe\uffff]/g, '\ufffd').replaceAll(/_x[0-9a-f]{4}_/gi, '_x005F$&');
}

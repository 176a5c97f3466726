/** A query writes beside the file, and the complete file replaces it: a query that fails leaves the older file unchanged. */
import { createWriteStream, rmSync, statSync } from 'node:fs';
import { mkdtemp, realpath, rename } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { textOf } from '../shared/adapters/error-fields.ts';
import { configError } from '../shared/base/errors.ts';
import { shellWord } from '../shared/base/shell-word.ts';
import { joined } from './output.ts';
import { TEXTS, asSqlError, cell, prepared, query } from './query-result.ts';
import { identifier, literal } from './sql-files.ts';
import { type SqlLake, createSqlConnection } from './sql-tables.ts';

const FORMATS = ['csv', 'json', 'parquet'] as const;

/** @throws BrandReportsError `config` if the ending of the file is none of the formats */
export function formatOfFile<Format extends string>(file: string, formats: readonly Format[]): Format {
  const found = formats.find((format) => extname(file).toLowerCase() === `.${format}`);
  if (found !== undefined) return found;
  throw badOutput(`${file} has no known ending. Allowed: .${formats.join(', .')}.`);
}

/** `write` gets a path in an empty folder. @throws BrandReportsError `config` if the place is in the lake, a folder or missing */
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

/** DuckDB writes only Parquet, with permission for its folder. @returns the number of rows. @throws BrandReportsError `config`, like `writeWhole` and `query` */
export async function writeRows(lake: SqlLake, sql: string, file: string): Promise<number> {
  const format = formatOfFile(file, FORMATS);
  return writeWhole(file, lake.store.localFolder, async (path) => {
    const connection = await createSqlConnection({ ...lake, outputFolder: dirname(path) }, sql);
    try {
      if (format === 'parquet') return await copyToParquet(connection, sql, path);
      const result = await query(connection, sql);
      const pieces = Readable.from(joined(TEXTS[format](result)));
      await pipeline(pieces, createWriteStream(path, { flags: 'wx' }));
      return result.readRows;
    } finally {
      connection.closeSync();
    }
  });
}

/** The SQL is one query and is passed as an argument, so it cannot end the COPY around it. */
async function copyToParquet(connection: DuckDBConnection, sql: string, path: string): Promise<number> {
  await prepared(connection, sql);
  const rows = `FROM query(${literal(sql)})`;
  const described = await connection.runAndReadAll(`DESCRIBE ${rows}`).catch(asSqlError);
  // Parquet has no integer of 128 bits, the type of each sum: DuckDB would write a double and lose digits.
  const exact = described.getRowsJson().flatMap(([column, type]) => {
    const name = identifier(cell(column));
    const decimal = cell(type).replaceAll(/\bU?HUGEINT\b/g, 'DECIMAL(38,0)');
    return decimal === type ? [] : [`CAST(${name} AS ${decimal}) AS ${name}`];
  });
  const replaced = exact.length === 0 ? '' : `SELECT * REPLACE (${exact.join(', ')}) `;
  const copy = `COPY (${replaced}${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd)`;
  const copied = await connection.runAndReadAll(copy).catch(asSqlError);
  return Number(copied.getRows()[0]?.[0]);
}

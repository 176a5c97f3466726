import { writeFile } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { badOutput, writeWhole } from './new-file.ts';
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

/** DuckDB writes only Parquet, with permission for its folder. @returns the number of rows. @throws BrandReportsError `config`, like `writeWhole` and `query` */
export async function writeRows(lake: SqlLake, sql: string, file: string): Promise<number> {
  const format = formatOfFile(file, FORMATS);
  return writeWhole(file, lake.store.localFolder, async (path) => {
    const connection = await createSqlConnection({ ...lake, outputFolder: dirname(path) }, sql);
    try {
      if (format === 'parquet') return await copyToParquet(connection, sql, path);
      const result = await query(connection, sql);
      await writeFile(path, joined(TEXTS[format](result)), { flag: 'wx' });
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

import { rm } from 'node:fs/promises';
import { type Column, DAY_PARTITION_KEYS, type Value, typeSpec } from '../shared/base/column-types.ts';
import { dayColumn } from '../shared/reports/views/typed-day.ts';
import { textOf } from '../shared/adapters/error-fields.ts';
import { configError } from '../shared/base/errors.ts';
import { printedCommand } from './printed-command.ts';
import type { SnapshotFiles } from './snapshot-cache.ts';

/** Receives statements: a connection of DuckDB, or a script. */
export interface SqlSession {
  run(sql: string): Promise<unknown>;
}

/** A session whose tables are empty until all views exist: DuckDB opens every file below a view that it creates. */
export interface EmptySession extends SqlSession {
  fills: (() => Promise<void>)[];
}

/** By key of an object: the path of its file. */
export type Paths = ReadonlyMap<string, string>;
export type TypedColumn = Pick<Column, 'name' | 'type'>;

export interface TableFile {
  key: string;
  /** `orders of acme, 2026-01-31` */
  what: string;
}

export async function pathsOf(files: SnapshotFiles, tableFiles: readonly TableFile[]): Promise<Paths> {
  const paths = await files.pathsOf(tableFiles.map(({ key }) => key));
  return new Map(tableFiles.map(({ key }, index) => [key, paths[index] ?? '']));
}

/** @param rowsOf gets at least one file @throws BrandReportsError `config` if one of the files cannot be read */
export async function createRelation(
  connection: EmptySession,
  { name, columns }: { name: string; columns: readonly TypedColumn[] },
  files: SnapshotFiles,
  tableFiles: readonly TableFile[],
  rowsOf: (paths: Paths) => string | undefined,
): Promise<void> {
  const day = dayColumn(columns.map((column) => column.name));
  const derived = day ? `, ${day.value} AS ${day.name}` : '';
  const names = columns.map((column) => identifier(column.name)).join(', ') + derived;
  const create = (paths: Paths) => {
    const rows = typedRows(columns, paths.size === 0 ? undefined : rowsOf(paths));
    return connection.run(`CREATE OR REPLACE VIEW ${identifier(name)} AS SELECT ${names} FROM ${rows}`);
  };
  const paths = await pathsOf(files, tableFiles);
  await create(new Map());
  connection.fills.push(async () => {
    // To do this, DuckDB opens each file.
    await create(paths).catch(orUnreadable(connection, files, tableFiles, paths));
  });
}

/** Rows in SQL with all columns: a select without rows gives every column its type, even one that no file has yet. */
export function typedRows(columns: readonly TypedColumn[], rows?: string): string {
  const empty = columns
    .map((column) => `NULL::${typeSpec(column.type).duckdb} AS ${identifier(column.name)}`)
    .join(', ');
  return `(${[`SELECT ${empty} WHERE false`, ...(rows === undefined ? [] : [rows])].join(' UNION ALL BY NAME ')})`;
}

/** Names the file that DuckDB could not read. */
export function orUnreadable(
  connection: SqlSession,
  { isCopied }: SnapshotFiles,
  tableFiles: readonly TableFile[],
  paths: Paths,
) {
  return async (thrown: unknown): Promise<never> => {
    for (const { key, what } of tableFiles) {
      const path = paths.get(key) ?? '';
      await connection
        .run(`SELECT 1 FROM read_parquet(${literal(path)}) LIMIT 0`)
        .catch(async (of: unknown) => {
          // A damaged copy must not outlive its object.
          if (isCopied) await rm(path, { force: true });
          const [why] = textOf(of, 'message').split('\n', 1);
          const next = `"${printedCommand('verify')}" shows what to do.`;
          throw configError('file_unreadable', `${what} cannot be read: ${why}. ${next}`);
        });
    }
    throw thrown;
  };
}

export const PARTITION_COLUMNS = textColumns(DAY_PARTITION_KEYS);

export function textColumns(names: readonly string[]) {
  return names.map((name) => ({ name, type: 'string' as const }));
}

export function rowsOfFiles(paths: Iterable<string>): string {
  const list = [...paths].map((path) => literal(path)).join(', ');
  const types = PARTITION_COLUMNS.map(({ name, type }) => `${literal(name)}: ${typeSpec(type).duckdb}`);
  return `SELECT * FROM read_parquet([${list}], hive_partitioning = true, hive_types = {${types.join(', ')}}, union_by_name = true)`;
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(value: Value | null | undefined): string {
  if (value === null || value === undefined) return 'NULL';
  if (value instanceof Date) return `TIMESTAMP '${value.toISOString().slice(0, -1).replace('T', ' ')}'`;
  if (typeof value !== 'string') return String(value);
  // DuckDB ends a statement at a NUL.
  const parts = value.split('\0').map((part) => `'${part.replaceAll("'", "''")}'`);
  return parts.length === 1 ? (parts[0] ?? '') : `(${parts.join(' || chr(0) || ')})`;
}

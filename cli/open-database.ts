/**
 * Writes the lake as one file that plain DuckDB opens: views over the files that the ledgers name now, and the tables
 * that follow from ledgers. The views have absolute paths of immutable files, so that all days switch at once when the
 * next file takes the place of this one. Whoever has the old file open goes on with it until they open it again.
 * A lake in S3 gets a script instead, because the right to read S3 belongs to a session. DuckDB is loaded when it is
 * used: most syncs write no such file.
 */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { textOf } from '../shared/adapters/error-fields.ts';
import { newId } from '../shared/adapters/new-id.ts';
import type { Lake } from '../shared/ports.ts';
import { reports } from '../shared/reports/index.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { shellWord } from '../shared/shell-word.ts';
import { note } from './output.ts';
import type { SqlLake, SqlSession } from './sql-tables.ts';
import { oneLine } from './terminal-text.ts';

/** The name of the database in every engine. */
const DATABASE = 'brand_reports';
/** The local store removes what a dead writer left there, after a day. */
const TEMPORARIES = '.tmp';
/** Read by DuckDB 1.0 and later, whatever version writes it. */
const STORAGE_VERSION = 'v1.0.0';

/** Where the file of a lake in this folder is. */
export function databaseFile(folder: string): string {
  return join(folder, `${DATABASE}.duckdb`);
}

/** Writes the file of a lake in this folder, and replaces the one before it in one step. @returns its path */
export async function writeDatabase(lake: SqlLake, folder: string): Promise<string> {
  const { createRelations, literal } = await import('./sql-tables.ts');
  const { snapshotFiles } = await import('./snapshot-cache.ts');
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const file = databaseFile(folder);
  const temporary = join(folder, TEMPORARIES, `${newId()}.duckdb`);
  await mkdir(join(folder, TEMPORARIES), { recursive: true });
  const instance = await DuckDBInstance.create(':memory:');
  try {
    const connection = await instance.connect();
    await connection.run(
      `ATTACH ${literal(temporary)} AS ${DATABASE} (STORAGE_VERSION '${STORAGE_VERSION}'); USE ${DATABASE}`,
    );
    await createRelations(connection, lake, snapshotFiles(lake.store), namesNone);
    // This moves everything from DuckDB's log into the file.
    await connection.run(`USE memory; DETACH ${DATABASE}`);
    // The log of a session that wrote into the old file: DuckDB would replay it into the new one.
    await rm(`${file}.wal`, { force: true });
    await rename(temporary, file);
  } finally {
    instance.closeSync();
    for (const path of [temporary, `${temporary}.wal`]) await rm(path, { force: true });
  }
  return file;
}

/**
 * After a command that publishes days: writes the file again if the lake has one. A failure is a warning, because the
 * days are published.
 */
export async function rewriteDatabase({ store }: Lake, settings: Settings | undefined): Promise<void> {
  const { localFolder } = store;
  if (localFolder === undefined || !existsSync(databaseFile(localFolder))) return;
  try {
    await writeDatabase({ store, reports, settings, nowMs: Date.now() }, localFolder);
  } catch (thrown) {
    const why = oneLine(textOf(thrown, 'message').split('\n', 1).join(''));
    note(
      `warning: ${oneLine(databaseFile(localFolder))} was not written again and shows the lake as it was before: ${why}. The days themselves are published. Next step: brand-reports open --lake ${shellWord(localFolder)}`,
    );
  }
}

/**
 * Writes the SQL that creates the same tables and views in a session of DuckDB, over a lake in S3.
 * @returns the path of the script
 */
export async function writeScript(lake: SqlLake): Promise<string> {
  const { createRelations, literal } = await import('./sql-tables.ts');
  const folder = lake.store.url;
  const statements = [
    'INSTALL httpfs; INSTALL aws; LOAD httpfs; LOAD aws',
    `CREATE OR REPLACE SECRET ${DATABASE} (TYPE s3, PROVIDER credential_chain, SCOPE ${literal(`${folder}/`)})`,
    `DROP SCHEMA IF EXISTS ${DATABASE} CASCADE; CREATE SCHEMA ${DATABASE}; USE ${DATABASE}`,
  ];
  const session: SqlSession = { run: async (sql) => statements.push(sql) };
  const pathsOf = async (keys: readonly string[]) => keys.map((key) => `${folder}/${key}`);
  await createRelations(session, lake, { folder, pathsOf }, namesNone);
  const file = `${DATABASE}.sql`;
  const temporary = `${file}.${newId()}`;
  await writeFile(temporary, `${statements.join(';\n')};\n`);
  await rename(temporary, file);
  return file;
}

/** SQL that names no table has all of them. */
function namesNone(): boolean {
  return false;
}

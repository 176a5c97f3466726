/**
 * The views have absolute paths of immutable files, so that all days switch at once when the next file replaces this one. A lake
 * in S3 gets a script, because the right to read S3 belongs to a session. DuckDB is loaded when it is used.
 */
import { existsSync, statSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeLakeFolder, removeFile } from '../shared/adapters/local/lake-folder.ts';
import { temporaryPath } from '../shared/adapters/local/store.ts';
import { newId } from '../shared/adapters/system-clock.ts';
import { asBrandReportsError } from '../shared/base/errors.ts';
import type { Lake } from '../shared/ports.ts';
import { reports } from '../shared/reports/index.ts';
import type { LakeSettings } from '../shared/settings/settings.ts';
import { note } from './output.ts';
import { printedCommand } from './printed-command.ts';
import type { SqlSession } from './sql-files.ts';
import type { SqlLake } from './sql-tables.ts';
import { oneLine } from './terminal-text.ts';

export function databaseFile(folder: string): string {
  return join(folder, 'brand_reports.duckdb');
}

/** If another writer replaces the file meanwhile, it may have read newer ledgers. */
const MAX_TRIES = 3;

/** Writes the database file of a lake in this folder, and replaces the previous file atomically. @returns its path */
export async function writeDatabase(lake: SqlLake, folder: string): Promise<string> {
  const file = databaseFile(folder);
  for (let tries = 1; !(await replaced(lake, file, tries === MAX_TRIES)); tries += 1);
  return file;
}

/** @returns whether this call replaced the file; another writer prevents that unless `isLast` */
async function replaced(lake: SqlLake, file: string, isLast: boolean): Promise<boolean> {
  const { createRelations } = await import('./sql-tables.ts');
  const { literal } = await import('./sql-files.ts');
  const { snapshotFiles } = await import('./snapshot-cache.ts');
  const { openSession } = await import('./sql-session.ts');
  const changed = () => statSync(file, { throwIfNoEntry: false })?.ctimeMs;
  const before = changed();
  const folder = dirname(file);
  makeLakeFolder(folder);
  // After a day, the local store removes files that a dead writer has left there.
  const temporary = temporaryPath(folder, `${newId()}.duckdb`);
  const connection = await openSession([folder]);
  try {
    // Every DuckDB from 1.0 on reads this format, no matter which version writes it.
    const options = "STORAGE_VERSION 'v1.0.0'";
    await connection.run(`ATTACH ${literal(temporary)} AS brand_reports (${options}); USE brand_reports`);
    await createRelations(connection, lake, snapshotFiles(lake.store));
    // This moves everything from DuckDB's write-ahead log into the file.
    await connection.run('USE memory; DETACH brand_reports');
    if (changed() !== before && !isLast) return false;
    // The write-ahead log of a session on the old file: DuckDB would replay it into the new file.
    removeFile(`${file}.wal`);
    await rename(temporary, file);
  } finally {
    connection.closeSync();
    for (const name of [basename(temporary), `${basename(temporary)}.wal`])
      removeFile(temporaryPath(folder, name));
  }
  return true;
}

/** A failure is only a warning, because the days are published. @returns `false` if the file shows an older state */
export async function rewriteDatabase({ store }: Lake, settings: LakeSettings | undefined): Promise<boolean> {
  const { localFolder: folder } = store;
  if (folder === undefined || !existsSync(databaseFile(folder))) return true;
  try {
    // The status of the brand has its roles without a field.
    await writeDatabase({ store, reports, settings, nowMs: Date.now(), onGap: () => {} }, folder);
    return true;
  } catch (thrown) {
    const old = `${databaseFile(folder)} could not be replaced and shows an older state of the lake`;
    const next = `Next step: ${printedCommand('open', [], { lake: folder })}`;
    note(oneLine(`warning: ${old}: ${asBrandReportsError(thrown).message}. ${next}`));
    return false;
  }
}

export async function scriptOf(lake: SqlLake): Promise<string> {
  const { createRelations } = await import('./sql-tables.ts');
  const { literal } = await import('./sql-files.ts');
  const folder = lake.store.url;
  const statements = [
    'INSTALL httpfs; INSTALL aws; LOAD httpfs; LOAD aws',
    `CREATE OR REPLACE SECRET brand_reports (TYPE s3, PROVIDER credential_chain, SCOPE ${literal(`${folder}/`)})`,
    'DROP SCHEMA IF EXISTS brand_reports CASCADE; CREATE SCHEMA brand_reports; USE brand_reports',
  ];
  const session: SqlSession = { run: async (sql) => statements.push(sql) };
  const pathsOf = async (keys: readonly string[]) => keys.map((key) => `${folder}/${key}`);
  await createRelations(session, lake, { folder, isCopied: false, pathsOf });
  return `${statements.join(';\n')};\n`;
}

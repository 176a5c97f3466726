import { existsSync } from 'node:fs';
import { textOf } from '../../shared/adapters/error-fields.ts';
import { configError } from '../../shared/errors.ts';
import { shellWord } from '../../shared/shell-word.ts';
import { replaceFile } from '../new-file.ts';
import { databaseFile, scriptOf, writeDatabase } from '../open-database.ts';
import type { CliCommand, SharedFlags } from '../options.ts';
import { print } from '../output.ts';
import { sqlLake } from '../run-options.ts';
import { styleText } from '../terminal-text.ts';

const SCRIPT = 'brand_reports.sql';

export function addOpen(program: CliCommand): void {
  program
    .command('open')
    .description('write a DuckDB file over the lake, for notebooks and BI tools')
    .takes('lake', 'settings')
    .example(
      'open',
      `The file is brand_reports.duckdb in the folder of the lake; every later sync, rollback, rebuild and verify --restore replaces it.
For a lake in S3 it is ${SCRIPT} in this folder, which only this command replaces.`,
    )
    .action(async (flags: SharedFlags) => {
      const lake = await sqlLake(flags);
      const { localFolder: folder } = lake.store;
      if (folder === undefined) {
        await replaceFile(SCRIPT, await scriptOf(lake));
        return print(SCRIPT_TEXT);
      }
      const isOld = existsSync(databaseFile(folder));
      const file = await writeDatabase(lake, folder).catch((error: unknown) => {
        const code = textOf(error, 'code');
        if (!/^E[A-Z]+$/.test(code)) throw error;
        const message = `${databaseFile(folder)} cannot be written (${code}). Make the folder of the lake writable, remove any other file of that name, then run open again.`;
        throw configError('database_unwritable', message);
      });
      print(databaseText(file, isOld));
    });
}

function databaseText(file: string, isOld: boolean): string {
  return `${styleText('green', isOld ? 'written again' : 'written')}: ${file}

DuckDB
  duckdb -readonly ${shellWord(file)} "FROM orders_daily"
Python, a notebook
  duckdb.connect(${JSON.stringify(file)}, read_only=True).sql("FROM orders_daily")
Metabase, DBeaver, dbt and others: docs/how-to/open-in-bi-tools.md

Every later sync replaces the file; a tool that has it open sees the new one when it connects again.
Open it for reading only: the next sync drops what you write into it.
Its paths are absolute: after you move the lake, run this command again.`;
}

const SCRIPT_TEXT = `${styleText('green', 'written')}: ${SCRIPT}

DuckDB, with your AWS credentials (environment, profile or role)
  duckdb -init ${SCRIPT}

After a sync, run this command again: the script names the files that are current now, and those of
replaced versions are deleted after "snapshotRetentionDays".`;

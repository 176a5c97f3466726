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
        return print(
          `${styleText('green', 'written')}: ${SCRIPT}\nNext: duckdb -init ${SCRIPT}, with your AWS credentials. After a sync, run this command again.`,
        );
      }
      const isOld = existsSync(databaseFile(folder));
      const file = await writeDatabase(lake, folder).catch((error: unknown) => {
        const code = textOf(error, 'code');
        if (!/^E[A-Z]+$/.test(code)) throw error;
        const message = `${databaseFile(folder)} cannot be written (${code}). Make the folder of the lake writable, remove any other file of that name, then run open again.`;
        throw configError('database_unwritable', message);
      });
      print(
        `${styleText('green', isOld ? 'written again' : 'written')}: ${file}\nNext: duckdb -readonly ${shellWord(file)} "FROM orders_daily". Other tools: docs/how-to/open-in-bi-tools.md`,
      );
    });
}

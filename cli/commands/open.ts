import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { textOf } from '../../shared/adapters/error-fields.ts';
import { configError } from '../../shared/base/errors.ts';
import { shellWord } from '../../shared/base/shell-word.ts';
import { writeWhole } from '../new-file.ts';
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
        const script = await scriptOf(lake);
        await writeWhole(SCRIPT, undefined, (path) => writeFile(path, script));
        const next = `duckdb -init ${SCRIPT}, with your AWS credentials. After a sync, run this command again`;
        return print(`${styleText('green', 'written')}: ${SCRIPT}\nNext: ${next}.`);
      }
      const isOld = existsSync(databaseFile(folder));
      const file = await writeDatabase(lake, folder).catch((error: unknown) => {
        const code = textOf(error, 'code');
        if (!/^E[A-Z]+$/.test(code)) throw error;
        const message = `${databaseFile(folder)} cannot be written (${code}). Make its folder writable, or remove what else has that name.`;
        throw configError('database_unwritable', message);
      });
      const done = styleText('green', isOld ? 'written again' : 'written');
      print(`${done}: ${file}\nNext: duckdb -readonly ${shellWord(file)} "FROM orders_daily"`);
    });
}

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import { reports } from '../../shared/reports/index.ts';
import { shellWord } from '../../shared/shell-word.ts';
import { databaseFile, writeDatabase, writeScript } from '../open-database.ts';
import { environmentOption, lakeOption, settingsOption } from '../options.ts';
import { print } from '../output.ts';
import { readSettingsIfAny } from '../run-options.ts';
import { styleText } from '../terminal-text.ts';

interface OpenFlags {
  lake: string;
  settings: string;
  environment?: string;
}

export function addOpen(program: Command): void {
  const command = program.command('open');
  command
    .description(
      'write a DuckDB database over the current files of the lake, and show how other tools open it',
    )
    .addOption(lakeOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addHelpText(
      'after',
      `
The file is brand_reports.duckdb in the folder of the lake; every later sync, rollback, rebuild and repair replaces it.
For a lake in S3 it is the script brand_reports.sql in this folder, which is not replaced.

Example:
  $ brand-reports open`,
    )
    .action(async (flags: OpenFlags) => {
      // Only coverage.next_due needs settings.
      const settings = await readSettingsIfAny(command, flags);
      const { store } = await openLake(flags.lake);
      const lake = { store, reports, settings, nowMs: Date.now() };
      const { localFolder } = store;
      if (localFolder === undefined) return print(scriptText(await writeScript(lake)));
      if (!existsSync(localFolder)) throw noLake(localFolder);
      const isOld = existsSync(databaseFile(localFolder));
      print(databaseText(await writeDatabase(lake, localFolder), isOld));
    });
}

function noLake(folder: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'no_lake',
    `There is no lake in ${folder}. Run "brand-reports sync" first, or name the folder of a lake with --lake.`,
  );
}

/** @param file absolute */
function databaseText(file: string, isOld: boolean): string {
  // As JSON it is also a text of Python and of YAML.
  const quoted = JSON.stringify(file);
  const attach = `ATTACH '${file.replaceAll("'", "''")}' (READ_ONLY); USE brand_reports`;
  return `${styleText('green', isOld ? 'written again' : 'written')}: ${file}

DuckDB
  duckdb -readonly ${shellWord(file)} "FROM orders_daily"
DuckDB's UI
  duckdb -cmd ${shellWord(attach)} -ui
Python, a notebook
  import duckdb
  duckdb.connect(${quoted}, read_only=True).sql("FROM orders_daily")
DBeaver and other tools with JDBC: this URL, with the driver property duckdb.read_only = true
  jdbc:duckdb:${file}
Metabase with its DuckDB driver: this database file, and "Establish a read-only connection"
  ${file}
dbt with dbt-duckdb: profiles.yml
  brand_reports:
    target: dev
    outputs:
      dev:
        type: duckdb
        path: dbt.duckdb
        attach:
          - {path: ${quoted}, alias: brand_reports, read_only: true}

Every later sync replaces the file; a tool that has it open sees the new one when it connects again.
Open it for reading only: the next sync drops what you write into it.
Its paths are absolute: after you move the lake, run this command again.`;
}

function scriptText(file: string): string {
  return `${styleText('green', 'written')}: ${file}

DuckDB, with your AWS credentials (environment, profile or role)
  duckdb -init ${file}
Python, a notebook
  import duckdb
  session = duckdb.connect()
  session.execute(open("${file}").read())
  session.sql("FROM orders_daily")

The script names the files that are current now. After a sync, run this command again: the files of
replaced versions are deleted after "snapshotRetentionDays".`;
}

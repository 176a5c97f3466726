import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { freshness } from '../../shared/catalog/freshness.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import { readSettings } from '../run-options.ts';
import { environmentOption, jsonOption, lakeOption, settingsOption } from '../options.ts';
import { counted, note, print, printJson } from '../output.ts';
import { resultObjects, resultTable, query } from '../query-result.ts';
import { createSqlConnection } from '../sql-tables.ts';
import { terminalColumns } from '../text-table.ts';

interface QueryFlags {
  lake: string;
  settings: string;
  environment?: string;
  json?: boolean;
}

export function addQuery(program: Command): void {
  const command = program.command('query');
  command
    .description('answer SQL (DuckDB) on the current snapshots, by table and view name')
    .argument('<sql>', 'e.g. "SELECT * FROM orders_daily"')
    .addOption(lakeOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addOption(jsonOption('print the rows as one JSON list of objects'))
    .addHelpText('after', helpText)
    .action(async (sql: string, flags: QueryFlags) => {
      const isDefault = command.getOptionValueSource('settings') === 'default';
      // Only next_due rests on settings: a lake alone is enough to be asked.
      const settings =
        isDefault && flags.environment === undefined && !existsSync(flags.settings)
          ? undefined
          : await readSettings(flags);
      const { store } = openLake(flags.lake);
      const connection = await createSqlConnection({ store, reports, settings, nowMs: Date.now() }, sql);
      const answer = await query(connection, sql).catch(refused);
      connection.closeSync();
      if (answer instanceof Error) {
        note(`error: ${answer.message}`);
        if (flags.json)
          printJson({ status: 'failed', error: { kind: 'config', code: 'sql', message: answer.message } });
        process.exitCode = EXIT.failed;
      } else if (flags.json) {
        printJson(resultObjects(answer));
      } else {
        print(resultTable(answer, terminalColumns()));
        note(`(${counted(answer.rows.length, 'row')})`);
      }
    });
}

function refused(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function helpText(): string {
  const all = Object.values(reports);
  const lines = all.flatMap(({ table, description, views }) => [
    [table, description],
    ...views.map((view) => [view.name, view.description]),
  ]);
  const wide = Math.max(...lines.map(([name = '']) => name.length));
  const listed = [
    ...lines,
    ['coverage', 'one row a day of each report: rows, state, read from and to'],
    [freshness.name, freshness.description],
  ];
  return `
Tables and views:
${listed.map(([name = '', what]) => `  ${name.padEnd(wide)}  ${what}`).join('\n')}

Example:
  $ brand-reports query "SELECT dt, status, orders, amount FROM orders_daily ORDER BY dt DESC"`;
}

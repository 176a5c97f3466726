import type { Command } from 'commander';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { changeViews, changesTable } from '../../shared/history/index.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { schemaChangesTable } from '../../shared/catalog/schema-changes.ts';
import { freshness } from '../../shared/catalog/freshness.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import { errorSummary } from '../../shared/outcome.ts';
import type { View } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { EXIT } from '../exit-codes.ts';
import { readSettingsIfAny } from '../run-options.ts';
import { asOfOption, environmentOption, jsonOption, lakeOption, settingsOption } from '../options.ts';
import { counted, note, printJson, printPieces } from '../output.ts';
import { jsonText, query, tableText } from '../query-result.ts';
import { createSqlConnection } from '../sql-tables.ts';
import { terminalColumns } from '../text-table.ts';

interface QueryFlags {
  lake: string;
  settings: string;
  environment?: string;
  asOf?: number;
  json?: boolean;
}

export function addQuery(program: Command): void {
  const command = program.command('query');
  command
    .description('run SQL (DuckDB) on the data of the lake, as it is or as it was')
    .argument('<sql>', 'e.g. "SELECT * FROM orders_daily"')
    .addOption(lakeOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addOption(asOfOption())
    .addOption(jsonOption('print the rows as one JSON array of objects'))
    .addHelpText('after', helpText)
    .action(async (sql: string, flags: QueryFlags) => {
      // Only coverage.next_due needs settings: without a settings file the lake alone can be queried.
      const settings = await readSettingsIfAny(command, flags);
      const { store } = await openLake(flags.lake);
      const asOf = flags.asOf === undefined ? {} : { asOfMs: flags.asOf };
      const connection = await createSqlConnection(
        { store, reports, settings, nowMs: Date.now(), ...asOf },
        sql,
      );
      try {
        const result = await query(connection, sql);
        await printPieces(flags.json ? jsonText(result) : tableText(result, terminalColumns()));
        const then = flags.asOf === undefined ? '' : ` as of ${new Date(flags.asOf).toISOString()}`;
        if (!flags.json) note(`(${counted(result.readRows, 'row')}${then})`);
      } catch (thrown) {
        if (!(thrown instanceof BrandReportsError)) throw thrown;
        note(`error: ${thrown.message}`);
        if (flags.json) printJson({ status: 'failed', error: errorSummary(thrown) });
        process.exitCode = EXIT.failed;
      } finally {
        connection.closeSync();
      }
    });
}

function helpText(): string {
  const all = Object.values(reports);
  const tables: (readonly [name: string, description: string])[] = [
    ...all.map(({ table, description }) => [table, description] as const),
    [coverageTable.name, 'One row per brand, report and day: its state, rows, and when it was read'],
    [schemaChangesTable.name, 'Fields that came, went or changed: one row per brand, report, day and column'],
    [changesTable.name, 'What later readings changed on closed days: one row per fact, see docs/changes.md'],
    [
      '…_versions',
      'Of any table: the rows of every version that is kept, with _snapshot, _valid_from and _valid_to',
    ],
  ];
  const views = [...all.flatMap((report) => report.views), freshness, ...changeViews(reports)];
  return `
Tables:
${listed(tables, '  ')}

Views and their columns:
${views.map(viewText).join('\n')}

Example:
  $ brand-reports query "SELECT publisher_id, currency, sum(clicks), sum(orders), sum(commission) FROM publisher_performance GROUP BY publisher_id, currency"
  $ brand-reports query --as-of -7d "SELECT status, count(*) FROM orders GROUP BY status"`;
}

function viewText({ name, description, columns }: View): string {
  const described = columns.map(([column, , text]) => [column, text] as const);
  return `  ${name}: ${description}\n${listed(described, '    ')}`;
}

function listed(lines: readonly (readonly [name: string, description: string])[], indent: string): string {
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, description]) => `${indent}${name.padEnd(width)}  ${description}`).join('\n');
}

import type { Command } from 'commander';
import { QUERY_RESULTS_PREFIX } from '../../shared/lake/paths.ts';
import { readLedgers, readSchema } from '../../shared/lake/documents/read.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { type ContractSource, contractOf } from '../contract.ts';
import { databaseFile } from '../open-database.ts';
import { databaseOption, environmentOption, lakeOption, settingsOption } from '../options.ts';
import { print } from '../output.ts';
import { type RunFlags, openExistingLake, readSettingsIfAny, reportNamed } from '../run-options.ts';

export function addContract(program: Command): void {
  const command = program.command('contract');
  command
    .description(
      'print the data contract of tables: columns, keys, roles, and when days are complete (ODCS 3.1, YAML)',
    )
    .argument('[table...]', 'reports or their tables, e.g. orders (default: every table)')
    .addOption(lakeOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addOption(databaseOption())
    .addHelpText(
      'after',
      `
The promise of each brand follows from the settings: without a settings file the contract has no service level.

Example:
  $ brand-reports contract orders > orders.odcs.yaml`,
    )
    .action(
      async (
        names: readonly string[],
        flags: Pick<RunFlags, 'lake' | 'settings' | 'environment' | 'database'>,
      ) => {
        const settings = await readSettingsIfAny(command, flags);
        const { store } = await openExistingLake(flags.lake);
        const ledgers = await readLedgers(store, reports, {}, Date.now());
        const server = serverOf(store, flags.database);
        const chosen = names.length > 0 ? [...new Set(names.map(reportNamed))] : Object.values(reports);
        const { stringify } = await import('yaml');
        for (const report of chosen) {
          const own = ledgers.filter((each) => each.report === report);
          const schema = await readSchema(store, report);
          const contract = contractOf({ report, schema, own, settings, server });
          // A document begins with `---`, so that those of several tables can follow each other.
          print(`---\n${stringify(contract, QUOTED).trimEnd()}`);
        }
      },
    );
}

/** Only in double quotes does YAML read what `print` makes of a character that steers a terminal. */
const QUOTED = {
  defaultStringType: 'QUOTE_DOUBLE',
  defaultKeyType: 'PLAIN',
  lineWidth: 0,
  aliasDuplicateObjects: false,
} as const;

/** @param database of Glue; missing: the one that a deployment creates by default */
function serverOf({ url, localFolder }: ObjectStore, database = 'brand_reports'): ContractSource['server'] {
  if (localFolder === undefined) {
    const stagingDir = `${url}/${QUERY_RESULTS_PREFIX}`;
    return {
      server: 'athena',
      type: 'athena',
      catalog: 'awsdatacatalog',
      schema: database,
      stagingDir,
    };
  }
  const description = 'The database that "brand-reports open" writes';
  return {
    server: 'duckdb',
    type: 'duckdb',
    database: databaseFile(localFolder),
    schema: 'main',
    description,
  };
}

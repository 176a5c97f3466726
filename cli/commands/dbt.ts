import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Argument, type Command } from 'commander';
import { textOf } from '../../shared/adapters/error-fields.ts';
import { rolesInLake } from '../../shared/catalog/view-roles.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import { readSchema, readWantedLedgers } from '../../shared/lake/documents/read.ts';
import { reports } from '../../shared/reports/index.ts';
import { shellWord } from '../../shared/shell-word.ts';
import { dbtProject } from '../dbt/project.ts';
import { writeNew } from '../new-file.ts';
import { writeDatabase } from '../open-database.ts';
import { environmentOption, lakeOption, settingsOption } from '../options.ts';
import { print } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { type RunFlags, openExistingLake, readSettingsIfAny } from '../run-options.ts';

export function addDbt(program: Command): void {
  const command = program.command('dbt');
  command
    .description('write a dbt project for the tables, columns and roles of the lake; overwrites nothing')
    .addArgument(new Argument('<action>', 'what to do').choices(['init']))
    .argument('<folder>', 'a new or an empty folder for the project')
    .addOption(lakeOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addHelpText(
      'after',
      `
The project works on Athena and, for a lake in a folder, on DuckDB. It knows the columns and roles that the lake has now.

Example:
  $ brand-reports dbt init dbt-project`,
    )
    .action(
      async (_action: string, folder: string, flags: Pick<RunFlags, 'lake' | 'settings' | 'environment'>) => {
        const settings = await readSettingsIfAny(command, flags);
        const { store } = await openExistingLake(flags.lake);
        const all = Object.values(reports);
        const ledgers = await readWantedLedgers(store, reports, () => false);
        if (ledgers.length === 0)
          throw new BrandReportsError(
            'config',
            'no_days',
            `${store.url} has no day yet. Name --lake, or run ${printedCommand('sync')} first.`,
          );
        const columns = await Promise.all(
          all.map(async (report) => [report.table, (await readSchema(store, report)).columns] as const),
        );
        await makeEmptyFolder(folder);
        const { localFolder } = store;
        const lake = { store, reports, settings, nowMs: Date.now() };
        const project = dbtProject({
          reports,
          columns: new Map(columns),
          roles: rolesInLake(ledgers, all, settings),
          read: new Set(ledgers.map(({ report }) => report.name)),
          database: localFolder === undefined ? undefined : await writeDatabase(lake, localFolder),
        });
        for (const [path, text] of project) {
          await mkdir(dirname(join(folder, path)), { recursive: true });
          await writeNew(join(folder, path), text);
        }
        print(`Written: ${project.size} files in ${folder}
Next: cd ${shellWord(folder)} && dbt build`);
      },
    );
}

/** @throws BrandReportsError `config` if the folder has files or cannot be made */
async function makeEmptyFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    if ((await readdir(folder)).length === 0) return;
  } catch (thrown) {
    throw placeTaken(`${folder} cannot be made (${textOf(thrown, 'code')}). Choose another place.`);
  }
  throw placeTaken(`${folder} has files and is not overwritten. Name a new or an empty folder.`);
}

function placeTaken(message: string): BrandReportsError {
  return new BrandReportsError('config', 'place_taken', message);
}

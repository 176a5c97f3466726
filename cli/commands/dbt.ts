import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Argument } from 'commander';
import { textOf } from '../../shared/adapters/error-fields.ts';
import { tableRoles } from '../../shared/catalog/view-roles.ts';
import { MINUTE_MS } from '../../shared/base/days.ts';
import { configError } from '../../shared/base/errors.ts';
import { settingsInUse } from '../../shared/lake/brand-settings.ts';
import { readLedgers, readSchema } from '../../shared/lake/read.ts';
import { gracePeriodMs } from '../../shared/planning/day-state.ts';
import type { Policy } from '../../shared/planning/due.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import { reports } from '../../shared/reports/index.ts';
import { shellWord } from '../../shared/base/shell-word.ts';
import { dbtProject } from '../dbt/project.ts';
import { writeNew } from '../new-file.ts';
import { writeDatabase } from '../open-database.ts';
import type { CliCommand, SharedFlags } from '../options.ts';
import { note, print } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { gapNotes } from '../role-notes.ts';
import { sqlLake } from '../run-options.ts';
import { oneLine } from '../terminal-text.ts';

export function addDbt(program: CliCommand): void {
  program
    .command('dbt')
    .description('write a dbt project for the tables of the lake')
    .addArgument(new Argument('<action>', 'what to do').choices(['init']))
    .argument('<folder>', 'a new or an empty folder for the project')
    .takes('lake', 'settings')
    .example('dbt init dbt-project')
    .action((_action: string, folder: string, flags: SharedFlags) => writeProject(folder, flags));
}

async function writeProject(folder: string, flags: SharedFlags): Promise<void> {
  const lake = await sqlLake(flags);
  const { store } = lake;
  const all = Object.values(reports);
  const ledgers = await readLedgers(store, reports);
  if (ledgers.length === 0)
    throw refused(`${store.url} has no day yet. Name --lake, or run ${printedCommand('sync')} first.`);
  const { settings, notes } = settingsInUse(ledgers, lake.settings, lake.settingsFile);
  const columnsOf = all.map(
    async (report) => [report.table, (await readSchema(store, report)).columns] as const,
  );
  const columns = new Map(await Promise.all(columnsOf));
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw refused(`${folder} cannot be made (${textOf(error, 'code')}). Choose another place.`);
  });
  if ((await readdir(folder)).length > 0)
    throw refused(`${folder} has files and is not overwritten. Name a new or an empty folder.`);
  const { localFolder } = store;
  const silent = { ...lake, onGap: () => {} };
  const database = localFolder === undefined ? undefined : await writeDatabase(silent, localFolder);
  const policies = ledgers.map(({ brand, report }) => enabledPolicy(settings, brand, report));
  const expected = ledgers.filter((_, index) => !settings || policies[index]);
  const read = new Set(expected.map(({ report }) => report.name));
  const roles = tableRoles(all, settings, ledgers);
  for (const { text } of notes) note(oneLine(`note: ${text}`));
  for (const line of gapNotes(ledgers, reports, roles, () => true)) note(line);
  const files = dbtProject({ reports, columns, roles, read, graceHours: graceHours(policies), database });
  for (const [path, text] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeNew(join(folder, path), text);
  }
  print(`Written: ${files.size} files in ${folder}\nNext: cd ${shellWord(folder)} && dbt build`);
}

/** 12 hours until a day in UTC has ended in every zone, and the hours that the settings allow for reading it, at least 3. */
function graceHours(policies: readonly (Policy | undefined)[]): number {
  const minutes = policies.map((policy) =>
    policy ? policy.lateMinutes + gracePeriodMs(policy) / MINUTE_MS : 0,
  );
  return 12 + Math.max(3, ...minutes.map((each) => Math.ceil(each / 60)));
}

function refused(message: string) {
  return configError('no_dbt_project', message);
}

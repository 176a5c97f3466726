import { styleText } from 'node:util';
import type { Command } from 'commander';
import { rethrowBugs } from '../../shared/errors.ts';
import { newId } from '../../shared/adapters/new-id.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { type DamagedDocument, type RepairOutcome, repairLake } from '../../shared/operations/repair.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { EXIT } from '../exit-codes.ts';
import { DEFAULT_SETTINGS, databaseOption, environmentOption, jsonOption, lakeOption } from '../options.ts';
import { counted, print, printJson } from '../output.ts';
import { readSettings } from '../run-options.ts';
import { oneLine } from '../terminal-text.ts';

interface RepairFlags {
  lake: string;
  database?: string;
  settings?: string;
  environment?: string;
  apply?: boolean;
  json?: boolean;
}

export function addRepair(program: Command): void {
  program
    .command('repair')
    .description('find documents of the lake that cannot be parsed; changes nothing without --apply')
    .addOption(lakeOption())
    .addOption(databaseOption())
    .option(
      '--settings <file>',
      `the settings: with them raw records prove how days were read (default: ${DEFAULT_SETTINGS}, if it is there)`,
    )
    .addOption(environmentOption())
    .option('--apply', 'make them again from what is left elsewhere; the damaged bytes are copied first')
    .addOption(jsonOption('print what was found and done as one JSON document'))
    .addHelpText('after', '\nExample:\n  $ brand-reports repair\n  $ brand-reports repair --apply')
    .action(async ({ lake, database, apply = false, json, ...flags }: RepairFlags) => {
      const settings = await settingsIfAny(flags);
      const outcome = await repairLake({
        ...(settings && { settings }),
        lake: await openLake(lake, database === undefined ? {} : { database }),
        reports,
        clock: systemClock(),
        log: () => {},
        random: Math.random,
        newId,
        apply,
      });
      if (json) printJson(outcome);
      else print(repairText(outcome, apply));
      process.exitCode = outcome.status === 'damaged' ? EXIT.failed : EXIT.complete;
    });
}

/** A lake can be repaired without settings; those that are named have to be there. */
async function settingsIfAny({
  settings,
  environment,
}: Pick<RepairFlags, 'settings' | 'environment'>): Promise<Settings | undefined> {
  const isNamed = settings !== undefined || environment !== undefined;
  try {
    return await readSettings({
      settings: settings ?? DEFAULT_SETTINGS,
      ...(environment !== undefined && { environment }),
    });
  } catch (thrown) {
    if (isNamed || rethrowBugs(thrown).kind !== 'config') throw thrown;
    return undefined;
  }
}

function repairText({ status, documents }: RepairOutcome, apply: boolean): string {
  if (status === 'ok') return `${styleText('green', 'ok')}: every document can be parsed`;
  const damaged = `${counted(documents.length, 'document')} cannot be parsed`;
  const repaired = `${styleText('green', 'repaired')}: run sync now`;
  const left = apply
    ? `${styleText('red', 'failed')}: see what is marked ✗, then repair again`
    : `${styleText('red', 'damaged')}: nothing was changed. Do what is proposed with: brand-reports repair --apply`;
  return [damaged, ...documents.map(documentText), status === 'repaired' ? repaired : left].join('\n\n');
}

function documentText({ key, problem, remedy, outcome, copy, notes }: DamagedDocument): string {
  const isRepaired = outcome === 'repaired';
  const mark = isRepaired ? styleText('green', '✓') : styleText('red', '✗');
  return [
    `${mark} ${styleText('bold', oneLine(key))}`,
    `    wrong: ${oneLine(problem)}`,
    `    ${isRepaired ? 'done' : 'proposed'}: ${remedy}`,
    ...(copy === undefined ? [] : [`    copy of the damaged bytes: ${oneLine(copy)}`]),
    ...notes.map((note) => `    ${oneLine(note)}`),
  ].join('\n');
}

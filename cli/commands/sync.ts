import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { DayOutcome, ReportOutcome, SyncOutcome } from '../../shared/outcome.ts';
import { type RunOptions, runSync } from '../../shared/run.ts';
import { EXIT } from '../exit-codes.ts';
import { type RunFlags, createRunOptions } from '../run-options.ts';
import {
  brandOption,
  credentialsOption,
  databaseOption,
  fromOption,
  jsonOption,
  lakeOption,
  nowOption,
  seconds,
  environmentOption,
  settingsOption,
  toOption,
} from '../options.ts';
import { count, print, printJson } from '../output.ts';
import { showProgress } from '../progress-line.ts';
import { gracefulShutdown } from '../graceful-shutdown.ts';
import { table, terminalColumns } from '../text-table.ts';

interface SyncFlags extends RunFlags {
  maxSeconds?: number;
  json?: boolean;
}

export function addSync(program: Command): void {
  program
    .command('sync')
    .description('read the days that are due into the lake')
    .argument('[report...]', 'e.g. order_list (default: all that the settings enable)')
    .addOption(brandOption())
    .addOption(fromOption('read the days from this one on again, whatever the policy says'))
    .addOption(toOption('… up to this one'))
    .addOption(lakeOption())
    .addOption(databaseOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addOption(credentialsOption())
    .addOption(nowOption())
    .option('--max-seconds <n>', 'begin nothing new after so many seconds; run again to go on', seconds)
    .addOption(jsonOption('print the outcome as one JSON document'))
    .addHelpText(
      'after',
      '\nExample:\n  $ brand-reports sync order_list --brand acme --from 2026-01-01 --to 2026-01-31',
    )
    .action(async (reports: string[], flags: SyncFlags) => {
      const progress = showProgress();
      const options = await createRunOptions(flags, reports, progress.log);
      const outcome = await syncUntilStopped(options, flags.maxSeconds).finally(progress.end);
      if (flags.json) printJson(outcome);
      else print(syncText(outcome));
      process.exitCode = EXIT[outcome.status];
    });
}

/** Runs until all is done, the time is up or somebody stops it. */
export async function syncUntilStopped(options: RunOptions, maxSeconds?: number): Promise<SyncOutcome> {
  const { deadline, signal, release } = gracefulShutdown(maxSeconds);
  try {
    return await runSync({ ...options, deadline, signal });
  } finally {
    release();
  }
}

const COLOURS = { complete: 'green', incomplete: 'yellow', busy: 'yellow', failed: 'red' } as const;

const NEXT_STEPS = {
  complete: undefined,
  incomplete: 'Not all that is due was read. Run the same command again to go on.',
  busy: 'Other runs hold every day that is due. Run again later.',
  failed: undefined,
} as const;

/** What a sync did, for people: a line for each report, then what went wrong and what to do about it. */
export function syncText({ status, reports }: SyncOutcome): string {
  const left = (['pending', 'busy', 'failed'] as const).filter((outcome) =>
    reports.some(({ days }) => countOf(days, outcome) > 0),
  );
  const heads = [
    { name: 'brand' },
    { name: 'report' },
    { name: 'status' },
    ...['new', 'same', ...left, 'rows', 'requests'].map((name) => ({ name, align: 'right' as const })),
  ];
  const lines = reports.map(({ brand, report, status: state, days, requests }) => [
    brand,
    report,
    state,
    ...(['published', 'unchanged', ...left] as const).map((outcome) => count(countOf(days, outcome))),
    count(days.reduce((sum, { rows }) => sum + rows, 0)),
    count(requests),
  ]);
  return [
    table(heads, lines, terminalColumns()),
    ...reports.flatMap(problem),
    '',
    styleText(COLOURS[status], status) + (NEXT_STEPS[status] ? `. ${NEXT_STEPS[status]}` : ''),
  ].join('\n');
}

function problem({ brand, report, days, error }: ReportOutcome): string[] {
  if (!error) return [];
  const failed = days.filter(({ outcome }) => outcome === 'failed').map(({ dt }) => dt);
  const which = failed.length > 0 ? ` ${failed.sort().join(', ')}` : '';
  return [
    '',
    styleText('red', `${brand} ${report}${which}`),
    `${error.kind} (${error.code}): ${error.message}`,
  ];
}

function countOf(days: readonly DayOutcome[], of: DayOutcome['outcome']): number {
  return days.filter(({ outcome }) => outcome === of).length;
}

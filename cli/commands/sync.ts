import type { Command } from 'commander';
import { type DayOutcome, type ReportOutcome, type SyncOutcome, isUnfinished } from '../../shared/outcome.ts';
import { runSync } from '../../shared/run/run.ts';
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
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { showProgress } from '../progress-line.ts';
import { untilStopped } from '../graceful-shutdown.ts';
import { oneLine, styleText } from '../terminal-text.ts';
import { table, terminalColumns } from '../text-table.ts';

interface SyncFlags extends RunFlags {
  maxSeconds?: number;
  json?: boolean;
}

export function addSync(program: Command): void {
  program
    .command('sync')
    .description('fetch the days that are due and publish them in the lake')
    .argument('[report...]', 'e.g. order_list (default: every enabled report)')
    .addOption(brandOption())
    .addOption(fromOption('fetch this day and the ones after it, due or not'))
    .addOption(toOption('… up to and including this day (default: today)'))
    .option('--accept-fewer', 'of the days that --from and --to name, believe fewer records than before')
    .addOption(lakeOption())
    .addOption(databaseOption())
    .addOption(settingsOption())
    .addOption(environmentOption())
    .addOption(credentialsOption())
    .addOption(nowOption())
    .option(
      '--max-seconds <n>',
      'start nothing new after this time; run the same command again to continue',
      seconds,
    )
    .addOption(jsonOption('print the outcome as one JSON document'))
    .addHelpText(
      'after',
      '\nExample:\n  $ brand-reports sync order_list --brand acme --from 2026-01-01 --to 2026-01-31',
    )
    .action(async (reports: string[], flags: SyncFlags) => {
      const progress = showProgress();
      const options = await createRunOptions(flags, reports, progress.log);
      const run = untilStopped(flags.maxSeconds, (limits) => runSync({ ...options, ...limits }));
      const outcome = await run.finally(progress.end);
      if (flags.json) printJson(outcome);
      else print(syncText(outcome));
      process.exitCode = EXIT[outcome.status];
    });
}

const COLOURS = { complete: 'green', incomplete: 'yellow', busy: 'yellow', failed: 'red' } as const;

const NEXT_STEPS = {
  complete: undefined,
  incomplete: 'Some days that are due are not finished. Run the same command again to continue.',
  busy: 'Every day that is due is being read by another run. Run again later.',
  failed: 'Fix what is reported above, then run the same command again.',
} as const;
const waiting = () =>
  `Days that failed before wait: "${printedCommand('status')}" shows why and until when. Ask for them with --from and --to to try them at once.`;

function nextStep(outcome: SyncOutcome): string | undefined {
  const { status, reports } = outcome;
  return status === 'incomplete' && !reports.some(isUnfinished) ? waiting() : NEXT_STEPS[status];
}

/** The outcome as text: a table with a line per report, then each report's error, then the next step. */
export function syncText(outcome: SyncOutcome): string {
  const { status, reports } = outcome;
  const next = nextStep(outcome);
  const unfinished = (['kept', 'pending', 'busy', 'waiting', 'failed'] as const).filter((outcome) =>
    reports.some(({ days }) => countOf(days, outcome) > 0),
  );
  const columns = [
    { name: 'brand' },
    { name: 'report' },
    { name: 'status' },
    ...['new', 'same', ...unfinished, 'rows', 'requests'].map((name) => ({ name, align: 'right' as const })),
  ];
  const rows = reports.map(({ brand, report, status: state, days, requests }) => [
    brand,
    report,
    state,
    ...(['published', 'unchanged', ...unfinished] as const).map((outcome) => count(countOf(days, outcome))),
    count(days.reduce((sum, { rows }) => sum + rows, 0)),
    count(requests),
  ]);
  return [
    table(columns, rows, terminalColumns()),
    ...reports.flatMap(problem),
    '',
    styleText(COLOURS[status], status) + (next === undefined ? '' : `. ${next}`),
  ].join('\n');
}

function problem({ brand, report, days, error }: ReportOutcome): string[] {
  if (!error) return [];
  const failed = days.filter(({ outcome }) => outcome === 'failed').map(({ dt }) => dt);
  const which = failed.length > 0 ? ` ${failed.sort().join(', ')}` : '';
  return [
    '',
    styleText('red', `${brand} ${report}${which}`),
    `${error.kind} (${error.code}): ${oneLine(withRunnableCommands(error.message))}`,
  ];
}

function countOf(days: readonly DayOutcome[], wanted: DayOutcome['outcome']): number {
  return days.filter(({ outcome }) => outcome === wanted).length;
}

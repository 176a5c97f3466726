import { type ReportOutcome, type SyncOutcome, isUnfinished } from '../../shared/base/outcome.ts';
import { runSync } from '../../shared/run/run.ts';
import { eventSink } from '../event-sink.ts';
import { EXIT } from '../exit-codes.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type RunFlags, createRunOptions } from '../run-options.ts';
import { type CliCommand, command, day, seconds } from '../options.ts';
import { note, print, printJson } from '../output.ts';
import { printedCommand, withRunnableCommands } from '../printed-command.ts';
import { reasonOf, showProgress } from '../progress.ts';
import { untilStopped } from '../graceful-shutdown.ts';
import { oneLine, styleText } from '../terminal-text.ts';
import { type TableRow, table } from '../text-table.ts';

interface SyncFlags extends RunFlags {
  maxSeconds?: number;
  onPublished?: string;
}

export function addSync(program: CliCommand): void {
  program
    .command('sync')
    .description('read the days that are due; with --from, read named days again')
    .argument('[report...]', 'reports or their tables, e.g. orders (default: every enabled report)')
    .takes('brand')
    .option('--from <day>', 'fetch this day and later days, due or not', day)
    .option('--to <day>', '… up to and including this day (default: today)', day)
    .option('--accept-fewer', 'for the days of --from and --to, accept fewer records than before')
    .takes('lake', 'database', 'settings', 'adoptSettings', 'credentials', 'now')
    .option('--max-seconds <n>', 'start nothing new after this time', seconds)
    .option('--on-published <command>', 'run this for each day that changes; its input is the event', command)
    .option('--json', 'print each event and then the outcome, each as one line of JSON')
    .example('sync order_list --brand acme --from 2026-01-01 --to 2026-01-31')
    .action(async (reports: string[], flags: SyncFlags) => {
      const progress = showProgress();
      const { scope, ...options } = await createRunOptions(flags, reports, progress.log);
      // In S3, the deployed functions send events: an event that this command printed would be lost to them.
      const listens = { ...flags, json: flags.json && options.lake.store.localFolder !== undefined };
      // Until the outcome is printed: if a reader closes the pipe at an event, the process ends there.
      process.exitCode = EXIT.incomplete;
      let isReceived = true;
      const run = untilStopped(flags.maxSeconds, (limits) => {
        const events = eventSink(listens, limits.signal, () => {
          isReceived = false;
          process.exitCode = EXIT.failed;
        });
        const onlyEnabled = { ...scope, onlyEnabled: true };
        return runSync({ ...options, scope: onlyEnabled, ...limits, ...(events && { events }) });
      });
      const outcome = await run.finally(progress.end);
      await rewriteDatabase(options.lake, options.settings);
      if (flags.json) printJson(outcome);
      else print(syncText(outcome));
      process.exitCode = isReceived ? EXIT[outcome.status] : EXIT.failed;
      if (!isReceived)
        note(
          'error: the command of --on-published has not received every event. They wait for its next run.',
        );
    });
}

const COLOURS = { complete: 'green', incomplete: 'yellow', busy: 'yellow', failed: 'red' } as const;

const NEXT_STEPS = {
  complete: undefined,
  incomplete: 'Some days that are due are not finished. Run the same command again to continue.',
  busy: 'Another run reads the brand or every due day. Run again after that run has ended.',
  failed: 'Fix what is reported above, then run the same command again.',
} as const;

function nextStep({ status, reports }: SyncOutcome): string | undefined {
  if (status !== 'incomplete' || reports.some(isUnfinished)) return NEXT_STEPS[status];
  return `Days that failed before wait: "${printedCommand('status')}" shows why and until when. To read them now, add --from and --to.`;
}

export function syncText(outcome: SyncOutcome): string {
  const { status, reports } = outcome;
  const unfinished = (['kept', 'pending', 'busy', 'waiting', 'failed'] as const).filter((outcome) =>
    reports.some(({ days }) => countOf(days, outcome) > 0),
  );
  const rows = reports.map(({ brand, report, status: state, days, requests }) => ({
    ...{ brand, report, status: state },
    ...{ new: countOf(days, 'published'), same: countOf(days, 'unchanged') },
    ...Object.fromEntries(unfinished.map((outcome) => [outcome, countOf(days, outcome)])),
    ...{ rows: days.reduce((sum, { rows }) => sum + rows, 0), requests },
  }));
  return outcomeText(status, rows, problems(reports), nextStep(outcome));
}

export function outcomeText(
  status: SyncOutcome['status'],
  rows: readonly TableRow[],
  problems: readonly string[],
  next: string | undefined,
): string {
  const verdict = styleText(COLOURS[status], status) + (next === undefined ? '' : `. ${next}`);
  return [rows.length > 0 ? table(rows) : 'The settings enable no report.', ...problems, '', verdict].join(
    '\n',
  );
}

type Ended = Pick<ReportOutcome, 'brand' | 'report' | 'error'> & {
  days: readonly { dt: string; outcome: string }[];
};

/** Reports of a brand that failed alike share one problem, because a refusal often concerns all of them. */
export function problems(reports: readonly Ended[]): string[] {
  const failed = reports.flatMap(({ error, ...each }) => (error ? [{ ...each, error }] : []));
  const alike = Map.groupBy(
    failed,
    ({ brand, error }) => `${brand} ${error.kind} ${reasonOf(error.message)}`,
  );
  return [...alike.values()].flatMap((group) => [
    '',
    styleText('red', group.map(failedDays).join(', ')),
    ...group
      .slice(0, 1)
      .map(
        ({ error: { kind, code, message } }) =>
          `${kind} (${code}): ${oneLine(withRunnableCommands(message))}`,
      ),
  ]);
}

function failedDays({ brand, report, days }: Ended): string {
  const failed = days.filter(({ outcome }) => outcome === 'failed').map(({ dt }) => dt);
  return [brand, report, ...failed.sort()].join(' ');
}

export function countOf<Outcome>(days: readonly { outcome: Outcome }[], wanted: Outcome): number {
  return days.filter(({ outcome }) => outcome === wanted).length;
}

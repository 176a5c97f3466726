import {
  type RebuildOutcome,
  type RebuiltReport,
  rebuildDays,
} from '../../shared/operations/rebuild-days.ts';
import { rangesText } from '../../shared/watch/problems.ts';
import { EXIT } from '../exit-codes.ts';
import { untilStopped } from '../graceful-shutdown.ts';
import { rewriteDatabase } from '../open-database.ts';
import { type CliCommand, day } from '../options.ts';
import { print, printJson } from '../output.ts';
import { showProgress } from '../progress.ts';
import { type RunFlags, createPlanOptions, openExistingLake, runningNow } from '../run-options.ts';
import { oneLine, styleText } from '../terminal-text.ts';
import { withRunnableCommands } from '../printed-command.ts';
import { countOf, outcomeText, problems } from './sync.ts';

interface RebuildFlags extends RunFlags {
  from: string;
  to: string;
}

export function addRebuild(program: CliCommand): void {
  program
    .command('rebuild')
    .description('after settings changed, recreate days from stored raw records')
    .argument('<report>', 'a report or its table, e.g. orders')
    .requiredOption('--from <day>', 'the first day to rebuild', day)
    .requiredOption('--to <day>', 'the last day to rebuild', day)
    .takes('brand', 'lake', 'database', 'settings', 'adoptSettings')
    .option('--json', 'print the outcome as one JSON document')
    .example('rebuild order_list --brand acme --from 2026-01-01 --to 2026-01-31')
    .action(async (report: string, flags: RebuildFlags) => {
      const progress = showProgress();
      const { from, to } = flags;
      const options = await createPlanOptions(flags, [report], progress.log, openExistingLake);
      const scope = { ...options.scope, from, to };
      // A signal ends the command after the current day.
      const run = untilStopped(undefined, ({ deadline }) => rebuildDays({ ...options, scope, deadline }));
      const outcome = await run.finally(progress.end);
      await rewriteDatabase(options.lake, options.settings);
      if (flags.json) printJson(outcome);
      else print(rebuildText(outcome, await runningNow(options, brandsWith('busy', outcome))));
      process.exitCode = EXIT[outcome.status];
    });
}

function brandsWith(wanted: string, { reports }: RebuildOutcome): string[] {
  const found = reports.filter(({ days }) => days.some(({ outcome }) => outcome === wanted));
  return [...new Set(found.map(({ brand }) => brand))];
}

function rebuildText({ status, reports }: RebuildOutcome, running: string): string {
  const rows = reports.map(({ brand, report, status: ended, days }) => ({
    ...{ brand, report, status: ended },
    ...{ new: countOf(days, 'published'), same: countOf(days, 'unchanged'), kept: countOf(days, 'kept') },
    ...{ busy: countOf(days, 'busy'), left: countOf(days, 'pending') },
  }));
  const found = [...reports.flatMap(refusals), ...problems(reports)];
  return outcomeText(status, rows, found, nextStep(reports, running));
}

function refusals({ brand, report, days }: RebuiltReport): string[] {
  const refused = days.filter(({ message }) => message !== undefined);
  return [...Map.groupBy(refused, ({ reason }) => reason)].flatMap(([reason, same]) => [
    '',
    `${styleText('red', `${brand} ${report} ${rangesText(same)}`)} (${reason})`,
    oneLine(withRunnableCommands(`${same[0]?.message}`)),
  ]);
}

function nextStep(reports: readonly RebuiltReport[], running: string): string | undefined {
  const days = reports.flatMap((report) => report.days);
  const left = days.filter(({ outcome }) => outcome === 'pending').map(({ dt }) => dt);
  if (left.length > 0) return `Time was up. To continue, run it again with --from ${left.sort()[0]}.`;
  if (days.some(({ outcome }) => outcome === 'busy')) return `busy: ${running}. Run it again after that.`;
  return days.length === 0 ? 'No day of this range has been read yet.' : undefined;
}

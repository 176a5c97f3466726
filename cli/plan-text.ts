/** Formats the plan of `sync --plan`: a line for each report, then its days by the reason for which a run would read them. */
import type { DueDay } from '../shared/planning/plan.ts';
import type { PlannedReport, RunPlan } from '../shared/run/plan-run.ts';
import { rangesText } from '../shared/watcher/index.ts';
import { count, counted } from './output.ts';
import { withRunnableCommands } from './printed-command.ts';
import { durationText } from './run-progress.ts';
import { oneLine, styleText } from './terminal-text.ts';
import { table, terminalColumns } from './text-table.ts';

const REASONS: Record<DueDay['reason'], string> = {
  open: 'today',
  yesterday: 'yesterday',
  in_progress: 'begun, not finished',
  never_read: 'never read',
  requested: 'named by --from and --to',
  refresh: 'refresh policy',
  settings: 'settings changed since it was read',
  retry: 'failed before',
  failing: 'failed before, named by --from and --to',
};

/** @param requestsPerSecond of the settings */
export function planText({ reports, requests, seconds }: RunPlan, requestsPerSecond: number): string {
  const right = ['days', 'waiting', 'requests'].map((name) => ({ name, align: 'right' as const }));
  const rows = reports.map(({ brand, report, days, waiting, requests: own, isLowerBound }) => [
    brand,
    report,
    count(days.length),
    count(waiting.length),
    `${isLowerBound && own > 0 ? '≥ ' : ''}${count(own)}`,
  ]);
  const days = reports.reduce((sum, report) => sum + report.days.length, 0);
  const least = reports.some(({ isLowerBound, requests: own }) => isLowerBound && own > 0)
    ? 'at least'
    : 'about';
  return [
    table([{ name: 'brand' }, { name: 'report' }, ...right], rows, terminalColumns()),
    ...reports.flatMap(reportLines),
    '',
    days === 0
      ? 'Nothing is due now.'
      : `A run would read ${counted(days, 'day')} with ${least} ${counted(requests, 'request')}: ${least} ${durationText(seconds * 1000)} at ${requestsPerSecond} requests/s.`,
    'Nothing was requested or written.',
  ].join('\n');
}

function reportLines({ brand, report, days, waiting, mayFollow, error }: PlannedReport): string[] {
  const byReason = [...Map.groupBy(days, ({ reason }) => reason)].map(([reason, same]) =>
    daysLine(
      REASONS[reason],
      same.map(({ dt }) => dt),
    ),
  );
  const lines = [
    ...byReason,
    ...(waiting.length > 0 ? [daysLine('waits, because it failed', waiting)] : []),
    ...(mayFollow.length > 0
      ? [daysLine('as soon as the records to look up are read, if they are new', mayFollow)]
      : []),
    ...(error ? [styleText('red', oneLine(withRunnableCommands(error.message)))] : []),
  ];
  return lines.length === 0
    ? []
    : ['', styleText('bold', `${brand} ${report}`), ...lines.map((line) => `  ${line}`)];
}

function daysLine(why: string, days: readonly string[]): string {
  return `${why}: ${rangesText(days.toSorted().map((dt) => ({ dt })))}`;
}

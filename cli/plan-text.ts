/** Formats the plan of `sync --plan`: each report, with its days by the reason for which a run would read them. */
import type { PlannedReport, RunPlan } from '../shared/run/plan-run.ts';
import { rangesText } from '../shared/status/problems.ts';
import { counted } from './output.ts';
import { withRunnableCommands } from './printed-command.ts';
import { durationText } from './run-progress.ts';
import { oneLine, styleText } from './terminal-text.ts';

export function planText({ reports, requests, seconds }: RunPlan, requestsPerSecond: number): string {
  const days = reports.reduce((sum, report) => sum + report.days.length, 0);
  const all = `${counted(days, 'day')}, about ${counted(requests, 'request')}`;
  const time = `about ${durationText(seconds * 1000)} at ${requestsPerSecond} requests/s`;
  // The number of new records to look up is not known yet.
  const more = reports.some(({ mayFollow }) => mayFollow.length > 0) ? ', and more for days that follow' : '';
  return [...reports.map(reportText), `${all}, ${time}${more}. Nothing was requested or written.`].join(
    '\n\n',
  );
}

function reportText({ brand, report, days, waiting, mayFollow, requests, error }: PlannedReport): string {
  const byReason = Map.groupBy(days, ({ reason }) => reason.replaceAll('_', ' '));
  const lines = [
    ...[...byReason].map(([reason, same]) => [reason, same.map(({ dt }) => dt)] as const),
    ['waiting, because they failed', waiting] as const,
    ['after the days that have their records, if these are new', mayFollow] as const,
  ].filter(([, dts]) => dts.length > 0);
  return [
    `${styleText('bold', `${brand} ${report}`)}: ${counted(days.length, 'day')}, about ${counted(requests, 'request')}`,
    ...lines.map(([why, dts]) => `  ${why}: ${rangesText(dts.toSorted().map((dt) => ({ dt })))}`),
    ...(error ? [styleText('red', oneLine(withRunnableCommands(error.message)))] : []),
  ].join('\n');
}

/*
 * Without alarms a report that stopped goes unnoticed: its tables still answer queries, with old numbers.
 * This file is the only list of the alarms. A row gives the alarm's id, what it means, what to do, and the condition
 * that CloudWatch evaluates. The rows make the alarms and their descriptions (alarms.ts), the dashboard's list
 * (dashboard.ts) and the table in docs/operations.md, which a test compares. A new alarm is one new row.
 */
import { Duration } from 'aws-cdk-lib';
import { type AlarmProps, ComparisonOperator, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { PERIOD_HOURS, failureWindow, missingDataHours } from './alarm-windows.ts';
import type { ObservedReport } from './observed-report.ts';

/** One kind of alarm. In its texts `<name>` is a placeholder: see `placeholders` of what it watches. */
export interface AlarmRow<Watched> {
  id: string;
  meaning: string;
  action: string;
  /** `undefined` where this deployment has no such alarm. What it leaves out is in `Alarms`. */
  condition: (watched: Watched, deployment: DeploymentSettings) => AlarmCondition | undefined;
}

export type AlarmCondition = Pick<AlarmProps, 'metric' | 'evaluationPeriods'> & Partial<AlarmProps>;

/** The function that syncs one report, for all brands. */
export interface ObservedFunction {
  report: string;
  function: IFunction;
  /** By brand, as in the settings. */
  schedules: Readonly<Record<string, string>>;
}

/** What the stack has once. */
export interface ObservedStack {
  queues: Readonly<Record<'undelivered' | 'failed', IQueue>>;
  stateMachine: IStateMachine;
}

const THROTTLED_PERCENT = 10;

/** One alarm for each report of each brand. Placeholders: brand, report, function, behindAfterHours. */
export const REPORT_ALARMS: readonly AlarmRow<ObservedReport>[] = [
  {
    id: 'behind-<brand>-<report>',
    meaning:
      'The newest complete day of <brand> <report> ended more than <behindAfterHours> hours ago, or the report has ' +
      'never returned a record, or no run has reported for longer than the gaps of its schedule (checked where these ' +
      'are shorter than a week).',
    action: 'Test the function <function> with "Check-the-connection", then with "Sync-now".',
    condition: (report, { schedules, behindAfterHours }) => {
      // Without schedules nothing starts by itself, so no report is behind.
      if (!schedules) return undefined;
      const hours = missingDataHours(report.schedule);
      return {
        metric: report.secondsSinceNewestCompleteDay(),
        threshold: behindAfterHours * 3600,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluationPeriods: hours ?? 1,
        treatMissingData: hours === undefined ? TreatMissingData.IGNORE : TreatMissingData.BREACHING,
      };
    },
  },
  {
    id: 'failed-<brand>-<report>',
    meaning: 'Runs of <brand> <report> end as failed.',
    action:
      'Test the function <function> with "Sync-now": the answer says what is wrong and what to do about it.',
    condition: (report) => ({ metric: report.failures(), ...failureWindow([report.schedule]) }),
  },
  {
    id: 'throttled-<brand>-<report>',
    meaning:
      `The service answered ${THROTTLED_PERCENT} % or more of the requests for <brand> <report> with HTTP 429. ` +
      'Nothing is lost, but runs take longer.',
    action: 'Lower the setting requestsPerSecond and deploy.',
    condition: (report) => ({
      metric: report.throttledPercent(),
      threshold: THROTTLED_PERCENT,
      ...failureWindow([report.schedule]),
    }),
  },
];

/** One alarm for each function that syncs a report. Placeholders: report, function. */
export const FUNCTION_ALARMS: readonly AlarmRow<ObservedFunction>[] = [
  {
    // A function that crashed has reported no metrics of its own.
    id: 'crashed-<report>',
    meaning: 'The function <function> ran out of time or memory, or hit a bug.',
    action: 'Read the error in its log, then test it with "Sync-now": it resumes where the last run stopped.',
    condition: ({ function: syncs, schedules }) => ({
      metric: syncs.metricErrors({ statistic: Stats.SUM, period: Duration.hours(PERIOD_HOURS) }),
      ...failureWindow(Object.values(schedules)),
    }),
  },
];

/** Alarms that the stack has once. Placeholders: undelivered and failed, the names of the two queues. */
export const STACK_ALARMS: readonly AlarmRow<ObservedStack>[] = [
  {
    id: 'queue-undelivered',
    meaning: 'The queue <undelivered> holds events that a schedule could not deliver to its function.',
    action:
      'Read the reason in the attributes of its messages and fix it, test the function that a message names with ' +
      '"Sync-now", then purge the queue.',
    condition: ({ queues }) => messagesIn(queues.undelivered),
  },
  {
    id: 'queue-failed',
    meaning: 'The queue <failed> holds events that a function failed on, or that waited too long for it.',
    action:
      'Read the error in its messages and fix the cause, test the function that a message names with "Sync-now", ' +
      'then purge the queue.',
    condition: ({ queues }) => messagesIn(queues.failed),
  },
  {
    id: 'backfill-failed',
    meaning: 'A backfill ended, and some of its months are not complete.',
    action:
      'Read the cause of the execution, which lists these months with the reasons, and fix them; then start a new ' +
      'execution with the same input.',
    condition: ({ stateMachine }) => ({
      metric: stateMachine.metricFailed({ statistic: Stats.SUM, period: Duration.minutes(5) }),
      evaluationPeriods: 1,
    }),
  },
];

function messagesIn(queue: IQueue): AlarmCondition {
  const metric = queue.metricApproximateNumberOfMessagesVisible({
    statistic: Stats.MAXIMUM,
    period: Duration.minutes(5),
  });
  return { metric, evaluationPeriods: 1 };
}

/** `behind-<brand>-<report>` → `behind-acme-order_list`; a name without a value stays as it is. */
export function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/<(\w+)>/g, (placeholder, name: string) => values[name] ?? placeholder);
}

/** All kinds of alarms as a Markdown table, for the dashboard and for docs/operations.md. */
export function alarmsAsMarkdown(): string {
  const rows = [...REPORT_ALARMS, ...FUNCTION_ALARMS, ...STACK_ALARMS].map(
    ({ id, meaning, action }) => `| \`${id}\` | ${markdown(meaning)} | ${markdown(action)} |`,
  );
  return ['| Alarm | What it means | What to do |', '| --- | --- | --- |', ...rows].join('\n');
}

/** Placeholders as code, because Markdown takes `<…>` for HTML; names of test events in bold. */
function markdown(text: string): string {
  return text.replace(/<\w+>/g, '`$&`').replace(/"([\w-]+)"/g, '**$1**');
}

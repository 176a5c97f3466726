/*
 * Without alarms a pipeline that stopped goes unnoticed: its tables still answer queries, with old numbers.
 * This file is the only list of the alarms. A row gives the alarm's id, what it means, what to do, and the condition
 * that CloudWatch evaluates. The rows make the alarms and their descriptions (alarms.ts) and the table in
 * docs/how-to/react-to-a-message.md, which a test compares. A new alarm is one new row. What is wrong with a report is told by the
 * watcher (shared/watcher/watch.ts), so their number does not grow with the brands.
 */
import { Duration } from 'aws-cdk-lib';
import { type AlarmProps, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';

/** One kind of alarm. In its texts `<name>` is a placeholder: undelivered and failed, the names of the two queues. */
export interface AlarmRow {
  id: string;
  meaning: string;
  action: string;
  /** Whether the topic also hears that it is over. Of queues and backfills people hear nothing new then. */
  notifiesEnd?: true;
  /** `undefined` where this deployment has no such alarm. What it leaves out is in `Alarms`. */
  condition: (watched: ObservedStack, deployment: DeploymentSettings) => AlarmCondition | undefined;
}

export type AlarmCondition = Pick<AlarmProps, 'metric' | 'evaluationPeriods'> & Partial<AlarmProps>;

/** What the alarms watch. */
export interface ObservedStack {
  queues: Readonly<Record<'undelivered' | 'failed', IQueue>>;
  stateMachine: IStateMachine;
  /** How many problems the watcher has found. */
  problems: Metric;
}

/** The watcher's metric, in the namespace of the instance. */
export function problemsMetric(instance: string): Metric {
  return new Metric({
    namespace: instance,
    metricName: 'Problems',
    statistic: Stats.MAXIMUM,
    period: Duration.hours(1),
  });
}

const HOURS_OF_PROBLEMS = 3;

export const ALARMS: readonly AlarmRow[] = [
  {
    id: 'problems',
    meaning:
      `For ${HOURS_OF_PROBLEMS} hours the watcher has found problems, which its message lists, or no watcher run has ` +
      'ended: then nobody watches the pipeline.',
    action:
      'Follow the last message. If there is no message, test the calendar function with "Watch-now", and read ' +
      'the error in its log.',
    notifiesEnd: true,
    condition: ({ problems }, { schedules }) => {
      // Without schedules nothing starts by itself, the watcher neither.
      if (!schedules) return undefined;
      return {
        metric: problems,
        evaluationPeriods: HOURS_OF_PROBLEMS,
        treatMissingData: TreatMissingData.BREACHING,
      };
    },
  },
  {
    id: 'queue-undelivered',
    meaning: 'The queue <undelivered> contains events that a schedule could not deliver to its function.',
    action:
      'Read the reason in the attributes of its messages and fix it, test the function that a message names with ' +
      '"Sync-now", then purge the queue.',
    condition: ({ queues }) => messagesIn(queues.undelivered),
  },
  {
    id: 'queue-failed',
    meaning:
      'The queue <failed> contains events that a function failed on: it ran out of time or memory, hit a bug, or had no ' +
      'free instance for too long.',
    action:
      'Read the error in its messages and fix the cause, test the function that a message names with "Sync-now": it ' +
      'resumes where the last run stopped. Then purge the queue.',
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

/** A queue that nobody uses publishes nothing after some hours: what it held then, it still holds. */
function messagesIn(queue: IQueue): AlarmCondition {
  const metric = queue.metricApproximateNumberOfMessagesVisible({
    statistic: Stats.MAXIMUM,
    period: Duration.minutes(5),
  });
  return { metric, evaluationPeriods: 1, treatMissingData: TreatMissingData.IGNORE };
}

/** `The queue <failed>` → `The queue BrandReports-Failed`; a name without a value stays as it is. */
export function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/<(\w+)>/g, (placeholder, name: string) => values[name] ?? placeholder);
}

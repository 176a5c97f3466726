/*
 * Lists all alarms, in this file alone. Without alarms, a pipeline that stopped goes unnoticed, because its tables
 * still answer queries, with old numbers. A row contains the alarm's id, its meaning, what to do, and the condition
 * that CloudWatch evaluates. From the rows come the alarms with their descriptions (alarms.ts) and the table in
 * docs/how-to/react-to-a-message.md, which a test compares. A new alarm is one new row. The watcher reports the
 * problems of single reports (shared/watcher/watch.ts), so the number of alarms does not grow with the brands.
 */
import { Duration } from 'aws-cdk-lib';
import { type AlarmProps, Metric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';

/** One kind of alarm. In its texts `<name>` is a placeholder: the names of the two queues and of the function `watch`. */
export interface AlarmRow {
  id: string;
  meaning: string;
  action: string;
  /** Whether the topic is also notified when the alarm ends. For queues and backfills, the end is no news. */
  notifiesEnd?: true;
  /** `undefined` if this deployment has no such alarm. `Alarms` adds the defaults. */
  condition: (watched: ObservedStack, deployment: DeploymentSettings) => AlarmCondition | undefined;
}

export type AlarmCondition = Pick<AlarmProps, 'metric' | 'evaluationPeriods'> & Partial<AlarmProps>;

/** What the alarms watch. */
export interface ObservedStack {
  queues: Readonly<Record<'undelivered' | 'failed', IQueue>>;
  stateMachine: IStateMachine;
  /** The number of problems that the watcher has found. */
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
      'Follow the last message. If there is no message, test the function <watch> with the event {}, and read ' +
      'the error in its log.',
    notifiesEnd: true,
    condition: ({ problems }, { schedules }) => {
      // Without schedules nothing starts by itself, and the watcher does not either.
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
      'the event {}, then purge the queue.',
    condition: ({ queues }) => messagesIn(queues.undelivered),
  },
  {
    id: 'queue-failed',
    meaning:
      'The queue <failed> contains events that a function failed on: it ran out of time or memory, hit a bug, or had no ' +
      'free instance for too long.',
    action:
      'Read the error in its messages and fix the cause, test the function that a message names with the event {}: it ' +
      'resumes where the last run stopped. Then purge the queue.',
    condition: ({ queues }) => messagesIn(queues.failed),
  },
  {
    id: 'backfill-failed',
    meaning: 'A backfill ended, and some of its brands are not complete.',
    action:
      'Read the cause of the execution, which names these brands. Test the function sync with each brand: its result has ' +
      'the reason. Fix it, then start a new execution with the same input.',
    condition: ({ stateMachine }) => ({
      metric: stateMachine.metricFailed({ statistic: Stats.SUM, period: Duration.minutes(5) }),
      evaluationPeriods: 1,
    }),
  },
];

/** A queue stops publishing metrics after some hours without use, but it still contains its messages. */
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

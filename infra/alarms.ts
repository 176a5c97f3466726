/*
 * The CloudWatch alarms of the stack. Without them, a pipeline that stopped goes unnoticed, because its tables still
 * answer queries, with old numbers. The watcher reports the problems of single reports, so the number of alarms does not
 * grow with the brands. All of them use metrics of AWS: a metric of our own would cost 0.30 USD a month.
 */
import { Annotations, Duration } from 'aws-cdk-lib';
import {
  type Alarm,
  type CreateAlarmOptions,
  type Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { Deployment } from './deployment.ts';
import { type Grantee, allow, arnInStack, grantKey } from './grants.ts';
import { instanceName, output } from './names.ts';

const HOURS_OF_SILENCE = 3;

/** By the end of its name, what each alarm means and what to do: docs/how-to/react-to-a-message.md repeats the texts. */
export const ALARMS = {
  'watch-silent': {
    meaning:
      `For ${HOURS_OF_SILENCE} hours each watcher run has failed, or no watcher run has started: nobody watches the pipeline, ` +
      'and nobody is told of problems.',
    action:
      'Test the function watch with the event {}, and fix the error in its result. If the test succeeds, check the ' +
      'schedule that starts the function: somebody may have disabled or deleted it.',
  },
  'queue-failed': {
    meaning:
      'The queue Failed contains events that a schedule could not deliver to its function, or that a function failed on. ' +
      'A function fails if it runs out of time or memory, hits a bug, or has no free instance for too long.',
    action:
      'Read the error in its messages or in their attributes, and fix the cause. Test the function that a message names ' +
      'with the event {}: it resumes where the last run stopped. Then purge the queue.',
  },
  'backfill-failed': {
    meaning: 'A backfill ended, and some of its brands are not complete.',
    action:
      'Read the cause of the execution, which names these brands. Test the function sync with each brand: its result has ' +
      'the reason. Fix it, then start a new execution with the same input.',
  },
} as const;
type AlarmId = keyof typeof ALARMS;

/** Each by its name: another instance may have a name that begins with the name of this one. */
export function alarmArns(scope: Construct): string[] {
  return Object.keys(ALARMS).map((id) =>
    arnInStack(scope, 'cloudwatch', `alarm:${instanceName(scope)}-${id}`),
  );
}

interface AlarmsProps {
  deployment: Deployment;
  watch: IFunction;
  queue: IQueue;
  stateMachine: IStateMachine;
  topic: ITopic;
}

export class Alarms extends Construct {
  readonly alarms: readonly Alarm[];

  constructor(scope: Construct, id: string, { deployment, topic, watch, queue, stateMachine }: AlarmsProps) {
    super(scope, id);
    const action = new SnsAction(topic);
    const period = Duration.minutes(5);
    // Lambda counts the errors of each run, 0 if it succeeded, so an hour without this metric is an hour without a run.
    // Without schedules nothing starts by itself, and the watcher does not either.
    const runs = watch.metricErrors({ period: Duration.hours(1) });
    const breaching = { treatMissingData: TreatMissingData.BREACHING, evaluationPeriods: HOURS_OF_SILENCE };
    const silent = deployment.schedules ? [this.alarm('watch-silent', runs, breaching)] : [];
    // The end of a backfill or of failed events is no news.
    for (const alarm of silent) alarm.addOkAction(action);
    this.alarms = [
      ...silent,
      this.alarm(
        'queue-failed',
        queue.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, period }),
        // A queue stops publishing metrics after some hours without use, but it still contains its messages.
        { treatMissingData: TreatMissingData.IGNORE },
      ),
      this.alarm('backfill-failed', stateMachine.metricFailed({ statistic: Stats.SUM, period })),
    ];
    for (const alarm of this.alarms) alarm.addAlarmAction(action);
  }

  private alarm(id: AlarmId, metric: Metric, options: Partial<CreateAlarmOptions> = {}): Alarm {
    const { meaning, action } = ALARMS[id];
    return metric.createAlarm(this, id, {
      threshold: 1,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...options,
      alarmName: `${instanceName(this)}-${id}`,
      alarmDescription: `${meaning} ${action}`,
    });
  }
}

export class AlarmTopic extends Construct {
  readonly topic: ITopic;
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, deployment: Deployment, existing?: ITopic) {
    super(scope, id);
    const { alarmEmail, encryptionKey } = deployment;
    this.#key = existing ? existing.masterKey : encryptionKey;
    this.topic = existing ?? this.newTopic(alarmEmail);
    output(this, 'AlarmTopicArn', {
      value: this.topic.topicArn,
      description: 'The topic of all alarms and of the watcher’s messages: subscribe to it',
    });
  }

  grantPublish(grantee: Grantee): void {
    allow(grantee, ['sns:Publish'], [this.topic.topicArn]);
    grantKey(grantee, this.#key, 'sns', 'write');
  }

  private newTopic(alarmEmail: string | undefined): Topic {
    const topic = new Topic(this, 'Topic', {
      displayName: `${instanceName(this)} alarms`,
      enforceSSL: true,
      masterKey: this.#key,
    });
    this.letAlarmsPublish(topic);
    if (alarmEmail !== undefined) topic.addSubscription(new EmailSubscription(alarmEmail));
    else
      Annotations.of(this).addWarningV2(
        'brand-reports:noReceiver',
        'Nobody receives the alarms and the watcher’s messages, so a failure goes unnoticed. Set deployment.alarmEmail to an e-mail address, or give the construct a topic that somebody is subscribed to (docs/how-to/cdk-construct.md).',
      );
    return topic;
  }

  /** A topic with its own policy (`enforceSSL`) loses the default policy, which lets the account's alarms publish. */
  private letAlarmsPublish(topic: Topic): void {
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { ArnEquals: { 'aws:SourceArn': alarmArns(this) } },
      }),
    );
  }
}

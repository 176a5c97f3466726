import { ArnFormat, Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { PERIOD_HOURS, failureWindow, missingDataHours } from './alarm-windows.ts';
import type { ObservedReport } from './observed-report.ts';

const THROTTLED_PERCENT = 10;

/** What somebody is to be told of, through a topic that an e-mail address may be subscribed to. */
export class Alarms extends Construct {
  readonly topic: Topic;

  constructor(scope: Construct, id: string, email: string | undefined) {
    super(scope, id);
    const { stackName } = Stack.of(this);
    this.topic = new Topic(this, 'Topic', { displayName: `${stackName} alarms`, enforceSSL: true });
    this.letAlarmsPublish();
    if (email !== undefined) this.topic.addSubscription(new EmailSubscription(email));
  }

  onStaleness(of: ObservedReport, staleAfterHours: number): Alarm {
    const silence = missingDataHours(of.schedule);
    const orSilent = silence === undefined ? '' : `, or no run has told of it for ${silence} hours or more`;
    return this.alarm(`stale-${of.brand}-${of.report}`, {
      metric: of.secondsSinceNewestCompleteDay(),
      threshold: staleAfterHours * 3600,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: silence ?? 1,
      treatMissingData: silence === undefined ? TreatMissingData.IGNORE : TreatMissingData.BREACHING,
      alarmDescription:
        `The newest complete day of ${of.label} ended more than ${staleAfterHours} hours ago${orSilent}. ` +
        `Test the function ${of.function.functionName} with "Check-the-connection", then with "Sync-now".`,
    });
  }

  onFailures(of: ObservedReport): Alarm {
    return this.alarm(`failed-${of.brand}-${of.report}`, {
      metric: of.failures(),
      ...failureWindow([of.schedule]),
      alarmDescription:
        `Runs of ${of.label} end as failed. Test the function ${of.function.functionName} with "Sync-now": ` +
        'the answer says what is wrong and what to do about it.',
    });
  }

  onThrottling(of: ObservedReport): Alarm {
    return this.alarm(`throttled-${of.brand}-${of.report}`, {
      metric: of.throttledPercent(),
      threshold: THROTTLED_PERCENT,
      ...failureWindow([of.schedule]),
      alarmDescription:
        `The service refused ${THROTTLED_PERCENT} % or more of the requests for ${of.label} with HTTP 429. ` +
        'Nothing is lost, but runs take longer: lower the setting requestsPerSecond and deploy.',
    });
  }

  /** A function that died has told no metrics of its own. */
  onCrashes(
    report: string,
    { function: died, schedules }: { function: IFunction; schedules: string[] },
  ): Alarm {
    return this.alarm(`crashed-${report}`, {
      metric: died.metricErrors({ statistic: Stats.SUM, period: Duration.hours(PERIOD_HOURS) }),
      ...failureWindow(schedules),
      alarmDescription:
        `The function ${died.functionName} ran out of time or memory, or met a bug; its log has the error. ` +
        'Test it with "Sync-now": it goes on where the run before stopped.',
    });
  }

  onMessages(name: string, queue: IQueue): Alarm {
    return this.alarm(`queue-${name}`, {
      metric: queue.metricApproximateNumberOfMessagesVisible({
        statistic: Stats.MAXIMUM,
        period: Duration.minutes(5),
      }),
      evaluationPeriods: 1,
      alarmDescription:
        `The queue ${queue.queueName} has events that came to nothing. Look at its messages, mend what they tell of, ` +
        'test the function that they name with "Sync-now", then purge the queue.',
    });
  }

  onFailedBackfills(stateMachine: IStateMachine): Alarm {
    return this.alarm('backfill-failed', {
      metric: stateMachine.metricFailed({ statistic: Stats.SUM, period: Duration.minutes(5) }),
      evaluationPeriods: 1,
      alarmDescription:
        'A backfill ended without all of its months. The cause of the execution lists them and says why: mend that, ' +
        'then start a new execution with the same input.',
    });
  }

  private alarm(
    name: string,
    props: Omit<AlarmProps, 'threshold'> & Partial<Pick<AlarmProps, 'threshold'>>,
  ): Alarm {
    const alarm = new Alarm(this, name, {
      threshold: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...props,
      alarmName: `${Stack.of(this).stackName}-${name}`,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    return alarm;
  }

  /** A topic with a policy of its own has lost the one by which everything in the account may publish. */
  private letAlarmsPublish(): void {
    const stack = Stack.of(this);
    const alarms = stack.formatArn({
      service: 'cloudwatch',
      resource: 'alarm',
      resourceName: `${stack.stackName}-*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { ArnLike: { 'aws:SourceArn': alarms } },
      }),
    );
  }
}

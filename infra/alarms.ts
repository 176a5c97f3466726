import { Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { ALARMS, type AlarmRow, type ObservedStack, filledIn } from './alarm-table.ts';

export interface AlarmsProps {
  deployment: DeploymentSettings;
  topic: ITopic;
  stack: ObservedStack;
}

/** The CloudWatch alarms of the stack, all of which notify the topic. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.all = ALARMS.flatMap((row) => this.alarm(row, props));
  }

  /** None where the row has no condition for this deployment. */
  private alarm(
    { id, meaning, action, condition }: AlarmRow,
    { deployment, topic, stack }: AlarmsProps,
  ): Alarm[] {
    const props = condition(stack, deployment);
    if (!props) return [];
    const { undelivered, failed } = stack.queues;
    const queues = { undelivered: undelivered.queueName, failed: failed.queueName };
    const alarm = new Alarm(this, id, {
      threshold: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...props,
      alarmName: `${Stack.of(this).stackName}-${id}`,
      alarmDescription: filledIn(`${meaning} ${action}`, queues),
    });
    alarm.addAlarmAction(new SnsAction(topic));
    return [alarm];
  }
}

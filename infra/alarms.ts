import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { ALARMS, type AlarmRow, type ObservedStack, filledIn, problemsMetric } from './alarm-table.ts';
import { instanceName } from './instance-name.ts';

export interface AlarmsProps extends Omit<ObservedStack, 'problems'> {
  deployment: DeploymentSettings;
  /** The topic that every alarm notifies. */
  topic: ITopic;
}

/** The CloudWatch alarms of the stack, all of which notify the topic. */
export class Alarms extends Construct {
  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    for (const row of ALARMS) this.alarm(row, props);
  }

  /** Adds the alarm of a row, unless the row has no condition for this deployment. */
  private alarm(
    { id, meaning, action, notifiesEnd, condition }: AlarmRow,
    { deployment, topic, queues, stateMachine }: AlarmsProps,
  ): void {
    const name = instanceName(this);
    const stack = { queues, stateMachine, problems: problemsMetric(name) };
    const props = condition(stack, deployment);
    if (!props) return;
    const { undelivered, failed } = queues;
    const queueNames = { undelivered: undelivered.queueName, failed: failed.queueName };
    const alarm = new Alarm(this, id, {
      threshold: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...props,
      alarmName: `${name}-${id}`,
      alarmDescription: filledIn(`${meaning} ${action}`, queueNames),
    });
    alarm.addAlarmAction(new SnsAction(topic));
    if (notifiesEnd) alarm.addOkAction(new SnsAction(topic));
  }
}

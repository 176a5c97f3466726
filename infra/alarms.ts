import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { ALARMS, type ObservedStack, filledIn, problemsMetric } from './alarm-table.ts';
import { instanceName } from './instance-name.ts';

export interface AlarmsProps extends Omit<ObservedStack, 'problems'> {
  deployment: DeploymentSettings;
  /** The topic that every alarm notifies. */
  topic: ITopic;
}

/** The CloudWatch alarms of the stack, all of which notify the topic. */
export class Alarms extends Construct {
  constructor(scope: Construct, id: string, { deployment, topic, queues, stateMachine }: AlarmsProps) {
    super(scope, id);
    const name = instanceName(this);
    const observed = { queues, stateMachine, problems: problemsMetric(name) };
    const { undelivered, failed } = queues;
    const names = {
      undelivered: undelivered.queueName,
      failed: failed.queueName,
      watch: `${name}-watch`,
    };
    for (const row of ALARMS) {
      const condition = row.condition(observed, deployment);
      if (!condition) continue;
      const alarm = new Alarm(this, row.id, {
        threshold: 1,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: TreatMissingData.NOT_BREACHING,
        ...condition,
        alarmName: `${name}-${row.id}`,
        alarmDescription: filledIn(`${row.meaning} ${row.action}`, names),
      });
      alarm.addAlarmAction(new SnsAction(topic));
      if (row.notifiesEnd) alarm.addOkAction(new SnsAction(topic));
    }
  }
}

import { ArnFormat, Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { type AlarmCondition, type AlarmRow, filledIn } from './alarm-table.ts';

/** The CloudWatch alarms of the stack, and the topic that they notify: `alarmEmail` subscribes to it. */
export class Alarms extends Construct {
  readonly topic: Topic;
  private readonly deployment: DeploymentSettings;

  constructor(scope: Construct, id: string, deployment: DeploymentSettings) {
    super(scope, id);
    this.deployment = deployment;
    const { stackName } = Stack.of(this);
    this.topic = new Topic(this, 'Topic', { displayName: `${stackName} alarms`, enforceSSL: true });
    this.letAlarmsPublish();
    const { alarmEmail } = deployment;
    if (alarmEmail !== undefined) this.topic.addSubscription(new EmailSubscription(alarmEmail));
  }

  /** The alarms of these rows for one watched thing, none where a row has no condition for this deployment. */
  add<Watched>(
    rows: readonly AlarmRow<Watched>[],
    watched: Watched,
    placeholders: Readonly<Record<string, string>>,
  ): Alarm[] {
    return rows.flatMap(({ id, meaning, action, condition }) => {
      const props = condition(watched, this.deployment);
      if (!props) return [];
      const values = { ...placeholders, behindAfterHours: String(this.deployment.behindAfterHours) };
      return [this.alarm(filledIn(id, values), filledIn(`${meaning} ${action}`, values), props)];
    });
  }

  private alarm(name: string, alarmDescription: string, condition: AlarmCondition): Alarm {
    const alarm = new Alarm(this, name, {
      threshold: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...condition,
      alarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    return alarm;
  }

  /** A topic with its own policy (`enforceSSL`) loses the default one, which lets the account's alarms publish. */
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

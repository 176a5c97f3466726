import { Annotations } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { instanceName, output } from './names.ts';
import { type Grantee, allow, arnInStack, customerKey, grantKey } from './grants.ts';

/**
 * The topic that receives alarms and the watcher's messages: an existing topic, or a new one with a subscription of
 * `alarmEmail`.
 */
export class AlarmTopic extends Construct {
  readonly topic: ITopic;
  readonly #keyArn: string | undefined;

  constructor(scope: Construct, id: string, deployment: DeploymentSettings, existing?: ITopic) {
    super(scope, id);
    const { alarmEmail, lakeKeyArn } = deployment;
    this.#keyArn = existing ? existing.masterKey?.keyArn : lakeKeyArn;
    this.topic = existing ?? this.newTopic(alarmEmail);
    output(this, 'AlarmTopicArn', {
      value: this.topic.topicArn,
      description: 'The topic of all alarms and of the watcher’s messages: subscribe to it',
    });
  }

  grantPublish(grantee: Grantee): void {
    allow(grantee, ['sns:Publish'], [this.topic.topicArn]);
    grantKey(grantee, this.#keyArn, 'sns', 'write');
  }

  private newTopic(alarmEmail: string | undefined): Topic {
    const topic = new Topic(this, 'Topic', {
      displayName: `${instanceName(this)} alarms`,
      enforceSSL: true,
      masterKey: customerKey(this, this.#keyArn),
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
    const alarms = arnInStack(this, 'cloudwatch', `alarm:${instanceName(this)}-*`);
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { ArnLike: { 'aws:SourceArn': alarms } },
      }),
    );
  }
}

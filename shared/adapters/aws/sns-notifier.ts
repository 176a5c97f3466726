import type { Notifier } from '../../ports.ts';
import { awsClientOptions, inAws } from './errors.ts';

/** Publishes to an SNS topic. Its client is loaded when there is a message, which is seldom. */
export function snsNotifier(topicArn: string): Notifier {
  return {
    async tell({ subject, text }) {
      const { PublishCommand, SNSClient } = await import('@aws-sdk/client-sns');
      const client = new SNSClient(awsClientOptions);
      await inAws(
        `Publishing to ${topicArn}`,
        'Grant sns:Publish on the topic, and, if the topic is encrypted, kms:GenerateDataKey and kms:Decrypt on its key.',
        client.send(new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: text })),
      ).finally(() => client.destroy());
    },
  };
}

import type { Notifier } from '../../ports.ts';
import { awsClientOptions, awsError } from './errors.ts';

/** Publishes to an SNS topic. Its client is loaded when there is a message, which is seldom. */
export function snsNotifier(topicArn: string): Notifier {
  return {
    async tell({ subject, text }) {
      const { PublishCommand, SNSClient } = await import('@aws-sdk/client-sns');
      const client = new SNSClient(awsClientOptions);
      try {
        await client.send(new PublishCommand({ TopicArn: topicArn, Subject: subject, Message: text }));
      } catch (error) {
        const nextStep =
          'Grant sns:Publish on the topic, and, if the topic is encrypted, kms:GenerateDataKey and kms:Decrypt on its key.';
        throw awsError(error, `Publishing to ${topicArn}`, nextStep);
      } finally {
        client.destroy();
      }
    },
  };
}

import { awsClientOptions, awsError } from './errors.ts';

/**
 * While messages are examined, nobody else receives them; messages that are kept become visible again after this
 * time.
 */
const HIDDEN_SECONDS = 60;

/**
 * Deletes the messages of an SQS queue that contain the brand: events of failed functions.
 * @returns how many were deleted
 */
export async function eraseMessages(url: string, brand: string): Promise<number> {
  const { DeleteMessageCommand, ReceiveMessageCommand, SQSClient } = await import('@aws-sdk/client-sqs');
  const client = new SQSClient(awsClientOptions);
  const queue = { QueueUrl: url };
  const seen = new Set<string>();
  let deleted = 0;
  try {
    for (;;) {
      const limits = { MaxNumberOfMessages: 10, VisibilityTimeout: HIDDEN_SECONDS, WaitTimeSeconds: 1 };
      const { Messages = [] } = await client.send(new ReceiveMessageCommand({ ...queue, ...limits }));
      const fresh = Messages.filter(({ MessageId = '' }) => !seen.has(MessageId));
      if (fresh.length === 0) return deleted;
      for (const { MessageId = '', Body = '', ReceiptHandle } of fresh) {
        seen.add(MessageId);
        // Events are JSON inside JSON.
        if (!Body.replaceAll('\\', '').includes(`"${brand}"`)) continue;
        await client.send(new DeleteMessageCommand({ ...queue, ReceiptHandle }));
        deleted += 1;
      }
    }
  } catch (error) {
    throw awsError(
      error,
      `Deleting messages from ${url}`,
      'Check the URL, the region and the credentials, and grant sqs:ReceiveMessage and sqs:DeleteMessage on the queue.',
    );
  } finally {
    client.destroy();
  }
}

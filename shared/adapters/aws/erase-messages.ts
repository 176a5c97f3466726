import { awsClientOptions, awsError } from './errors.ts';

/** While they are examined nobody else receives the messages; those that stay come back afterwards. */
const HIDDEN_SECONDS = 60;

/** Deletes those messages of an SQS queue that name the brand: events of functions that failed. @returns how many */
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
        // Events lie as JSON in JSON.
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

import { hash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { eraseMessages } from '../../../shared/adapters/aws/erase-messages.ts';
import { startAwsJsonServer } from '../../fakes/aws-json-server.ts';

it('deletes the messages of a queue that contain the brand, and leaves other messages', async () => {
  const bodies = [
    '{"brand":"acme"}',
    '{"requestPayload":"{\\"brand\\":\\"acme\\"}"}',
    '{"brand":"acme-eu"}',
    'acme',
  ];
  const left = new Map(bodies.map((Body, index) => [`m${index}`, Body]));
  const received = new Set<string>();
  const server = await startAwsJsonServer(
    {
      ReceiveMessage: () => {
        const fresh = [...left].filter(([id]) => !received.has(id)).slice(0, 2);
        for (const [id] of fresh) received.add(id);
        return {
          Messages: fresh.map(([id, Body]) => ({
            MessageId: id,
            ReceiptHandle: id,
            Body,
            MD5OfBody: hash('md5', Body),
          })),
        };
      },
      DeleteMessage: ({ ReceiptHandle }) => {
        left.delete(String(ReceiptHandle));
        return {};
      },
    },
    (operation) => ({ action: `sqs:${operation}`, resources: ['*'] }),
  );
  const variables = {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL_SQS: server.url,
  };
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    expect(await eraseMessages(`${server.url}/1/failed`, 'acme')).toBe(2);
    expect([...left.values()]).toEqual(bodies.slice(2));
  } finally {
    process.env = before;
    await server.close();
  }
});

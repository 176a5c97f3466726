import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openBucket } from '../../../shared/adapters/aws/s3-lake.ts';
import { openLake } from '../../../shared/adapters/open-lake.ts';
import type { ObjectStore } from '../../../shared/ports.ts';
import { startS3Server } from '../../fakes/s3-server.ts';

const OWNER = '123456789012';
const SOMEBODY = '999999999999';
const PART = 6 * 1024 * 1024;
const environment = process.env;

let s3: Awaited<ReturnType<typeof startS3Server>>;

beforeEach(async () => {
  s3 = await startS3Server();
  process.env = {
    ...environment,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL_S3: s3.url,
  };
});
afterEach(async () => {
  process.env = environment;
  await s3.close();
});

async function upload(store: ObjectStore, bytes: number): Promise<void> {
  const object = store.create('snapshots/large');
  await object.write(new Uint8Array(bytes));
  await object.write(new Uint8Array(1));
  await object.finish();
}

describe('the bucket of a lake', () => {
  it('is named with its owner by an upload in parts that is aborted', async () => {
    s3.faults.refuseParts = true;
    await expect(upload(openBucket('s3://lake', OWNER), PART)).rejects.toThrow();
    expect(s3.requests.join()).toContain('DELETE');
    expect([...s3.namedOwners]).toEqual([OWNER]);
  });

  it('is not changed if it belongs to somebody else, and the message names the account', async () => {
    s3.faults.owner = SOMEBODY;
    const store = openBucket('s3://lake', OWNER);
    await expect(store.put('ledger/a', new Uint8Array(1), { ifAbsent: true })).rejects.toThrow(
      expect.objectContaining({
        kind: 'config',
        message: expect.stringContaining(`the account ${OWNER} owns the bucket`),
      }),
    );
    expect(s3.objects.size).toBe(0);
  });

  it('may belong to anybody if no owner is given', async () => {
    await openBucket('s3://lake', undefined).get('a');
    expect([...s3.namedOwners]).toEqual([undefined]);
  });
});

describe('a lake on the command line', () => {
  it('names the owner from the environment', async () => {
    process.env.BRAND_REPORTS_LAKE_OWNER = OWNER;
    await (await openLake('s3://lake')).store.get('a');
    expect(s3.namedOwners).toContain(OWNER);
    expect(s3.namedOwners).not.toContain(undefined);
  });

  it.each(['acme', '12345678901', `${OWNER} `, '1234-5678-9012'])(
    'is refused for an owner that is not an account: %j',
    async (owner) => {
      process.env.BRAND_REPORTS_LAKE_OWNER = owner;
      await expect(openLake('s3://lake')).rejects.toThrow(
        expect.objectContaining({
          kind: 'config',
          message: expect.stringContaining('BRAND_REPORTS_LAKE_OWNER'),
        }),
      );
      expect(s3.requests).toEqual([]);
    },
  );
});

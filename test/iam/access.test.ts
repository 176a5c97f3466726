import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openS3Store } from '../../shared/adapters/aws/s3-store.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { startS3Server } from '../fakes/s3-server.ts';

const BODY = Buffer.from('x');

let denied: string[];
let server: Awaited<ReturnType<typeof startS3Server>>;
let store: ObjectStore;

beforeEach(async () => {
  denied = [];
  server = await startS3Server({
    access: (key, action, resource) => key === 'test' && !denied.includes(`${action} ${resource}`),
  });
  store = openS3Store({ client: server.client, bucket: 'lake', prefix: '' });
});

afterEach(async () => {
  server.client.destroy();
  await server.close();
});

describe('S3 that knows who may do what', () => {
  it('reports a missing key only to those who may list the bucket', async () => {
    expect(await store.get('key')).toBeUndefined();
    denied = ['s3:ListBucket arn:aws:s3:::lake'];
    await expect(store.get('key')).rejects.toMatchObject({ kind: 'config' });
  });

  it.each<[string, string, (etag: string) => Promise<unknown>]>([
    ['reading', 's3:GetObject', () => store.get('key')],
    ['writing', 's3:PutObject', () => store.put('key', BODY, { ifAbsent: true })],
    ['writing over what was read', 's3:GetObject', (ifMatch) => store.put('key', BODY, { ifMatch })],
    ['removing', 's3:DeleteObject', () => store.delete(['key'])],
  ])('refuses %s without %s', async (_what, action, act) => {
    const written = await store.put('key', BODY, { ifAbsent: true });
    if (written === 'conflict') throw new Error('the key was there');
    denied = [`${action} arn:aws:s3:::lake/key`];
    await expect(act(written.etag)).rejects.toMatchObject({ kind: 'config' });
    expect([...server.objects.keys()]).toEqual(['key']);
  });
});

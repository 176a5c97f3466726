import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { leaseOnlyRuns, openS3Store } from '../../../shared/adapters/aws/s3-store.ts';
import type { ObjectStore } from '../../../shared/ports.ts';
import { objectStoreContract } from '../../contracts/object-store.ts';
import { startS3Server } from '../../fakes/s3-server.ts';

for (const prefix of ['', 'team/reports']) {
  objectStoreContract(`S3 under the prefix "${prefix}"`, async () => {
    const server = await startS3Server();
    await server.client.send(
      new PutObjectCommand({ Bucket: server.bucket, Key: 'teammate/key', Body: 'foreign' }),
    );
    if (prefix === '') server.objects.clear();
    return {
      open: () => openS3Store({ client: server.client, bucket: server.bucket, prefix }),
      close: async () => {
        server.client.destroy();
        await server.close();
        expect(server.uploads.size).toBe(0);
      },
    };
  });
}

describe('S3', () => {
  let server: Awaited<ReturnType<typeof startS3Server>>;
  let store: ObjectStore;
  const body = Buffer.from('{"one":1}');

  beforeEach(async () => {
    server = await startS3Server();
    store = openS3Store({ client: server.client, bucket: server.bucket, prefix: 'lake' });
  });
  afterEach(async () => {
    server.client.destroy();
    await server.close();
  });

  it('I5: reports a conflict if its own write was done but the response was lost, and the write is there', async () => {
    server.faults.loseAnswer = true;
    expect(await store.put('key', body, { ifAbsent: true })).toBe('conflict');
    const found = await store.get('key');
    expect(found?.body).toEqual(body);
    server.faults.loseAnswer = true;
    expect(await store.put('key', Buffer.from('{}'), { ifMatch: found?.etag ?? '' })).toBe('conflict');
    expect(Buffer.from((await store.get('key'))?.body ?? []).toString()).toBe('{}');
  });

  it('lists, reads and deletes noncurrent versions of objects, and nothing that is current', async () => {
    await store.put('raw/a', body, { ifAbsent: true });
    // The console's object for a folder cannot be one of our keys, and must not end an erasure or a copy.
    const folder = server.objects.get('lake/raw/a');
    if (folder) server.objects.set('lake/raw/', folder);
    server.noncurrent.set('v0', { key: 'lake/raw/', bytes: 0 });
    expect(await Array.fromAsync(store.list('raw/'), ({ key }) => key)).toEqual(['raw/a']);
    for (const id of ['v1', 'v2', 'v3', 'v4']) server.noncurrent.set(id, { key: 'lake/raw/a', bytes: 7 });
    server.noncurrent.set('v5', { key: 'lake/raw/b' });
    server.noncurrent.set('v6', { key: 'lake/other', bytes: 1 });
    const kept = await Array.fromAsync(store.noncurrent?.list('raw/') ?? []);
    expect(kept.map(({ key, version, bytes }) => `${key} ${version} ${bytes}`).sort()).toEqual(
      ['v1', 'v2', 'v3', 'v4'].map((id) => `raw/a ${id} 7`).concat('raw/b v5 0'),
    );
    server.noncurrent.set('v1', { key: 'lake/raw/a', body: Buffer.from('before') });
    const [before] = kept.filter(({ version }) => version === 'v1');
    expect(before?.modifiedAt).toEqual(new Date('2026-03-10T12:00:00Z'));
    expect(`${Buffer.from((before && (await store.noncurrent?.get(before))) ?? [])}`).toBe('before');
    expect(before && (await store.noncurrent?.get({ ...before, version: 'v9' }))).toBeUndefined();
    await store.noncurrent?.delete(kept);
    expect([...server.noncurrent.keys()].sort()).toEqual(['v0', 'v6']);
    expect(await store.get('raw/a')).toBeDefined();
  });

  it('names the permission for deleting noncurrent versions', async () => {
    const limited = await startS3Server({ access: (_key, action) => !action.includes('Version') });
    const own = openS3Store({ client: limited.client, bucket: limited.bucket, prefix: '' });
    await expect(Array.fromAsync(own.noncurrent?.list('raw/') ?? [])).rejects.toThrow(
      's3:ListBucketVersions',
    );
    const kept = { key: 'raw/a', version: 'v1', bytes: 1, modifiedAt: new Date(0) };
    await expect(own.noncurrent?.get(kept)).rejects.toThrow('s3:GetObjectVersion');
    await expect(own.noncurrent?.delete([kept])).rejects.toThrow(
      's3:DeleteObjectVersion, which no role of the stack has',
    );
    limited.client.destroy();
    await limited.close();
  });

  it('retries a write that lost a race until it succeeds', async () => {
    server.faults.conflicts = 2;
    expect(await store.put('key', body, { ifAbsent: true })).toEqual({ etag: expect.any(String) });
    expect(server.requests).toEqual(['PUT lake/key', 'PUT lake/key', 'PUT lake/key']);
  });

  it('reports a conflict if a write loses every race', async () => {
    server.faults.conflicts = 1000;
    expect(await store.put('key', body, { ifAbsent: true })).toBe('conflict');
    expect(server.objects.size).toBe(0);
  });

  it('survives a short outage', async () => {
    server.faults.unavailable = 2;
    expect(await store.put('key', body, { ifAbsent: true })).not.toBe('conflict');
  });

  it('writes a small stream in one request', async () => {
    const writer = store.create('key');
    await writer.write(body);
    await writer.finish();
    expect(server.requests).toEqual(['PUT lake/key']);
  });

  it.each([1, 2])('I4: a stream of %d parts that are refused leaves nothing', async (parts) => {
    server.faults.refuseParts = true;
    const writer = store.create('key');
    const written = (async () => {
      for (let part = 0; part < parts; part++) await writer.write(Buffer.alloc(6 * 1024 * 1024));
      await writer.finish();
    })();
    await expect(written).rejects.toMatchObject({
      name: 'BrandReportsError',
      context: { awsError: 'InvalidRequest' },
    });
    await writer.abort();
    expect(server.uploads.size).toBe(0);
    expect(server.objects.size).toBe(0);
  });

  it('deletes more keys than one request can name', async () => {
    const keys = Array.from({ length: 1001 }, (_, index) => `k${index}`);
    for (const key of keys) server.objects.set(`lake/${key}`, { body, etag: '"e"', modifiedAt: new Date() });
    await store.delete(keys);
    expect(server.objects.size).toBe(0);
    expect(server.requests).toEqual(['POST ?delete', 'POST ?delete']);
  });

  const acts: Record<string, (store: ObjectStore) => Promise<unknown>> = {
    get: (store) => store.get('key'),
    range: (store) => store.range('key', 0, 1),
    put: (store) => store.put('key', body, { ifAbsent: true }),
    create: (store) => store.create('key').finish(),
    list: (store) => Array.fromAsync(store.list('')),
    delete: (store) => store.delete(['key']),
  };

  it.each([
    ['get', 's3:GetObject'],
    ['get', 's3:ListBucket'],
    ['range', 's3:GetObject'],
    ['put', 's3:PutObject'],
    ['create', 's3:PutObject'],
    ['list', 's3:ListBucket'],
    ['delete', 's3:DeleteObject'],
  ])('names the permission for a refused %s: %s', async (act, permission) => {
    server.faults.refuseAll = true;
    await expect(acts[act]?.(store)).rejects.toMatchObject({
      kind: 'config',
      code: 'aws_refused',
      message: expect.stringContaining(permission),
    });
  });

  it('explains that without s3:ListBucket a missing key is refused', async () => {
    server.faults.refuseMissing = true;
    await expect(store.get('key')).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('s3:ListBucket'),
    });
  });

  it.each(Object.keys(acts))('reports %s as transient after a long outage', async (act) => {
    server.faults.unavailable = 1000;
    await expect(acts[act]?.(store)).rejects.toMatchObject({ kind: 'transient', code: 'aws_unavailable' });
  });

  it.each(Object.keys(acts))('reports for %s that the bucket does not exist', async (act) => {
    const elsewhere = openS3Store({ client: server.client, bucket: 'none', prefix: '' });
    await expect(acts[act]?.(elsewhere)).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('bucket none'),
    });
  });

  it('reports a server that does not respond as transient', async () => {
    await server.close();
    await expect(store.get('key')).rejects.toMatchObject({ kind: 'transient', code: 'aws_unavailable' });
  });

  it('reports no run as dead', async () => {
    await (await leaseOnlyRuns.register('r1'))();
    expect(await leaseOnlyRuns.isDead('r1')).toBe(false);
  });
});

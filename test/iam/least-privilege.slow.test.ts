import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { DeleteObjectsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Deployment, deployToDoubles } from '../functions/deployed.ts';
import { UNEXERCISED, type Usage, exercise, usageOf } from './exercise.ts';

/** The life of a deployment starts about a hundred processes. */
const LIFE_MS = 900_000;

/** Names as in a bundle: the path of a bundled file, or the name of an import. */
const LIBRARIES_OF_THE_LAPTOP = /node_modules\/(?:parquetjs-lite|@duckdb)|["'](?:parquetjs-lite|@duckdb\/)/;

let deployment: Deployment;
let usage: Usage[];

beforeAll(async () => {
  deployment = await deployToDoubles(() => new Date());
  await exercise(deployment);
  usage = usageOf(deployment);
}, LIFE_MS);
afterAll(() => deployment.close());

describe('the role of a function', () => {
  it('allows every call that the function makes', () => {
    expect(deployment.refused).toEqual([]);
  });

  it('is used only for the bucket of its own account: every call names the account', () => {
    expect([...deployment.s3.namedOwners]).toEqual(['123456789012']);
  });

  it('has no unused permission without a reason', () => {
    const unused = usage.filter(({ calls, reason }) => calls === 0 && reason === undefined);
    expect(unused.map(({ name, action, resource }) => `${name}: ${action} ${resource}`)).toEqual([]);
  });

  it.each(UNEXERCISED)('needs $action although no function uses it: $reason', ({ reason }) => {
    const named = usage.filter((one) => one.reason === reason);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ calls }) => calls > 0)).toEqual([]);
  });
});

describe('a bundle', () => {
  it('contains everything that it needs, and no forbidden library', () => {
    expect(deployment.functions.map(({ name }) => name).sort()).toEqual(['sync', 'watch']);
    for (const { bundle } of deployment.functions)
      expect(readFileSync(bundle, 'utf8')).not.toMatch(LIBRARIES_OF_THE_LAPTOP);
  });

  it('returns the remaining work if the time is short, and throws nothing', async () => {
    const { answer } = await deployment.invoke('sync', { brand: 'globex' }, { remainingMs: 1 });
    expect(answer).toMatchObject({ status: 'incomplete', brands: [{ brand: 'globex' }] });
  });

  it('I9: leaves no credential in logs or objects', () => {
    const stored = [...deployment.s3.objects].map(([key, { body }]) => key + text(key, body)).join('\n');
    for (const { token, secret } of Object.values(deployment.sample.brands)) {
      expect(deployment.printed() + stored).not.toContain(token);
      expect(deployment.printed() + stored).not.toContain(secret);
    }
    expect(deployment.printed()).not.toMatch(/[0-9a-f]{64}/);
  });
});

describe('the policy of the bucket, for somebody who may do everything', () => {
  const Bucket = 'lake';
  const Body = 'by hand';
  const created = async (Key: string) =>
    (await deployment.s3.client.send(new PutObjectCommand({ Bucket, Key, Body, IfNoneMatch: '*' }))).ETag;

  beforeAll(() => void deployment.policies.set('test', () => true));

  it.each(['ledger/order_list/acme/2020-01.json', 'schema/by-hand.json'])(
    'I5: refuses to write %s without a condition, to create it or over it',
    async (Key) => {
      const write = () => deployment.s3.client.send(new PutObjectCommand({ Bucket, Key, Body: 'over it' }));
      await expect(write()).rejects.toThrow('AccessDenied');
      await created(Key);
      await expect(write()).rejects.toThrow('AccessDenied');
      expect(deployment.s3.objects.get(Key)?.body.toString()).toBe(Body);
    },
  );

  it('lets documents be replaced under a condition, and deleted', async () => {
    const Key = 'ledger/order_list/acme/2020-02.json';
    const IfMatch = await created(Key);
    await deployment.s3.client.send(new PutObjectCommand({ Bucket, Key, Body: 'restored', IfMatch }));
    expect(deployment.s3.objects.get(Key)?.body.toString()).toBe('restored');
    await deployment.s3.client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key }] } }));
    expect(deployment.s3.objects.has(Key)).toBe(false);
  });

  it('lets large objects be uploaded in parts, without a condition', async () => {
    const params = { Bucket, Key: 'snapshots/by-hand/part-0000.parquet', Body: Buffer.alloc(6_000_000) };
    await new Upload({ client: deployment.s3.client, params }).done();
    expect(deployment.s3.objects.get(params.Key)?.body.length).toBe(6_000_000);
  });
});

function text(key: string, body: Buffer): string {
  return (key.endsWith('.gz') ? gunzipSync(body) : body).toString('latin1');
}

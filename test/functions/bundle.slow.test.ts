import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { DeleteObjectsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as z from 'zod/mini';
import { recordsOfDay } from '../../sample/brand.ts';
import { addDays, dayOf, daysFrom } from '../../shared/base/days.ts';
import { type Deployment, deployToDoubles } from './deployed.ts';

const TODAY = dayOf(Date.now(), 'UTC');

const TABLES = [
  ['clicks_list', 'clicks'],
  ['clicks_detail', 'click_details'],
  ['order_list', 'orders'],
  ['transaction_list', 'transactions'],
  ['amazon_attribution_report', 'attribution'],
] as const;

/** Names as in a bundle: the path of a bundled file, or the name of an import. */
const LIBRARIES_OF_THE_LAPTOP = /node_modules\/(?:parquetjs-lite|@duckdb)|["'](?:parquetjs-lite|@duckdb\/)/;

let deployment: Deployment;

const resultSchema = z.object({
  status: z.string(),
  next: z.string(),
  brands: z.array(
    z.object({
      brand: z.string(),
      reports: z.record(
        z.string(),
        z.object({
          read: z.object({ days: z.number(), from: z.string(), to: z.string(), rows: z.number() }),
        }),
      ),
    }),
  ),
});

beforeAll(async () => {
  deployment = await deployToDoubles(() => new Date());
});
afterAll(() => deployment.close());

describe('the synthesised bundle', () => {
  it('contains everything that it needs, and no forbidden library', () => {
    expect(deployment.functions.map(({ name }) => name).sort()).toEqual(['sync', 'watch']);
    for (const { bundle } of deployment.functions)
      expect(readFileSync(bundle, 'utf8')).not.toMatch(LIBRARIES_OF_THE_LAPTOP);
  });

  it('checks the connection and writes nothing', async () => {
    const { answer } = await deployment.invoke('sync', { reports: ['orders'], check: true });
    expect(answer).toMatchObject({ status: 'ok' });
    expect(deployment.sample.requests.length).toBeGreaterThan(0);
    expect([...deployment.s3.objects.keys()]).toEqual([]);
  });

  it('returns the remaining work if the time is short, and throws nothing', async () => {
    const { answer } = await deployment.invoke('sync', { brand: 'globex' }, { remainingMs: 1 });
    expect(answer).toMatchObject({ status: 'incomplete', brands: [{ brand: 'globex' }] });
  });

  it('names s3:ListBucket if its policies do not allow it', async () => {
    const { role } = deployment.functionNamed('sync');
    deployment.policies.set(
      'cannot-list',
      (action, resource, context) =>
        action !== 's3:ListBucket' && deployment.may(role, action, resource, context),
    );
    const { answer } = await deployment.invoke('sync', { reports: ['orders'] }, { role: 'cannot-list' });
    const error = { kind: 'config', message: expect.stringContaining('s3:ListBucket') };
    const refused = { reports: { order_list: { error } } };
    expect(answer).toMatchObject({ status: 'failed', next: 'person', brands: [refused, refused] });
  });

  it('reads all reports of all brands, on S3 and in the catalog', async () => {
    const { answer } = await deployment.invoke('sync', {});
    const { status, next, brands } = z.parse(resultSchema, answer);
    expect({ status, next, brands: brands.map(({ brand }) => brand).sort() }).toEqual({
      ...{ status: 'complete', next: 'nothing' },
      brands: ['acme', 'globex'],
    });
    for (const { brand, reports } of brands)
      for (const [report, table] of TABLES) {
        const { [brand]: held } = deployment.sample.brands;
        const read = reports[report]?.read;
        if (!held || !read) throw new Error(`${brand} ${report} was not read`);
        expect(read.days).toBeGreaterThanOrEqual(3);
        const days = daysFrom(read.from, read.to);
        const records = days.reduce((sum, day) => sum + recordsOfDay(held, report, day).length, 0);
        expect({ report, rows: read.rows }).toEqual({ report, rows: records });
        for (const day of days)
          expect(objectsAt(table, brand, day)).toEqual([expect.stringMatching(/\/part-0000\.parquet$/)]);
      }
  });

  it('rebuilds days from their raw records, without a request and without a secret', async () => {
    // Not the current day: just after midnight none of it has been read.
    const [from, to] = [-2, -1].map((days) => addDays(TODAY, days));
    const [requests, calls] = [deployment.sample.requests.length, deployment.calls.length];
    const { answer } = await deployment.invoke('sync', {
      ...{ rebuild: true, brand: 'acme', reports: ['orders'], from, to },
    });
    expect(answer).toMatchObject({
      status: 'complete',
      reports: [
        { brand: 'acme', report: 'order_list', days: [{ outcome: 'unchanged' }, { outcome: 'unchanged' }] },
      ],
    });
    expect(deployment.sample.requests).toHaveLength(requests);
    const services = deployment.calls.slice(calls).map(({ action }) => action.split(':')[0]);
    expect(new Set(services)).toEqual(new Set(['s3', 'glue']));
  });

  it('draws the status page, and makes every table and view', async () => {
    expect(await deployment.invoke('watch', {})).toMatchObject({
      answer: { problems: expect.anything() },
    });
    const page = deployment.s3.objects.get('status/coverage.html');
    expect(page?.body.toString()).toMatch(/<h1>Brand reports.*acme.*globex/s);
  });

  it('rebuilds the catalog from the lake', async () => {
    const catalogued = () =>
      Object.fromEntries(
        [...deployment.glue.tables].map(([name, { partitions }]) => [name, new Set(partitions.keys())]),
      );
    const before = catalogued();
    deployment.glue.tables.clear();
    const { answer } = await deployment.invoke('watch', { rebuildCatalog: true });
    expect(answer).toMatchObject({ catalog: { status: 'complete', brandsLeft: [] } });
    expect(catalogued()).toEqual(before);
  });

  it('returns a failure as a document, with the command that fixes it', async () => {
    deployment.secrets.secrets.delete('brand-reports/acme');
    const { answer } = await deployment.invoke('sync', {
      ...{ brand: 'acme', reports: ['order_list'] },
      from: addDays(TODAY, -1),
    });
    expect(answer).toMatchObject({
      status: 'failed',
      brands: [
        {
          reports: {
            order_list: { error: { kind: 'config', message: expect.stringContaining('create-secret') } },
          },
        },
      ],
    });
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

/** The objects under the location that the catalog gives for the partition. */
function objectsAt(table: string, brand: string, day: string): string[] {
  const { Location } = z.parse(
    z.object({ Location: z.string() }),
    deployment.glue.tables.get(table)?.partitions.get(`${brand}/${day}`)?.StorageDescriptor,
  );
  return [...deployment.s3.objects.keys()].filter((key) => `s3://lake/${key}`.startsWith(Location));
}

function text(key: string, body: Buffer): string {
  return (key.endsWith('.gz') ? gunzipSync(body) : body).toString('latin1');
}

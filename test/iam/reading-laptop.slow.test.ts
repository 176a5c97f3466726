/**
 * Checks the policy in docs/how-to/grant-read-access.md: the reading commands run with it, and use all of its
 * permissions.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as z from 'zod/mini';
import { runCli } from '../cli/run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from '../cli/sample-brand.ts';
import { restate } from '../../sample/brand.ts';
import { addDays, dayOf, daysBetween } from '../../shared/base/days.ts';
import { textOf } from '../docs/pages.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { uploadFolder } from '../fakes/upload-folder.ts';
import { covers, policyOf } from './policy.ts';

const PAGE = 'docs/how-to/grant-read-access.md';

const policySchema = z.object({
  Statement: z.array(z.looseObject({ Action: z.array(z.string()), Resource: z.array(z.string()) })),
});
const [, json = ''] = /^```json$(.*?)^```$/ms.exec(textOf(PAGE)) ?? [];
const { Statement } = z.parse(policySchema, JSON.parse(json.replaceAll('BUCKET', 'lake')));
const allows = policyOf(Statement);
const called: { action: string; resource: string }[] = [];

let sample: SampleBrandForCli;
/** In the previous month, which can be closed. */
const LAST_MONTH = addDays(`${dayOf(Date.now(), 'America/New_York').slice(0, 7)}-01`, -1);
const daysBefore = daysBetween(LAST_MONTH, dayOf(Date.now(), 'America/New_York'));
const MONTH = LAST_MONTH.slice(0, 7);

let s3: Awaited<ReturnType<typeof startS3Server>>;

beforeAll(async () => {
  sample = await serveSampleBrand({ daysBefore });
  s3 = await startS3Server({
    bucket: 'lake',
    pageSize: 50,
    access(_accessKey, action, resource) {
      called.push({ action, resource });
      return allows(action, resource);
    },
  });
  const day = ['--from', LAST_MONTH, '--to', LAST_MONTH];
  expect((await runCli(['sync', ...day, ...sample.flags])).code).toBe(0);
  const { acme } = sample.service.brands;
  if (acme)
    restate(acme, 'order_list', LAST_MONTH, (held) =>
      held.map(({ at, record }) => ({ at, record: { ...record, status: 'void' } })),
    );
  expect((await runCli(['sync', 'order_list', ...day, ...sample.flags])).code).toBe(0);
  const [settings = '', file = ''] = sample.flags;
  expect((await runCli(['close', MONTH, '--anyway', settings, file, '--lake', sample.lake])).code).toBe(0);
  uploadFolder(s3, sample.lake);
});
afterAll(() => Promise.all([s3, sample].map((each) => each.close())));

function brandReports(args: readonly string[]) {
  const env = {
    ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'LAPTOP', AWS_SECRET_ACCESS_KEY: 'secret' },
    ...{ AWS_ENDPOINT_URL_S3: s3.url, XDG_CACHE_HOME: join(sample.folder, 'cache') },
  };
  return runCli(args, { env, cwd: sample.folder });
}

describe('the policy of a reading laptop', () => {
  it.each([
    ['query', 'SELECT count(*) AS orders FROM orders'],
    ['query', 'SELECT count(*) AS days FROM coverage'],
    ['query', 'SELECT count(*) AS facts FROM changes'],
    ['query', 'SELECT count(*) AS rows FROM since_close'],
    ['query', 'SELECT count(*) AS rows FROM order_states'],
    ['status', '--settings', 'settings.json'],
    ['open'],
    ['verify'],
    ['close'],
    ['diff', 'orders', LAST_MONTH],
    ['statement', '--month', MONTH],
    ['dbt', 'init', 'project'],
  ])('suffices for %s %s', async (...args) => {
    const { code, stderr } = await brandReports([...args, '--lake', 's3://lake']);
    expect(stderr).not.toMatch(/grant on|AccessDenied|^error/m);
    expect(code).toBeLessThan(2);
  });

  it('allows no writes, and no reads of raw records or settings', async () => {
    for (const key of ['ledger/order_list/acme/2026-01.json', 'snapshots/orders/x.parquet'])
      for (const action of ['s3:PutObject', 's3:DeleteObject'])
        expect([action, key, allows(action, `arn:aws:s3:::lake/${key}`)]).toEqual([action, key, false]);
    for (const prefix of ['raw', 'settings', 'deployments', 'query-results', 'leases', 'iceberg'])
      expect([prefix, allows('s3:GetObject', `arn:aws:s3:::lake/${prefix}/x`)]).toEqual([prefix, false]);
    const sync = await brandReports(['sync', ...sample.flags.slice(0, 4), '--lake', 's3://lake']);
    expect([sync.code, sync.stdout + sync.stderr]).toEqual([1, expect.stringContaining('AccessDenied')]);
  });

  it('has only permissions that these commands use', () => {
    const permissions = Statement.flatMap(({ Action, Resource }) =>
      Action.flatMap((action) => Resource.map((resource) => ({ action, resource }))),
    );
    const unused = permissions.filter((permission) => !called.some((call) => covers(permission, call)));
    expect(unused).toEqual([]);
  });
});

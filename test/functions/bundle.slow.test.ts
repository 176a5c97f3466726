import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as z from 'zod/mini';
import { recordsOfDay } from '../../sample/brand.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { addDays, dayOf } from '../../shared/days.ts';
import { type Access, PLACE } from '../fakes/access.ts';
import { startGlueServer } from '../fakes/glue-server.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { startSecretsServer } from '../fakes/secrets-server.ts';
import { type Allows, policyOfRole } from '../iam/policy.ts';
import { parseTemplate, resolve, resourcesOf, type Template, type Values } from '../iam/template.ts';

/** A whole second, as the times of the sample's records are. */
const NOW = new Date(Math.floor(Date.now() / 1000) * 1000);
const EVENT = { now: NOW.toISOString(), requestsPerSecond: 1000 };
const MINUTES_15 = 900_000;

const TABLES = [
  ['clicks_list', 'clicks'],
  ['clicks_detail', 'click_details'],
  ['order_list', 'orders'],
  ['transaction_list', 'transactions'],
  ['amazon_attribution_report', 'attribution'],
] as const;

/** As a bundle has them: as the path of what was bundled, or as the name of what is imported. */
const LIBRARIES_OF_THE_LAPTOP = /node_modules\/(?:parquetjs-lite|@duckdb)|["'](?:parquetjs-lite|@duckdb\/)/;

const execute = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'brand-reports-bundle-'));
let sample: SampleService;
let s3: Awaited<ReturnType<typeof startS3Server>>;
let glue: Awaited<ReturnType<typeof startGlueServer>>;
let secrets: Awaited<ReturnType<typeof startSecretsServer>>;
let functions: SynthesisedFunction[];
let printed = '';

/** What every function's role may do, by the role's name; a function signs with that as its access key. */
const policies = new Map<string, Allows>();
const access: Access = (role, action, resource) =>
  policies.get(role)?.(action, resource, { 'aws:SecureTransport': 'true' }) ?? false;

interface SynthesisedFunction {
  /** Without the stack's name. */
  name: string;
  bundle: string;
  role: string;
  environment: Record<string, string>;
}

const functionSchema = z.object({
  FunctionName: z.string(),
  Role: z.string(),
  Code: z.object({ S3Key: z.string() }),
  Environment: z.object({ Variables: z.record(z.string(), z.string()) }),
});

const outcomeSchema = z.object({
  status: z.string(),
  reports: z.array(
    z.object({ brand: z.string(), days: z.array(z.object({ dt: z.string(), rows: z.number() })) }),
  ),
});

beforeAll(async () => {
  sample = await startSampleService({ now: () => NOW });
  s3 = await startS3Server({ bucket: 'lake', pageSize: 1000, access });
  glue = await startGlueServer('brand_reports', { access });
  secrets = await startSecretsServer({ access });
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    secrets.secrets.set(`brand-reports/${brand}`, JSON.stringify(credentials));
  functions = await synthesise();
});

afterAll(async () => {
  await Promise.all([sample, s3, glue, secrets].map((server) => server.close()));
  rmSync(folder, { recursive: true });
});

describe('the synthesised bundle', () => {
  it('contains everything that it needs, and no library that a function must not have', () => {
    expect(functions.map(({ name }) => name)).toEqual(expect.arrayContaining(TABLES.map(([name]) => name)));
    for (const { bundle } of functions)
      expect(readFileSync(bundle, 'utf8')).not.toMatch(LIBRARIES_OF_THE_LAPTOP);
  });

  it.each<[string, unknown, RegExp]>([
    ['an unknown key', { brands: ['acme'] }, /brands is unknown; allowed: brand, from/],
    ['an unknown brand', { brand: 'nobody' }, /brand is "nobody"; allowed: acme, globex/],
  ])('throws on an event with %s', async (_name, event, message) => {
    expect(await invoke('order_list', event)).toEqual({
      errorType: 'BrandReportsError',
      errorMessage: expect.stringMatching(message),
      metrics: [],
    });
    expect(sample.requests).toHaveLength(0);
  });

  it('checks the connection and writes nothing', async () => {
    const { answer, metrics } = await invoke('order_list', { ...EVENT, check: true });
    expect(metrics).toEqual([]);
    expect(answer).toMatchObject({ status: 'ok' });
    expect(sample.requests.length).toBeGreaterThan(0);
    expect(s3.objects.size).toBe(0);
  });

  it('returns what is left to do where the time is short, and throws nothing', async () => {
    const { answer } = await invoke('order_list', { ...EVENT, brand: 'globex' }, { remainingMs: 1 });
    expect(answer).toMatchObject({ status: 'incomplete', reports: [{ brand: 'globex' }] });
  });

  it('names s3:ListBucket where its policies do not allow that', async () => {
    const { role } = functionNamed('order_list');
    policies.set(
      'cannot-list',
      (action, resource) => action !== 's3:ListBucket' && access(role, action, resource),
    );
    const { answer } = await invoke('order_list', EVENT, { role: 'cannot-list' });
    const refused = { error: { kind: 'config', message: expect.stringContaining('s3:ListBucket') } };
    expect(answer).toMatchObject({ status: 'failed', reports: [refused, refused] });
  });

  it('can do nothing under the policies of another report', async () => {
    const stored = () => [...s3.objects].map(([key, { etag }]) => `${key} ${etag}`);
    const before = stored();
    const { answer } = await invoke('clicks_list', EVENT, { role: functionNamed('order_list').role });
    const refused = { error: { kind: 'config' } };
    expect(answer).toMatchObject({ status: 'failed', reports: [refused, refused] });
    expect(stored()).toEqual(before);
  });

  it.each(TABLES)('syncs %s of all brands into %s, on S3 and in the catalog', async (report, table) => {
    const { answer } = await invoke(report, EVENT);
    const { status, reports } = z.parse(outcomeSchema, answer);
    expect({ status, brands: reports.map(({ brand }) => brand).sort() }).toEqual({
      status: 'complete',
      brands: ['acme', 'globex'],
    });
    for (const { brand, days } of reports) {
      const { [brand]: held } = sample.brands;
      if (!held) throw new Error(`the sample has no brand ${brand}`);
      for (const { dt, rows } of days) {
        expect({ dt, rows }).toEqual({ dt, rows: recordsOfDay(held, report, dt).length });
        expect(objectsAt(table, brand, dt)).toEqual([expect.stringMatching(/\/part-0000\.parquet$/)]);
      }
      expect(days.length).toBeGreaterThanOrEqual(3);
    }
  });

  it('emits the metrics of each brand, and those of health in a run at the current time', async () => {
    const traffic = { _aws: expect.anything(), report: 'order_list', Rows: expect.any(Number) };
    const health = { Failures: 0, SecondsSinceNewestCompleteDay: expect.any(Number) };
    const { now: _now, ...present } = EVENT;
    expect((await invoke('order_list', present)).metrics).toEqual([
      expect.objectContaining({ ...traffic, ...health, brand: 'acme' }),
      expect.objectContaining({ ...traffic, ...health, brand: 'globex' }),
    ]);
    const [metrics] = (await invoke('order_list', { ...EVENT, brand: 'acme' })).metrics;
    expect(metrics).toEqual(expect.objectContaining(traffic));
    expect(metrics).not.toEqual(expect.objectContaining(health));
  });

  it('backfills a range of days', async () => {
    const day = addDays(dayOf(NOW.getTime(), 'UTC'), -5);
    const plan = { report: 'order_list', brand: 'acme', from: day, to: day };
    const planned = await invoke('backfill', { plan, execution: 'this', running: [] });
    const { items } = z.parse(z.object({ items: z.array(z.unknown()) }), planned.answer);
    expect(items).toHaveLength(1);
    const { answer } = await invoke('backfill', items[0]);
    expect(answer).toMatchObject({ next: 'end', outcome: { status: 'complete' } });
  });

  it('draws the calendar', async () => {
    const { answer } = await invoke('calendar', {});
    expect(answer).toMatch(/acme.*globex/s);
    expect(answer).not.toContain('cannot be drawn');
  });

  it('rebuilds the catalog from the lake', async () => {
    const catalogued = () =>
      Object.fromEntries(
        [...glue.tables].map(([name, { partitions }]) => [name, new Set(partitions.keys())]),
      );
    const before = catalogued();
    glue.tables.clear();
    expect(await invoke('rebuild-catalog', {})).toMatchObject({ answer: expect.anything() });
    expect(catalogued()).toEqual({ ...before, freshness: new Set() });
  });

  it('returns a failure as a document, with the command that fixes it', async () => {
    secrets.secrets.delete('brand-reports/acme');
    const { answer } = await invoke('order_list', {
      ...EVENT,
      brand: 'acme',
      from: addDays(dayOf(NOW.getTime(), 'UTC'), -1),
    });
    expect(answer).toMatchObject({
      status: 'failed',
      reports: [{ error: { kind: 'config', message: expect.stringContaining('create-secret') } }],
    });
  });

  it('I9: leaves no credential in logs or objects', () => {
    const stored = [...s3.objects].map(([key, { body }]) => key + text(key, body)).join('\n');
    for (const { token, secret } of Object.values(sample.brands)) {
      expect(printed + stored).not.toContain(token);
      expect(printed + stored).not.toContain(secret);
    }
    expect(printed).not.toMatch(/[0-9a-f]{64}/);
  });
});

describe('the policies of a function', () => {
  const others = TABLES.flatMap(([report]) =>
    TABLES.flatMap(([other, table]) => (other === report ? [] : [{ report, other, table }])),
  );

  it.each(others)('let $report change nothing of $other', ({ report, other, table }) => {
    const { role } = functionNamed(report);
    const objects = [`raw/${other}/x`, `ledger/${other}/x`, `snapshots/${table}/x`, `schema/${table}.json`];
    const isUpstream = report === 'clicks_detail' && other === 'clicks_list';
    for (const key of [...objects, `snapshots/coverage/brand=acme/report=${other}/x`]) {
      const may = (action: string) => access(role, action, `arn:aws:s3:::lake/${key}`);
      expect(['s3:PutObject', 's3:DeleteObject'].filter(may)).toEqual([]);
      expect({ key, read: may('s3:GetObject') }).toEqual({
        key,
        read: isUpstream && /^(ledger|snapshots\/clicks)\//.test(key),
      });
    }
    for (const action of ['glue:UpdateTable', 'glue:CreatePartition', 'glue:UpdatePartition'])
      expect(access(role, action, `arn:aws:glue:${PLACE}:table/brand_reports/${table}`)).toBe(false);
  });

  it('let it read the secrets of its brands and no other', () => {
    for (const { role } of TABLES.map(([report]) => functionNamed(report))) {
      const readable = ['brand-reports/acme', 'brand-reports/globex', 'brand-reports/acme-2', 'other'].filter(
        (name) =>
          access(
            role,
            'secretsmanager:GetSecretValue',
            `arn:aws:secretsmanager:${PLACE}:secret:${name}-AbCdEf`,
          ),
      );
      expect(readable).toEqual(['brand-reports/acme', 'brand-reports/globex']);
    }
  });
});

/** Makes the template, the bundles and the policies as a deployment does. */
async function synthesise(): Promise<SynthesisedFunction[]> {
  const settings = join(folder, 'settings.json');
  writeFileSync(settings, JSON.stringify(sampleSettings(sample)));
  const out = join(folder, 'cdk.out');
  const env = { ...process.env, CDK_OUTDIR: out, CDK_CONTEXT_JSON: JSON.stringify({ settings }) };
  await execute(process.execPath, ['infra/app.ts'], { env });
  const template = parseTemplate(readFileSync(join(out, 'BrandReports.template.json'), 'utf8'));
  const values = valuesOf(template);
  return resourcesOf(template, 'AWS::Lambda::Function').flatMap(([, properties]) => {
    const { success, data } = z.safeParse(functionSchema, resolve(properties, values));
    if (!success) return [];
    const { FunctionName, Role, Code, Environment } = data;
    policies.set(Role, policyOfRole(template, Role, values));
    const asset = `asset.${Code.S3Key.replace('.zip', '')}`;
    return [
      {
        name: FunctionName.replace('BrandReports-', ''),
        bundle: join(out, asset, 'index.mjs'),
        role: Role,
        environment: Environment.Variables,
      },
    ];
  });
}

/** What a deployment to the doubles of AWS would know of the resources. */
function valuesOf(template: Template): Values {
  const ids = (type: string) => resourcesOf(template, type).map(([id]) => id);
  const [bucket = '', database = ''] = [...ids('AWS::S3::Bucket'), ...ids('AWS::Glue::Database')];
  return {
    'AWS::Partition': 'aws',
    'AWS::Region': 'us-east-1',
    'AWS::AccountId': '123456789012',
    'AWS::StackName': 'BrandReports',
    [bucket]: 'lake',
    [`${bucket}.Arn`]: 'arn:aws:s3:::lake',
    [database]: 'brand_reports',
    ...Object.fromEntries(ids('AWS::IAM::Role').map((id) => [`${id}.Arn`, id])),
  };
}

function functionNamed(name: string): SynthesisedFunction {
  const found = functions.find((each) => each.name === name);
  if (found === undefined) throw new Error(`the template has no function ${name}`);
  return found;
}

/**
 * Starts the function's bundle in a process of its own, with the local servers for AWS.
 * @param options in place of what the template says: `role` is whose policies count
 */
async function invoke(
  name: string,
  event: unknown,
  options: { remainingMs?: number; role?: string } = {},
): Promise<Record<string, unknown> & { metrics: unknown[] }> {
  const { bundle, environment, ...own } = functionNamed(name);
  const { remainingMs = MINUTES_15, role = own.role } = options;
  const { stdout, stderr } = await execute(
    process.execPath,
    [
      fileURLToPath(new URL('./lambda-runtime.ts', import.meta.url)),
      bundle,
      JSON.stringify(event),
      String(remainingMs),
    ],
    {
      maxBuffer: 2 ** 28,
      env: {
        PATH: process.env.PATH,
        ...environment,
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: role,
        AWS_SECRET_ACCESS_KEY: 'test',
        AWS_ENDPOINT_URL_S3: s3.url,
        AWS_ENDPOINT_URL_GLUE: glue.url,
        AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
      },
    },
  );
  printed += stdout + stderr;
  const lines = stdout.trimEnd().split('\n');
  const metrics = lines
    .filter((line) => line.startsWith('{"_aws":'))
    .map((line): unknown => JSON.parse(line));
  return { ...z.parse(z.record(z.string(), z.unknown()), JSON.parse(lines.at(-1) ?? '')), metrics };
}

/** The objects under the location that the catalog gives for the partition. */
function objectsAt(table: string, brand: string, day: string): string[] {
  const { Location } = z.parse(
    z.object({ Location: z.string() }),
    glue.tables.get(table)?.partitions.get(`${brand}/${day}`)?.StorageDescriptor,
  );
  return [...s3.objects.keys()].filter((key) => `s3://lake/${key}`.startsWith(Location));
}

function text(key: string, body: Buffer): string {
  return (key.endsWith('.gz') ? gunzipSync(body) : body).toString('latin1');
}

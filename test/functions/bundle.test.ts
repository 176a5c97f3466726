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
import { startGlueServer } from '../fakes/glue-server.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { startSecretsServer } from '../fakes/secrets-server.ts';

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

const execute = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'brand-reports-bundle-'));
let sample: SampleService;
let s3: Awaited<ReturnType<typeof startS3Server>>;
let glue: Awaited<ReturnType<typeof startGlueServer>>;
let secrets: Awaited<ReturnType<typeof startSecretsServer>>;
let functions: SynthesisedFunction[];
let printed = '';

interface SynthesisedFunction {
  report: string;
  bundle: string;
}

const functionSchema = z.object({
  Type: z.literal('AWS::Lambda::Function'),
  Properties: z.object({
    Code: z.object({ S3Key: z.string() }),
    Environment: z.object({ Variables: z.object({ REPORT: z.string() }) }),
  }),
});

const outcomeSchema = z.object({
  status: z.string(),
  reports: z.array(
    z.object({ brand: z.string(), days: z.array(z.object({ dt: z.string(), rows: z.number() })) }),
  ),
});

beforeAll(async () => {
  sample = await startSampleService({ now: () => NOW });
  s3 = await startS3Server({ bucket: 'lake', pageSize: 1000 });
  glue = await startGlueServer('brand_reports');
  secrets = await startSecretsServer();
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    secrets.secrets.set(`brand-reports/${brand}`, JSON.stringify(credentials));
  functions = await synthesise();
});

afterAll(async () => {
  await Promise.all([sample, s3, glue, secrets].map((server) => server.close()));
  rmSync(folder, { recursive: true });
});

describe('the synthesised bundle', () => {
  it('holds all that it needs, and no library that a function must not have', () => {
    expect(functions).toHaveLength(TABLES.length);
    for (const { bundle } of functions) expect(readFileSync(bundle, 'utf8')).not.toMatch(/parquetjs|duckdb/);
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

  it('answers with what is left to do where the time is short, and throws nothing', async () => {
    const { answer } = await invoke('order_list', { ...EVENT, brand: 'globex' }, 1);
    expect(answer).toMatchObject({ status: 'incomplete', reports: [{ brand: 'globex' }] });
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

  it('prints metrics of each brand, and how the reports stand where the run is one of the present', async () => {
    const traffic = { _aws: expect.anything(), report: 'order_list', Rows: expect.any(Number) };
    const standing = { Failures: 0, SecondsSinceNewestCompleteDay: expect.any(Number) };
    const { now: _now, ...present } = EVENT;
    expect((await invoke('order_list', present)).metrics).toEqual([
      expect.objectContaining({ ...traffic, ...standing, brand: 'acme' }),
      expect.objectContaining({ ...traffic, ...standing, brand: 'globex' }),
    ]);
    const [of] = (await invoke('order_list', { ...EVENT, brand: 'acme' })).metrics;
    expect(of).toEqual(expect.objectContaining(traffic));
    expect(of).not.toEqual(expect.objectContaining(standing));
  });

  it('answers a failure as a document, with the command that mends it', async () => {
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

  it('I9: leaves no credential in what it prints or stores', () => {
    const stored = [...s3.objects].map(([key, { body }]) => key + text(key, body)).join('\n');
    for (const { token, secret } of Object.values(sample.brands)) {
      expect(printed + stored).not.toContain(token);
      expect(printed + stored).not.toContain(secret);
    }
    expect(printed).not.toMatch(/[0-9a-f]{64}/);
  });
});

/** Makes the template and the bundles as a deployment does. */
async function synthesise(): Promise<SynthesisedFunction[]> {
  const settings = join(folder, 'settings.json');
  writeFileSync(settings, JSON.stringify(sampleSettings(sample)));
  const out = join(folder, 'cdk.out');
  const env = { ...process.env, CDK_OUTDIR: out, CDK_CONTEXT_JSON: JSON.stringify({ settings }) };
  await execute(process.execPath, ['infra/app.ts'], { env });
  const { Resources } = z.parse(
    z.object({ Resources: z.record(z.string(), z.unknown()) }),
    JSON.parse(readFileSync(join(out, 'BrandReports.template.json'), 'utf8')),
  );
  return Object.values(Resources).flatMap((resource) => {
    const { success, data } = z.safeParse(functionSchema, resource);
    if (!success) return [];
    const { Code, Environment } = data.Properties;
    const asset = `asset.${Code.S3Key.replace('.zip', '')}`;
    return [{ bundle: join(out, asset, 'index.mjs'), report: Environment.Variables.REPORT }];
  });
}

/** Starts the report's bundle in a process of its own, with the local servers for AWS. */
async function invoke(
  report: string,
  event: unknown,
  remainingMs = MINUTES_15,
): Promise<Record<string, unknown> & { metrics: unknown[] }> {
  const bundle = functions.find((each) => each.report === report)?.bundle;
  if (bundle === undefined) throw new Error(`the template has no function for ${report}`);
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
        REPORT: report,
        LAKE_URL: 's3://lake',
        DATABASE: 'brand_reports',
        METRICS_NAMESPACE: 'BrandReports',
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'test',
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

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod/mini';
import { recordsOfDay } from '../../sample/brand.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { addDays, dayOf, daysFrom } from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings, type Settings } from '../../shared/settings.ts';
import { bringDown, catalogued, hindrances } from '../acceptance/athena.ts';
import { differences, readLakeTable } from '../acceptance/lake.ts';
import { startSchemasServer } from '../fakes/schemas-server.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { type Held, startLocalAws } from './local-aws.ts';

jest.setTimeout(180_000);

const STACK = 'BrandReports';
const DATABASE = 'brand_reports';
/** More than a month. */
const DAYS_OF_HISTORY = 35;
const REPORTS = [
  'clicks_list',
  'clicks_detail',
  'order_list',
  'transaction_list',
  'amazon_attribution_report',
] as const;

const outcomeSchema = z.object({ status: z.string() });
const settingsSchema = z.looseObject({
  brands: z.record(z.string(), z.looseObject({ startDate: z.string() })),
});
const monthsSchema = z.array(z.object({ status: z.string() }));
const outputsSchema = z.object({ [STACK]: z.record(z.string(), z.string()) });
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleService;
let schemas: Awaited<ReturnType<typeof startSchemasServer>>;
let aws: Awaited<ReturnType<typeof startLocalAws>>;
let settings: Settings;
let bucket = '';

beforeAll(async () => {
  folder = await temporaryFolder();
  sample = await startSampleService();
  schemas = await startSchemasServer();
  aws = await startLocalAws(folder.path, { AWS_ENDPOINT_URL_SCHEMAS: schemas.url });
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    await aws.createSecret(`brand-reports/${brand}`, credentials);
  await aws.cdk('bootstrap', aws.account);
  bucket = await deploy({});
});

afterAll(async () => {
  await Promise.all([aws, schemas, sample].map((each) => each?.close()));
  await folder.remove();
});

describe('before the first sync', () => {
  it('every table is there and has no rows', async () => {
    const { tables } = await held();
    const names = Object.values(reports).map(({ table }) => table);
    expect([...tables.keys()]).toEqual(expect.arrayContaining([...names, 'coverage', 'freshness']));
    for (const { partitions } of tables.values()) expect(partitions.size).toBe(0);
  });

  it('every function has its events in the console', () => {
    const names = [...REPORTS, 'setup'].map((name) => `lambda-testevent-schemas/_${STACK}-${name}-schema`);
    expect([...schemas.schemas.keys()]).toEqual(expect.arrayContaining(names));
  });
});

describe('the functions, by their default event', () => {
  it.each(REPORTS)('%s syncs all that is due', async (report) => {
    expect(await sync(report)).toBe('complete');
  });

  it('have put every record of the service where the catalog says, and made every view', async () => {
    const { tables, objects } = await held();
    expect(await wrong({ tables, objects })).toEqual([]);
    const views = Object.values(reports).flatMap((report) => report.views.map(({ name }) => name));
    expect([...tables.keys()]).toEqual(expect.arrayContaining(views));
  });

  it('draw the calendar of it', async () => {
    expect(await aws.invoke(`${STACK}-calendar`, {})).toMatch(/acme.*globex/s);
  });

  it('change nothing when they run again', async () => {
    const before = published(await held());
    for (const report of REPORTS) expect(await sync(report)).toBe('complete');
    expect(published(await held())).toEqual(before);
  });
});

describe('deployed again', () => {
  it('the stack is as it was', async () => {
    const before = published(await held());
    await deploy({});
    expect(published(await held())).toEqual(before);
  });

  it('after it was destroyed, with the lake that it left, its catalog is back', async () => {
    const before = published(await held());
    await aws.cdk('destroy', '--force', '--app', cdkOut());
    await expect(held()).rejects.toThrow('not found');
    expect(schemas.schemas.size).toBe(0);
    expect(await deploy({ adoptBucket: bucket })).toBe(bucket);
    expect(published(await held())).toEqual(before);
  });
});

describe('the backfill', () => {
  it('refuses what it cannot read, and says why', async () => {
    expect(await aws.execute(`${STACK}-backfill`, { report: 'order_list', brand: 'nobody' })).toMatchObject({
      status: 'FAILED',
      cause: expect.stringContaining('brand is "nobody"; allowed: acme, globex'),
    });
  });

  it('reads months of history', async () => {
    await deploy({ adoptBucket: bucket }, DAYS_OF_HISTORY);
    const range = { report: 'order_list', brand: 'acme' };
    const { status, output, cause } = await aws.execute(`${STACK}-backfill`, range);
    expect({ status, cause }).toEqual({ status: 'SUCCEEDED', cause: undefined });
    const months = z.parse(monthsSchema, JSON.parse(String(output)));
    expect(months.length).toBeGreaterThan(1);
    expect(new Set(months.map((month) => month.status))).toEqual(new Set(['complete']));
    expect(await wrong(await held(), ['order_list'], ['acme'])).toEqual([]);
  });
});

it('I9: leaves no credential in what it prints or stores', async () => {
  const { objects } = await held();
  const stored = [...objects].map(([key, { body }]) =>
    (key.endsWith('.gz') ? gunzipSync(body) : body).toString('latin1'),
  );
  const all = [aws.log(), ...stored].join('\n');
  for (const { token, secret } of Object.values(sample.brands)) {
    expect(all).not.toContain(token);
    expect(all).not.toContain(secret);
  }
});

const cdkOut = () => join(folder.path, 'cdk.out');
const held = () => aws.held(DATABASE, bucket);

/**
 * Deploys with the sample's settings.
 * @param history days to read before those that they name
 * @returns the lake's bucket
 */
async function deploy(deployment: JsonObject, history = 0): Promise<string> {
  const { brands, ...others } = z.parse(settingsSchema, sampleSettings(sample));
  const earlier = Object.entries(brands).map(
    ([name, brand]) => [name, { ...brand, startDate: addDays(brand.startDate, -history) }] as const,
  );
  const input = { ...others, brands: Object.fromEntries(earlier), deployment };
  settings = parseSettings(input, reports);
  const file = join(folder.path, 'settings.json');
  const outputs = join(folder.path, 'outputs.json');
  await writeFile(file, JSON.stringify(input));
  const where = ['--context', `settings=${file}`, '--output', cdkOut(), '--outputs-file', outputs];
  // Of change sets moto gives no outputs, and it cannot take over parameters from the last time.
  const how = ['--require-approval', 'never', '--method', 'direct', '--no-previous-parameters'];
  await aws.cdk('deploy', ...how, ...where);
  const { [STACK]: written } = z.parse(outputsSchema, JSON.parse(await readFile(outputs, 'utf8')));
  const [, url = ''] = Object.entries(written).find(([name]) => name.startsWith('LakeUrl')) ?? [];
  return url.replace('s3://', '');
}

async function sync(report: string): Promise<string> {
  return z.parse(outcomeSchema, await aws.invoke(`${STACK}-${report}`, {})).status;
}

/** Where the partitions of reports lie, and what lies there; coverage tells of every reading anew. */
function published({ tables, objects }: Held) {
  return {
    partitions: catalogued(tables)
      .flatMap(({ table, path, location }) => (table === 'coverage' ? [] : [`${path} ${location}`]))
      .sort(),
    snapshots: [...objects].flatMap(([key, { etag }]) =>
      /^snapshots\/(?!coverage\/)/.test(key) ? [`${key} ${etag}`] : [],
    ),
  };
}

/** How the rows under the catalog's partitions differ from what the service holds; empty is right. */
async function wrong(
  { tables, objects }: Held,
  names: readonly (typeof REPORTS)[number][] = REPORTS,
  brands = Object.keys(sample.brands),
): Promise<unknown[]> {
  const copy = await temporaryFolder();
  await Promise.all(catalogued(tables).map((partition) => bringDown(partition, objects, copy.path)));
  const found: unknown[] = hindrances(tables, objects);
  for (const report of names) {
    const { [report]: definition } = reports;
    const table = definition?.table ?? '';
    const read = await readLakeTable(copy.path, table);
    for (const brand of Object.values(sample.brands).filter(({ name }) => brands.includes(name))) {
      const expected = daysOf(brand.name).map((day) => [day, recordsOfDay(brand, report, day)] as const);
      const everHeld = brand.records[report].map(({ record }) => record);
      const differing = differences(read, brand.name, new Map(expected), everHeld);
      found.push(...differing.map((difference) => ({ table, brand: brand.name, ...difference })));
    }
  }
  await copy.remove();
  return found;
}

/** From the start that the settings name to today, in the brand's zone. */
function daysOf(brand: string): string[] {
  const { startDate = '', timeZone = '' } = settings.brands[brand] ?? {};
  return daysFrom(startDate, dayOf(Date.now(), timeZone));
}

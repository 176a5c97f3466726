import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateDatabaseCommand } from '@aws-sdk/client-glue';
import {
  CreateBucketCommand,
  PutBucketLifecycleConfigurationCommand,
  DeleteBucketPolicyCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod/mini';
import { REPORT_NAMES, recordsOfDay, restate } from '../../sample/brand.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { addDays, dayOf, daysFrom } from '../../shared/base/days.ts';
import { type JsonObject, parseJson } from '../../shared/base/json.ts';
import { parseStoredSchema } from '../../shared/lake/schema.ts';
import { LEDGER_TABLES, dayPartition, icebergDatabase, partitionPath } from '../../shared/lake/paths.ts';
import { readWithParquetjs } from '../../shared/table/parquetjs-reader.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings, type Settings } from '../../shared/settings/settings.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { catalogued, columnsOf, hindrances, objectsAt } from './athena.ts';
import { type Existing, STACK, deployTo } from './deploy.ts';
import { type Held, startLocalAws } from './local-aws.ts';
import { unlike } from '../table/row-mapper.ts';

jest.setTimeout(400_000);

/** A database that is not the stack's own. */
const SHARED_DATABASE = 'analytics';
/** More than a month. */
const DAYS_OF_HISTORY = 35;

const outcomeSchema = z.object({ status: z.string() });
const settingsSchema = z.looseObject({
  brands: z.record(z.string(), z.looseObject({ startDate: z.string() })),
});
const icebergSchema = z.object({ table_type: z.string(), metadata_location: z.string() });
const commentSchema = z.object({ Comment: z.optional(z.string()) });
const documentSchema = z.looseObject({ columns: z.array(z.json()) });
const lifecycleSchema = z.object({
  Rules: z.array(z.looseObject({ Status: z.literal('Enabled') })),
});
const watchSchema = z.object({
  problems: z.array(z.object({ what: z.string() })),
  message: z.nullable(z.string()),
  catalog: z.object({ status: z.string() }),
});
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleService;
let aws: Awaited<ReturnType<typeof startLocalAws>>;
let settings: Settings;
let bucket = '';
let database = '';

beforeAll(async () => {
  folder = await temporaryFolder();
  sample = await startSampleService();
  aws = await startLocalAws(folder.path);
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    await aws.createSecret(`brand-reports/${brand}`, credentials);
  for (const role of ['OnCall', 'Analysts', 'AcmeTeam']) await aws.createRole(role);
  await aws.cdk('bootstrap', aws.account);
  await deploy({});
});

afterAll(async () => {
  await Promise.all([aws, sample].map((each) => each?.close()));
  await folder.remove();
});

describe('before the first sync', () => {
  it('every table exists and has no rows', async () => {
    const { tables } = await held();
    const names = Object.values(reports).map(({ table }) => table);
    expect([...tables.keys()]).toEqual(expect.arrayContaining([...names, 'coverage', 'freshness']));
    for (const { partitions } of tables.values()) expect(partitions.size).toBe(0);
    const ofReports = names.flatMap((name) => commentsIn(tables.get(name)?.table));
    expect(ofReports).toEqual(ofReports.map(() => expect.stringMatching(/\w/)));
    expect(ofReports).toContain('Documented: the tracking link');
  });
});

describe('the function sync, by its default event', () => {
  it('reads every due day', async () => {
    expect(await sync()).toBe('complete');
  });

  it('has stored every record of the service under its location in the catalog, and created every view', async () => {
    const { tables, objects } = await held();
    expect(await wrong({ tables, objects })).toEqual([]);
    const views = Object.values(reports).flatMap((report) => report.views.map(({ name }) => name));
    expect([...tables.keys()]).toEqual(expect.arrayContaining(views));
  });

  it('has committed every table to Iceberg, and stored its metadata', async () => {
    const { tables, objects } = await aws.held(icebergDatabase(database), bucket);
    const names = Object.values(reports).map(({ table }) => table);
    expect([...tables.keys()].sort()).toEqual(names.sort());
    for (const { table } of tables.values()) {
      const { table_type, metadata_location } = z.parse(icebergSchema, table.Parameters);
      expect(table_type).toBe('ICEBERG');
      expect(objects.keys()).toContain(metadata_location.replace(`s3://${bucket}/`, ''));
    }
  });

  it('changes nothing when it runs again', async () => {
    const before = published(await held());
    expect(await sync()).toBe('complete');
    expect(published(await held())).toEqual(before);
  });
});

describe('the watcher', () => {
  it('finds no problem, and draws the page', async () => {
    expect(await watch()).toMatchObject({ problems: [], message: null });
    const { objects } = await held();
    expect(objects.get('status/coverage.html')?.body.toString()).toMatch(/<h1>Brand reports.*acme.*globex/s);
  });
});

describe('deployed again', () => {
  it('I7: a table keeps a column of a newer version, even if a run adds another column', async () => {
    await addColumn('attribution', { name: 'units_sold', type: 'bigint', field: 'unitsSold' });
    await deploy({ rawRetentionDays: 30 });
    await watch({ rebuildCatalog: true });
    expect(columnsIn(await held(), 'attribution').at(-1)).toBe('units_sold bigint');
    for (const brand of Object.values(sample.brands))
      restate(brand, 'amazon_attribution_report', daysOf(brand.name).at(-1) ?? '', (records) =>
        records.map(({ at, record }) => ({ at, record: { ...record, unitsSold: 2, campaign: 'winter' } })),
      );
    expect(await sync({ reports: ['attribution'] })).toBe('complete');
    const grown = ['units_sold bigint', 'campaign string'];
    expect(columnsIn(await held(), 'attribution').slice(-2)).toEqual(grown);
    expect(await wrong(await held(), ['amazon_attribution_report'])).toEqual([]);
  });

  it('the data is unchanged', async () => {
    const before = published(await held());
    await deploy({ rawRetentionDays: 31 });
    expect(published(await held())).toEqual(before);
  });

  it('a third deployment would change nothing', async () => {
    // moto cannot delete the change set of a diff.
    const how = [
      '--fail',
      '--method',
      'template',
      '--context',
      `settings=${join(folder.path, 'settings.json')}`,
    ];
    await aws.cdk('diff', ...how);
  });

  it('after it was destroyed, the catalog is rebuilt from the lake that it left', async () => {
    const before = published(await held());
    expect(await aws.madeInIam(STACK)).toEqual(expect.arrayContaining([`${STACK}-operators-us-east-1`]));
    await aws.cdk('destroy', '--force', '--app', cdkOut());
    for (const name of [database, icebergDatabase(database)])
      await expect(aws.held(name, bucket)).rejects.toThrow('not found');
    expect(await aws.madeInIam(STACK)).toEqual([]);
    await deploy({}, 0, { bucket });
    expect(published(await held())).toEqual(before);
  });
});

describe('the restore drill (docs/how-to/copy-and-restore.md): the bucket is lost, and there is a copy of it', () => {
  it('deployed on the copy, the catalog is rebuilt, and no day is read twice', async () => {
    /** The days that runs of all reports request, by action; the log of a function may arrive later. */
    const daysRead = async () => {
      const { length } = sample.requests;
      expect(await sync()).toBe('complete');
      const requested = sample.requests.slice(length).map(({ action, fields }) => {
        return `${action} ${fields.start_date ?? Math.floor(Number(fields.start_time) / 86_400)}`;
      });
      return [...new Set(requested)].sort();
    };
    await daysRead();
    const due = await daysRead();
    const [lost, copy] = [bucket, 'restored-lake'];
    const { objects, ...catalog } = await held();
    await aws.s3.send(new CreateBucketCommand({ Bucket: copy }));
    for (const [Key, { body: Body }] of objects)
      await aws.s3.send(new PutObjectCommand({ Bucket: copy, Key, Body }));
    await setUp(copy);

    await aws.cdk('destroy', '--force', '--app', cdkOut());
    await deploy({}, 0, { bucket: copy });
    const moved = JSON.stringify(published({ objects, ...catalog })).replaceAll(
      `s3://${lost}/`,
      `s3://${copy}/`,
    );
    expect(published(await held())).toEqual(JSON.parse(moved));
    const iceberg = await aws.held(icebergDatabase(database), bucket);
    for (const { table } of iceberg.tables.values()) {
      const { metadata_location } = z.parse(icebergSchema, table.Parameters);
      expect(metadata_location).toContain(`s3://${copy}/iceberg/`);
    }
    expect(await daysRead()).toEqual(due);
  });
});

describe('with a longer history, into a database that others use', () => {
  let before: ReturnType<typeof published>;
  beforeAll(async () => {
    before = published(await held());
  });

  it('a deployment publishes the same tables there', async () => {
    await aws.glue.send(new CreateDatabaseCommand({ DatabaseInput: { Name: SHARED_DATABASE } }));
    await deploy({}, DAYS_OF_HISTORY, { bucket, database: SHARED_DATABASE });
    expect(database).toBe(SHARED_DATABASE);
    expect(published(await held())).toEqual(before);
  });

  it('the backfill refuses an input that it cannot read, with the reason', async () => {
    expect(await aws.execute(`${STACK}-backfill`, { brand: 'nobody' })).toMatchObject({
      status: 'FAILED',
      cause: expect.stringMatching(/brand is .*nobody.*; allowed: acme, globex/),
    });
  });

  it('the backfill reads a range of two brands', async () => {
    const range = { reports: ['order_list'], from: daysOf('acme')[0] ?? '' };
    const { status, output, cause } = await aws.execute(`${STACK}-backfill`, range);
    expect({ status, cause }).toEqual({ status: 'SUCCEEDED', cause: undefined });
    expect(JSON.parse(String(output))).toEqual({ left: '["the others are complete"]' });
    expect(await wrong(await held(), ['order_list'], ['acme', 'globex'])).toEqual([]);
  });
});

/** As docs/how-to/use-your-bucket.md, with its files. */
async function setUp(Bucket: string): Promise<void> {
  const page = await readFile('docs/how-to/use-your-bucket.md', 'utf8');
  const [rules = '', Policy = ''] = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) => json);
  await aws.s3.send(
    new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }),
  );
  const LifecycleConfiguration = z.parse(lifecycleSchema, JSON.parse(rules));
  await aws.s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration }));
  await aws.s3.send(new PutBucketPolicyCommand({ Bucket, Policy: Policy.replaceAll('BUCKET', Bucket) }));
  // The local AWS accepts the policy, but ignores its conditions, so that it would refuse every request.
  await aws.s3.send(new DeleteBucketPolicyCommand({ Bucket }));
}

const cdkOut = () => join(folder.path, 'cdk.out');
const held = () => aws.held(database, bucket);

/**
 * Deploys with the sample's settings.
 * @param history days to read before the days of the settings @param existing deploys from an app with these
 */
async function deploy(deployment: JsonObject, history = 0, existing?: Existing): Promise<void> {
  const { brands, ...others } = z.parse(settingsSchema, sampleSettings(sample));
  const earlier = Object.entries(brands).map(
    ([name, brand]) => [name, { ...brand, startDate: addDays(brand.startDate, -history) }] as const,
  );
  const people = {
    operatorRoles: ['OnCall'],
    analystRoles: ['Analysts'],
    brandRoles: ['AcmeTeam'],
  };
  const input = {
    ...others,
    catalogs: ['hive', 'iceberg'],
    brands: Object.fromEntries(earlier),
    deployment: { ...people, ...deployment },
  };
  settings = parseSettings(input, reports);
  ({ bucket, database } = await deployTo(aws, folder.path, input, existing));
  // As the schedule does within the hour.
  await watch();
}

async function sync(event: JsonObject = {}): Promise<string> {
  return z.parse(outcomeSchema, await aws.invoke(`${STACK}-sync`, event)).status;
}

async function watch(event: JsonObject = {}) {
  return z.parse(watchSchema, await aws.invoke(`${STACK}-watch`, event));
}

/** The columns and partition keys of a table in Glue. */
function commentsIn(table: JsonObject = {}): unknown[] {
  const { Columns } = z.parse(z.object({ Columns: z.array(commentSchema) }), table.StorageDescriptor);
  const keys = z.parse(z.array(commentSchema), table.PartitionKeys);
  return [...Columns, ...keys].map(({ Comment }) => Comment);
}

const columnsIn = ({ tables }: Pick<Held, 'tables'>, name: string) =>
  columnsOf(tables.get(name)?.table ?? {}).map((column) => `${column.name} ${column.type}`);

/** Adds a column to the schema in the lake, as a version with another definition would. */
async function addColumn(table: string, column: JsonObject): Promise<void> {
  const Key = `schema/${table}.json`;
  const { objects } = await held();
  const document = z.parse(documentSchema, JSON.parse(objects.get(Key)?.body.toString() ?? ''));
  const Body = JSON.stringify({ ...document, columns: [...document.columns, column] });
  await aws.s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
}

/**
 * The columns of Glue's tables and views, and the locations and objects of partitions, without the tables made from
 * ledgers: coverage changes with every run.
 */
function published({ tables, objects }: Held) {
  return {
    columns: Object.fromEntries([...tables.keys()].map((name) => [name, columnsIn({ tables }, name)])),
    partitions: catalogued(tables)
      .flatMap(({ table, path, location }) => (LEDGER_TABLES.includes(table) ? [] : [`${path} ${location}`]))
      .sort(),
    snapshots: [...objects].flatMap(([key, { etag }]) =>
      /^snapshots\/(?!coverage\/)/.test(key) ? [`${key} ${etag}`] : [],
    ),
  };
}

/** How the rows under the catalog's partitions differ from the service's records; empty is right. */
async function wrong(
  { tables, objects }: Held,
  names: readonly (typeof REPORT_NAMES)[number][] = REPORT_NAMES,
  brands = Object.keys(sample.brands),
): Promise<unknown[]> {
  const found: unknown[] = hindrances(tables, objects);
  for (const report of names) {
    const table = reports[report]?.table ?? '';
    const stored = parseJson(objects.get(`schema/${table}.json`)?.body.toString() ?? '');
    const schema = parseStoredSchema({ table, columns: [] })(stored);
    const partitions = new Map(
      catalogued(tables).flatMap((one) => (one.table === table ? [[one.path, one] as const] : [])),
    );
    for (const brand of Object.values(sample.brands).filter(({ name }) => brands.includes(name)))
      for (const day of daysOf(brand.name)) {
        const path = partitionPath(dayPartition(brand.name, day));
        const [object] = objectsAt(partitions.get(path) ?? { location: 'none' }, objects);
        const rows = object ? await Array.fromAsync(readWithParquetjs(object.body, schema.columns)) : [];
        const { missing, surplus } = unlike(schema, recordsOfDay(brand, report, day), rows);
        if (missing.length + surplus.length > 0) found.push({ table, path, missing, surplus });
      }
  }
  return found;
}

/** From the start date of the settings to today, in the brand's zone. */
function daysOf(brand: string): string[] {
  const { startDate = '', timeZone = '' } = settings.brands[brand] ?? {};
  return daysFrom(startDate, dayOf(Date.now(), timeZone));
}

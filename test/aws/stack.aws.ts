import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  CreateDatabaseCommand,
  CreateTableCommand,
  DeleteTableCommand,
  GetTableCommand,
} from '@aws-sdk/client-glue';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod/mini';
import { REPORT_NAMES, recordsOfDay, restate } from '../../sample/brand.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { addDays, dayOf, daysFrom } from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import { LEDGER_TABLES, icebergDatabase } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings, type Settings } from '../../shared/settings/settings.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { type Template, parseTemplate, resourcesOf } from '../iam/template.ts';
import { openDatabase } from './analyst.ts';
import { bringDown, catalogued, columnsOf, hindrances } from './athena.ts';
import { newJudge } from './judge.ts';
import { type Existing, STACK, deployTo } from './deploy.ts';
import { type Held, startLocalAws } from './local-aws.ts';
import { eventsNamed } from '../functions/log-as-lambda.ts';
import { differences, readLakeTable } from '../simulation/published-rows.ts';

jest.setTimeout(400_000);

/** A database that is not the stack's own. */
const SHARED_DATABASE = 'analytics';
/** More than a month. */
const DAYS_OF_HISTORY = 35;

const outcomeSchema = z.object({ status: z.string() });
const settingsSchema = z.looseObject({
  brands: z.record(z.string(), z.looseObject({ startDate: z.string() })),
});
const attributionSchema = z.object({
  publisher_uid: z.number(),
  publisher_name: z.string(),
  country_code: z.string(),
  dpv: z.number(),
  click: z.number(),
  track_url: z.string(),
});
const icebergSchema = z.object({ table_type: z.string(), metadata_location: z.string() });
const commentSchema = z.object({ Comment: z.optional(z.string()) });
const documentSchema = z.looseObject({ columns: z.array(z.json()) });
const recordSchema = z.looseObject({ telling: z.looseObject({ at: z.string() }) });
const watchSchema = z.object({
  problems: z.array(z.object({ what: z.string() })),
  message: z.nullable(z.string()),
  catalog: z.object({ status: z.string() }),
});
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleService;
let aws: Awaited<ReturnType<typeof startLocalAws>>;
const judge = newJudge();
let settings: Settings;
let bucket = '';
let database = '';
let topic = '';
let eventsOfDays: Awaited<ReturnType<typeof aws.listen>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  sample = await startSampleService();
  aws = await startLocalAws(folder.path, judge);
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    await aws.createSecret(`brand-reports/${brand}`, credentials);
  for (const role of ['OnCall', 'Analysts', 'AcmeTeam']) await aws.createRole(role);
  await aws.cdk('bootstrap', aws.account);
  eventsOfDays = await aws.listen({ source: ['brand-reports'], 'detail-type': [{ prefix: 'Day ' }] });
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

  it('views and saved queries answer with no rows', async () => {
    const { views, saved } = await queryResults();
    expect(views.map(({ name }) => name)).toEqual(expect.arrayContaining(['attribution_daily', 'freshness']));
    for (const view of views) expectAsDeclared(view);
    for (const { answer } of [...views, ...saved]) expect(answer.rows).toEqual([]);
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

  it('has sent one event for each ended day, with its version in the catalog', async () => {
    const events = await eventsOfDays();
    const closed = Object.keys(sample.brands).flatMap((brand) => {
      const days = daysOf(brand).filter((day) => day <= newestComplete(brand));
      return REPORT_NAMES.flatMap((report) => days.map((day) => `Day Published ${brand} ${report} ${day}`));
    });
    const sent = events.map(
      ({ 'detail-type': type, detail: { brand, report, day } }) => `${type} ${brand} ${report} ${day}`,
    );
    expect(sent.sort()).toEqual(closed.sort());
    const places = catalogued((await held()).tables).map(({ location }) => location);
    for (const { detail } of events) {
      const place = `/${detail.table}/brand=${detail.brand}/dt=${detail.day}/${detail.version}`;
      expect(places).toContainEqual(expect.stringContaining(place));
    }
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

  it('logs one line for each report of each brand, with what the run did', () => {
    const ended = eventsNamed('run_ended', aws.log());
    const expected = Object.keys(sample.brands).flatMap((brand) =>
      REPORT_NAMES.map((report) =>
        expect.objectContaining({ brand, report, status: 'complete', rows: expect.any(Number) }),
      ),
    );
    expect(ended).toEqual(expect.arrayContaining(expected));
    expect(ended).toHaveLength(expected.length);
  });

  it('changes nothing when it runs again', async () => {
    const before = published(await held());
    expect(await sync()).toBe('complete');
    expect(published(await held())).toEqual(before);
    expect(await eventsOfDays()).toEqual([]);
  });
});

describe('the watcher', () => {
  let mails: Awaited<ReturnType<typeof aws.subscribe>>;
  let events: Awaited<ReturnType<typeof aws.listen>>;
  beforeAll(async () => {
    mails = await aws.subscribe(topic);
    events = await aws.listen({ source: ['brand-reports'], 'detail-type': [{ prefix: 'Problem ' }] });
  });

  it('finds no problem, publishes that as its metric without a mail, and draws the page', async () => {
    metrics();
    expect(await watch()).toMatchObject({ problems: [], message: null });
    expect(metrics()).toEqual([0]);
    expect(await mails()).toEqual([]);
    expect(await events()).toEqual([]);
    const { objects } = await held();
    expect(objects.get('status/coverage.html')?.body.toString()).toMatch(/<h1>Brand reports.*acme.*globex/s);
  });

  it('sends one mail when a secret is deleted, and no further mail while it is missing', async () => {
    await aws.deleteSecret('brand-reports/acme');
    expect(await sync({ reports: ['order_list'] })).toBe('failed');
    expect(await watch()).toMatchObject({ message: `${STACK}: problems: 1 new, 1 open` });
    const [mail, ...others] = await mails();
    expect(others).toEqual([]);
    // test/watcher/message.test.ts checks the text.
    expect(mail?.Message).toMatch(
      /NEW\n- acme order_list: \d days? failed: .*\n {2}since .*UTC\n {2}Why: config .*create-secret.*\n {2}What to do: Fix what the message names, then: test BrandReports-sync with the event \{"brand":"acme"\}\n {2}https:\/\/us-east-1\.console\.aws\.amazon\.com\/lambda\//,
    );
    const [event, ...more] = await events();
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      ...{ 'detail-type': 'Problem Opened', resources: [`arn:aws:s3:::${bucket}`] },
      detail: { brand: 'acme', report: 'order_list', table: 'orders', kind: 'problem' },
    });
    await passAnHour();
    expect(await watch()).toMatchObject({ problems: [{}], message: null });
    expect(await mails()).toEqual([]);
    expect(await events()).toEqual([]);
    expect(metrics()).toEqual([1, 1]);
  });

  it('sends a mail when the problem is solved, at least an hour after the last mail', async () => {
    const { acme } = sampleCredentials(sample);
    await aws.createSecret('brand-reports/acme', acme ?? {});
    expect(await sync({ brand: 'acme', reports: ['order_list'], ...failedDays() })).toBe('complete');
    await passAnHour(false);
    expect(await watch()).toMatchObject({ problems: [], message: null });
    await passAnHour();
    expect(await watch()).toMatchObject({ problems: [], message: `${STACK}: all is well again` });
    expect(await mails()).toMatchObject([{ Subject: `${STACK}: all is well again` }]);
    expect(await events()).toMatchObject([
      { 'detail-type': 'Problem Solved', detail: { brand: 'acme', report: 'order_list' } },
    ]);
  });

  let seen = 0;
  const metrics = () => {
    const all = aws
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{"_aws"'))
      .map((line): unknown => JSON.parse(line).Problems);
    const since = all.slice(seen);
    seen = all.length;
    return since;
  };
  /** As if the last message had been sent so much earlier, or just now. */
  const passAnHour = async (isOver = true) => {
    const Key = 'status/watch.json';
    const { objects } = await held();
    const record = z.parse(recordSchema, JSON.parse(objects.get(Key)?.body.toString() ?? ''));
    const at = new Date(Date.now() - (isOver ? 3_600_000 : 0)).toISOString();
    const Body = JSON.stringify({ ...record, telling: { ...record.telling, at } });
    await aws.s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body }));
  };
  /** Failed days wait for their next try, except days that are read with `from` and `to`. */
  const failedDays = () => ({ from: daysOf('acme').at(0) ?? '', to: daysOf('acme').at(-1) ?? '' });
});

describe('afterwards, for an analyst', () => {
  let answers: Awaited<ReturnType<typeof queryResults>>;
  beforeAll(async () => {
    answers = await queryResults();
  });

  it('views and saved queries return rows', async () => {
    const { views, saved } = answers;
    for (const view of views) expectAsDeclared(view);
    const empty = [...views, ...saved].filter(({ answer }) => answer.rows.length === 0);
    // Nothing was restated or closed yet, and no day has a finding.
    expect(empty.map(({ name }) => name)).toEqual([
      'since_close',
      'changes_daily',
      'restatements',
      'Days that need attention',
      'Findings',
      'What changed since the close',
      'Records that changed',
    ]);
  });

  it('freshness shows every report of every brand as complete up to yesterday', async () => {
    const { views } = answers;
    const expected = Object.keys(sample.brands).flatMap((brand) =>
      REPORT_NAMES.map((report) => `${brand} ${report} ${newestComplete(brand)}`),
    );
    const found = rowsOf(views, 'freshness').map(
      ({ brand, report, newest_complete_day }) => `${brand} ${report} ${newest_complete_day}`,
    );
    expect(found.sort()).toEqual(expected.sort());
  });

  it('attribution_daily counts a click once per tracking link and day', async () => {
    const { views } = answers;
    const expected = Object.values(sample.brands).flatMap((brand) =>
      daysOf(brand.name).flatMap((dt) => {
        const records = recordsOfDay(brand, 'amazon_attribution_report', dt);
        // Each view ends with its unknown amounts and the day as a date.
        return attributed(records).map((rest) => [brand.name, dt, ...rest, 0, dt].join(' '));
      }),
    );
    const found = rowsOf(views, 'attribution_daily').map((row) => Object.values(row).join(' '));
    expect(found.sort()).toEqual(expected.sort());
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

  it('a changed brand changes the code of both functions, and the next run has it', async () => {
    const before = await codes();
    await deploy({ rawRetentionDays: 31 }, 1);
    expect((await codes()).filter((code) => before.includes(code))).toEqual([]);
    // Earlier than the former start date.
    const from = daysOf('acme')[0] ?? '';
    expect(await sync({ brand: 'acme', reports: ['orders'], from, to: from })).toBe('complete');
    await deploy({ rawRetentionDays: 31 });
    expect(await codes()).toEqual(before);
  });

  it('the watcher names a table that belongs to another lake, and recreates it on request', async () => {
    const StorageDescriptor = { Columns: [], Location: 's3://webshop/orders/' };
    const TableInput = { Name: 'orders', TableType: 'EXTERNAL_TABLE', StorageDescriptor };
    const before = published(await held());
    await aws.glue.send(new DeleteTableCommand({ DatabaseName: database, Name: 'orders' }));
    await aws.glue.send(new CreateTableCommand({ DatabaseName: database, TableInput }));
    await expect(watch({ rebuildCatalog: true })).rejects.toThrow('The table orders in the Glue database');
    await aws.glue.send(new DeleteTableCommand({ DatabaseName: database, Name: 'orders' }));
    expect(await watch({ rebuildCatalog: true })).toMatchObject({ catalog: { status: 'complete' } });
    expect(published(await held())).toEqual(before);
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
  it('deployed on the copy, the catalog is rebuilt, every answer is the same, and no day is read twice', async () => {
    const answers = async () => {
      const { views } = await queryResults();
      const timeless = views.filter(({ name }) => name !== 'freshness');
      return timeless.map(({ name, answer: { rows } }) => [
        name,
        rows.map((row) => JSON.stringify(row)).sort(),
      ]);
    };
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
    const [lost, copy, wanted] = [bucket, 'restored-lake', await answers()];
    const { objects, ...catalog } = await held();
    await aws.s3.send(new CreateBucketCommand({ Bucket: copy }));
    for (const [Key, { body: Body }] of objects)
      await aws.s3.send(new PutObjectCommand({ Bucket: copy, Key, Body }));

    await aws.cdk('destroy', '--force', '--app', cdkOut());
    await deploy({}, 0, { bucket: copy });
    const moved = JSON.stringify(published({ objects, ...catalog })).replaceAll(
      `s3://${lost}/`,
      `s3://${copy}/`,
    );
    expect(published(await held())).toEqual(JSON.parse(moved));
    expect(await answers()).toEqual(wanted);
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
    expect(JSON.parse(String(output))).toMatchObject({
      brands: [
        { brand: 'acme', status: 'complete' },
        { brand: 'globex', status: 'complete' },
      ],
    });
    expect(await wrong(await held(), ['order_list'], ['acme', 'globex'])).toEqual([]);
  });
});

it('I9: prints and stores no credential', async () => {
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

describe('policies', () => {
  it('allowed every call that a function or the state machine made', () => {
    expect(judge.refused).toEqual([]);
    const services = new Set(judge.allowed.map(({ action }) => action.split(':')[0]));
    expect(services).toEqual(new Set('events glue lambda s3 secretsmanager sns'.split(' ')));
    expect(judge.unjudged).toEqual([]);
  });

  it('make a function fail if a statement is missing', async () => {
    const { role = '' } = judge.allowed.findLast((call) => /Sync/.test(call.role)) ?? {};
    const outcome = aws.without(role, 's3:GetObject', () =>
      sync({ reports: ['order_list'] }).catch((error: unknown) => String(error)),
    );
    expect(await outcome).toMatch(/failed/);
    expect(judge.refused.splice(0)).toContainEqual(expect.objectContaining({ role, action: 's3:GetObject' }));
    expect(await sync({ reports: ['order_list'] })).toBe('complete');
    expect(judge.refused).toEqual([]);
  });

  it.each<[role: string, allowed: string[], denied: string[]]>([
    ['Analysts', ['orders acme', 'orders globex', 'page', 'iceberg'], ['ledger', 'secret']],
    [
      'AcmeTeam',
      ['orders acme', 'coverage acme'],
      ['orders globex', 'coverage globex', 'page', 'iceberg', 'ledger', 'secret'],
    ],
    ['OnCall', ['page'], ['orders acme', 'coverage acme', 'iceberg', 'ledger', 'secret', 'tables']],
  ])('let %s read %j, and not %j', async (role, allowed, denied) => {
    const { s3, glue, secrets } = await aws.assume(role);
    const { objects } = await held();
    const read = (start: string) => async () => {
      const Key = [...objects.keys()].find((key) => key.startsWith(start));
      if (Key === undefined) throw new Error(`no object begins with ${start}`);
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }));
      // A body that is not read is aborted when the client is destroyed.
      await Body?.transformToByteArray();
    };
    const ways: Record<string, () => Promise<unknown>> = {
      'orders acme': read('snapshots/orders/brand=acme/'),
      'orders globex': read('snapshots/orders/brand=globex/'),
      'coverage acme': read('snapshots/coverage/brand=acme/'),
      'coverage globex': read('snapshots/coverage/brand=globex/'),
      page: read('status/coverage.html'),
      ledger: read('ledger/'),
      iceberg: () =>
        glue.send(new GetTableCommand({ DatabaseName: icebergDatabase(database), Name: 'orders' })),
      tables: () => glue.send(new GetTableCommand({ DatabaseName: database, Name: 'orders' })),
      secret: () => secrets.send(new GetSecretValueCommand({ SecretId: 'brand-reports/acme' })),
    };
    const outcome = async (name: string) =>
      ways[name]?.().then(
        () => 'allowed',
        () => 'denied',
      );
    for (const name of allowed) expect([name, await outcome(name)]).toEqual([name, 'allowed']);
    expect(judge.refused).toEqual([]);
    for (const name of denied) expect([name, await outcome(name)]).toEqual([name, 'denied']);
    // The policies denied one call of each, and nothing else did.
    expect(new Set(judge.refused.splice(0).map((call) => call.role))).toEqual(new Set([role]));
    for (const client of [s3, glue, secrets]) client.destroy();
  });

  afterAll(() => console.log(judge.summary()));
});
/** The code of each function in the template. */
const codes = async () =>
  resourcesOf(await template(), 'AWS::Lambda::Function').map(([, { Code }]) => JSON.stringify(Code));

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
    brandAccess: { acme: ['AcmeTeam'] },
  };
  const input = { ...others, brands: Object.fromEntries(earlier), deployment: { ...people, ...deployment } };
  settings = parseSettings(input, reports);
  ({ bucket, database, topic } = await deployTo(aws, folder.path, input, existing));
  // As the schedule does within the hour.
  await watch();
}

async function sync(event: JsonObject = {}): Promise<string> {
  return z.parse(outcomeSchema, await aws.invoke(`${STACK}-sync`, event)).status;
}

async function watch(event: JsonObject = {}) {
  return z.parse(watchSchema, await aws.invoke(`${STACK}-watch`, event));
}

const template = async (): Promise<Template> =>
  parseTemplate(await readFile(join(cdkOut(), `${STACK}.template.json`), 'utf8'));

async function queryResults() {
  const opened = await openDatabase(await held(), database);
  const runQuery = async <Named extends { name: string }>(named: Named, sql: string) => ({
    ...named,
    answer: await opened.query(sql),
  });
  const views = [];
  for (const view of opened.views) views.push(await runQuery(view, `SELECT * FROM ${view.name}`));
  const saved = [];
  for (const [, { Name, QueryString }] of resourcesOf(await template(), 'AWS::Athena::NamedQuery'))
    saved.push(await runQuery({ name: String(Name) }, String(QueryString)));
  opened.close();
  return { views, saved };
}
type QueriedView = Awaited<ReturnType<typeof queryResults>>['views'][number];

/** Checks that a view reads its own database, and returns the names and types that it declares and Glue shows. */
function expectAsDeclared({ name, catalog, schema, declared, shown, answer: { columns } }: QueriedView) {
  expect({ name, catalog, schema, columns: declared }).toEqual({
    name,
    catalog: 'awsdatacatalog',
    schema: database,
    columns,
  });
  expect({ name, columns: shown }).toEqual({ name, columns });
}

/** The columns and partition keys of a table in Glue. */
function commentsIn(table: JsonObject = {}): unknown[] {
  const { Columns } = z.parse(z.object({ Columns: z.array(commentSchema) }), table.StorageDescriptor);
  const keys = z.parse(z.array(commentSchema), table.PartitionKeys);
  return [...Columns, ...keys].map(({ Comment }) => Comment);
}

const columnsIn = ({ tables }: Pick<Held, 'tables'>, name: string) =>
  columnsOf(tables.get(name)?.table ?? {}).map((column) => `${column.name} ${column.type}`);

const rowsOf = (views: readonly QueriedView[], name: string) =>
  views.find((view) => view.name === name)?.answer.rows ?? [];

/** Publisher, country, page views, and the clicks of each tracking link once: the attribution of a day. */
function attributed(records: readonly JsonObject[]) {
  const parsed = records.map((record) => z.parse(attributionSchema, record));
  const groups = Map.groupBy(parsed, (record) =>
    [record.publisher_uid, record.publisher_name, record.country_code].join(' '),
  );
  const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);
  return [...groups].map(([key, group]) => [
    key,
    sum(group.map(({ dpv }) => dpv)),
    sum(new Map(group.map(({ track_url, click }) => [track_url, click])).values()),
  ]);
}

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
    // Tables of closed months get new columns with the next close or deployment.
    columns: Object.fromEntries(
      [...tables.keys()]
        .filter((name) => !name.endsWith('_closed'))
        .map((name) => [name, columnsIn({ tables }, name)]),
    ),
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

/** The last day that ended long enough ago to be closed. */
function newestComplete(brand: string): string {
  const { lateMinutes = 0, timeZone = '' } = settings.brands[brand] ?? {};
  return addDays(dayOf(Date.now() - lateMinutes * 60_000, timeZone), -1);
}

/** From the start date of the settings to today, in the brand's zone. */
function daysOf(brand: string): string[] {
  const { startDate = '', timeZone = '' } = settings.brands[brand] ?? {};
  return daysFrom(startDate, dayOf(Date.now(), timeZone));
}

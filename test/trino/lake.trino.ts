/** Compares the results of Trino, the engine of Athena, with the results of DuckDB over the same catalog. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod/mini';
import { SAVED_QUERIES } from '../../infra/saved-queries.ts';
import { restate } from '../../sample/brand.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { addDays, dayOf, monthOf } from '../../shared/base/days.ts';
import { type Json, type JsonObject, rawNumber } from '../../shared/base/json.ts';
import { LEDGER_TABLES } from '../../shared/lake/paths.ts';
import { allViews } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { hiveType, openDatabase } from '../aws/analyst.ts';
import { STACK, deployTo } from '../aws/deploy.ts';
import { startCli } from '../cli/run-cli.ts';
import { pages, textOf } from '../docs/pages.ts';
import { freePort, startLocalAws } from '../aws/local-aws.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { startTrino } from './trino-server.ts';

jest.setTimeout(1_800_000);

const TABLES = [...Object.values(reports).map(({ table }) => table), ...LEDGER_TABLES];
const VIEWS = [...allViews(reports).map(({ name }) => name), 'freshness'];

/** The open day in the zones of both brands; then the days that the test changes. */
const TODAY = dayOf(Date.now(), 'America/New_York');
const RESTATED = addDays(TODAY, -4);
const NOT_READ = addDays(TODAY, -6);
/** The last day of the month before, which is closed before the day changes. */
const CLOSED = addDays(`${monthOf(TODAY)}-01`, -1);
const FIRST = addDays(TODAY, -10);
const REPUBLISHED = addDays(TODAY, -3);
/** From this day on a field is missing. */
const VANISHED = addDays(TODAY, -2);
const VERSIONS = 6;

/** Days of the examples, and the days of this lake that replace them. */
const DAYS: readonly (readonly [string, string])[] = [
  ['2026-03-03', RESTATED],
  ['2026-04-01', TODAY],
  ...['2026-01', '2026-03', '2026-11'].map((month) => [month, monthOf(RESTATED)] as const),
];

/** The statements in the docs that are for every engine; other statements are marked `sql duckdb` or `sql iceberg`. */
const documented = pages.flatMap((page) =>
  [...textOf(page).matchAll(/```sql\n([^`]+)\n```/g)].flatMap(([, block = '']) =>
    block
      .split(/;\s*/)
      .filter((sql) => sql !== '')
      .map((sql) => {
        const here = DAYS.reduce((text, [from, to]) => text.replaceAll(from, to), sql.trim());
        return [`${page}: ${sql.trim().replaceAll(/\s+/g, ' ').slice(0, 90)}`, here] as const;
      }),
  ),
);

/** Names and values of fields that a service could have. */
const HOSTILE: JsonObject = {
  order: 'keyword',
  select: true,
  '2nd': 'first is a digit',
  'a"b\'c': '"; DROP TABLE orders; -- \'',
  Größe: 'ß ı İ \u0000 \u{1F98A} \\ \n \t %',
  'x.y': [1, { z: null }],
  day_of: '2026-01-31',
  seen_at: '2026-01-31T23:59:59.999Z',
  ratio: 0.1,
  tiny: 1e-9,
  whole: '-9223372036854775808',
  exact: '99999999999999999999999999999.123456789',
  empty: '',
  flag: 'true',
};
const TYPES = {
  ...{ day_of: 'date', seen_at: 'timestamp', ratio: 'double', tiny: 'double', whole: 'bigint' },
  ...{ exact: 'decimal(38,9)', flag: 'boolean' },
};

/** Amounts that engines could treat differently. */
const AMOUNTS: readonly Json[] = [
  ...['1.0320000000000003', ' 12.5 ', '+12.5', '.5', '5.', '1e3', '1E-3', '1_000', '1,000', '0x10', '-', ''],
  ...['NaN', 'Infinity', '٣', '\u00a07', '\t7', '99999999999999999999999999999.9999999999', '0012.50', '--1'],
  ...[rawNumber('1e3'), rawNumber('1.0320000000000003'), -0.5, true, null, [1], { value: 1 }],
];

/** globex has other names, nested fields and its own words. */
const OWN_FIELDS = {
  order_list: {
    fields: {
      amount: 'Geld & mehr.2nd',
      commission: 'Geld & mehr.due',
      currency: 'money.currency',
      state: 'stage',
    },
    states: { words: { Annulled: 'void', '4': 'effective', İptal: 'void' } },
  },
  transaction_list: { fields: { commission: 'money.due', publisher_id: 'aff' } },
};

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let sample: SampleService;
let aws: Awaited<ReturnType<typeof startLocalAws>>;
let trino: Awaited<ReturnType<typeof startTrino>>;
let deployed: Awaited<ReturnType<typeof deployTo>>;
let duckdb: Awaited<ReturnType<typeof openDatabase>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  sample = await startSampleService();
  changeRecords();
  aws = await startLocalAws(folder.path);
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    await aws.createSecret(`brand-reports/${brand}`, credentials);
  await aws.cdk('bootstrap', aws.account);
  deployed = await deployTo(aws, folder.path, settings());
  trino = await startTrino(aws.url, folder.path, deployed.database, await freePort());
  // After a deployment the watcher writes all views, also `freshness`, which no run writes.
  await aws.invoke(`${STACK}-watch`, {});
  for (const report of Object.keys(reports).filter((name) => name !== 'transaction_list'))
    await sync(report, { from: FIRST, to: TODAY });
  // A gap, and a day that was closed with other records than it has now.
  await sync('transaction_list', { brand: 'acme', from: FIRST, to: addDays(NOT_READ, -1) });
  await sync('transaction_list', { brand: 'acme', from: addDays(NOT_READ, 1), to: TODAY });
  await sync('transaction_list', { brand: 'globex', from: FIRST, to: TODAY });
  await syncMoney(CLOSED);
  await closeMonth();
  for (const day of [CLOSED, RESTATED]) {
    restateRecords(day);
    await syncMoney(day);
  }
  duckdb = await openDatabase(await aws.held(deployed.database, deployed.bucket), deployed.database);
});

afterAll(async () => {
  duckdb?.close();
  await Promise.all([trino, aws, sample].map((each) => each?.close()));
  await folder.remove();
});

describe('in Trino as in DuckDB', () => {
  it.each([...TABLES, ...VIEWS])('all rows of %s, by names, types and values', async (name) => {
    const { trino: found, duckdb: expected } = await bothAnswers(`SELECT * FROM ${name}`);
    expect(found).toEqual(expected);
    expect(found.rows).not.toEqual([]);
  });

  it.each(SAVED_QUERIES.map(({ name, sql }) => [name, sql] as const))(
    'the saved query "%s"',
    async (_name, sql) => {
      await expectSame(sql);
    },
  );

  it.each(documented)('%s', async (_name, sql) => {
    await expectSame(sql);
  });
});

describe('while days are published again', () => {
  it('every query returns either the version before or the new version, as a whole', async () => {
    const seen: string[] = [];
    const { acme } = sample.brands;
    if (!acme) throw new Error('the sample has no acme');
    let published = 0;
    const publishing = (async () => {
      for (let round = 0; round < VERSIONS; round += 1) {
        restate(acme, 'order_list', REPUBLISHED, (held) =>
          held.map(({ at, record }) => ({ at, record: { ...record, round } })),
        );
        await sync('order_list', { brand: 'acme', from: REPUBLISHED, to: REPUBLISHED });
        published += 1;
      }
    })();
    const where = `WHERE brand = 'acme' AND dt = '${REPUBLISHED}'`;
    const [before] = (await trino.query(`SELECT count(*) FROM orders ${where}`)).rows;
    while (published === 0) await sleep(100);
    while (published < VERSIONS) {
      const { rows } = await trino.query(`SELECT count(*), min(round), max(round) FROM orders ${where}`);
      const [[count = '', least = '', most = ''] = []] = rows;
      expect([count, least]).toEqual([before?.[0], most]);
      seen.push(String(least));
      await trino.query(`SELECT * FROM orders_daily ${where}`);
    }
    await publishing;
    expect(seen).toEqual(seen.toSorted());
    expect(new Set(seen).size).toBeGreaterThan(1);
  });
});

const settings = (): JsonObject => {
  const { brands, ...others } = z.parse(settingsSchema, sampleSettings(sample));
  const { acme, globex } = brands;
  const startDate = CLOSED < FIRST ? CLOSED : FIRST;
  return {
    ...others,
    brands: {
      acme: {
        ...acme,
        startDate,
        lateMinutes: 0,
        reports: { clicks_detail: { enabled: true }, order_list: { columns: TYPES } },
      },
      globex: { ...globex, startDate, lateMinutes: 0, reports: OWN_FIELDS },
    },
  };
};
const settingsSchema = z.looseObject({ brands: z.record(z.string(), z.record(z.string(), z.json())) });
const outcomeSchema = z.object({ status: z.string() });

function changeRecords(): void {
  const { acme, globex } = sample.brands;
  if (!acme || !globex) throw new Error('the sample has no acme or no globex');
  for (const [index, { at, record }] of acme.records.order_list.entries()) {
    record.customer_id = `c${index % 40}`;
    record.currency = index % 3 === 0 ? 'EUR' : 'USD';
    if (index % 5 === 0) Object.assign(record, HOSTILE);
    if (index % 7 === 0) record.amount = AMOUNTS[(index / 7) % AMOUNTS.length] ?? null;
    if (dayOf(at, acme.timeZone) >= VANISHED) delete record.country;
  }
  for (const [index, { record }] of globex.records.order_list.entries()) {
    const { amount = null, commission = null, currency = null, status = null } = record;
    for (const name of ['amount', 'commission', 'currency', 'status']) delete record[name];
    const stage = [status, 'Annulled', 4, 'İptal', ' EFFECTIVE '][index % 5] ?? null;
    const sum = index % 3 === 0 ? (AMOUNTS[(index / 3) % AMOUNTS.length] ?? null) : amount;
    Object.assign(record, { 'Geld & mehr': { '2nd': sum, due: commission }, money: { currency }, stage });
  }
  for (const { record } of globex.records.transaction_list) {
    const { commission = null, publisher_id = null } = record;
    for (const name of ['commission', 'publisher_id']) delete record[name];
    Object.assign(record, { money: { due: commission }, aff: publisher_id });
  }
}

async function closeMonth(): Promise<void> {
  const lake = ['--lake', `s3://${deployed.bucket}`, '--database', deployed.database];
  const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
  const env = { AWS_ENDPOINT_URL: aws.url, AWS_REGION: 'us-east-1', ...credentials };
  const { code, stderr } = await startCli(['close', monthOf(CLOSED), '--anyway', ...lake], { env }).result;
  if (code !== 0) throw new Error(stderr);
}

/** One record less, one more, one record with another amount, and a new field. */
function restateRecords(day: string): void {
  for (const brand of Object.values(sample.brands))
    for (const report of ['order_list', 'transaction_list'] as const)
      restate(brand, report, day, ([first, second, ...others]) => {
        if (!first || !second) throw new Error(`${day} has no two records`);
        const { at, record } = first;
        const changed = {
          ...record,
          commission: '77.77',
          money: { due: '77.77', currency: 'EUR' },
          campaign: 'O’Neill',
        };
        return [
          { at, record: changed },
          ...others,
          { at, record: { ...second.record, transid: 'new', id: 1 } },
        ];
      });
}

async function sync(report: string, event: JsonObject = {}): Promise<void> {
  expect(z.parse(outcomeSchema, await aws.invoke(`${STACK}-sync`, { reports: [report], ...event }))).toEqual({
    status: 'complete',
  });
}

async function syncMoney(day: string): Promise<void> {
  for (const report of ['order_list', 'transaction_list']) await sync(report, { from: day, to: day });
}

/** The names, types and rows of a result, as texts that are equal for equal values, and sorted: rows may tie. */
interface Comparable {
  names: string[];
  /** In Hive's notation. */
  types: string[];
  rows: string[];
}

/** Sums and counts have types that depend on the engine. */
async function expectSame(sql: string): Promise<void> {
  const { trino: found, duckdb: expected } = await bothAnswers(sql);
  expect({ ...found, types: [] }).toEqual({ ...expected, types: [] });
}

/** The results of both engines without limits: any hundred rows would be right. */
async function bothAnswers(sql: string): Promise<Record<'trino' | 'duckdb', Comparable>> {
  const whole = sql.replace(/\nLIMIT \d+$/, '');
  const began = hourNow();
  const { columns, rows } = await trino.query(whole);
  const answer = await duckdb.query(whole);
  // Views depend on the hour.
  if (hourNow() !== began) return bothAnswers(sql);
  if (whole !== sql) await trino.query(sql);
  const types = columns.map(({ type }) => hiveType(type.replaceAll(' ', '')));
  const textsOf = (values: readonly unknown[]) =>
    JSON.stringify(values.map((value, index) => comparable(value, types[index])));
  return {
    trino: { names: columns.map(({ name }) => name), types, rows: rows.map(textsOf).sort() },
    duckdb: {
      names: answer.columns.map(({ name }) => name),
      types: answer.columns.map(({ type }) => type),
      rows: answer.rows.map((row) => textsOf(Object.values(row))).sort(),
    },
  };
}

const hourNow = () => new Date().toISOString().slice(0, 13);

function comparable(value: unknown, type: string | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (type === 'double') return String(Number(value));
  if (type === 'timestamp')
    return String(value)
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, '');
  // The JSON of `changes`: Trino escapes characters beyond U+FFFF, and writes doubles with a fraction.
  return String(value)
    .replace(/(?:\\u[Dd][89A-Fa-f][0-9A-Fa-f]{2})+/g, (pair) => JSON.parse(`"${pair}"`))
    .replace(/"(-?\d+)\.0E(-?\d+)"/g, '"$1e$2"');
}

/* A closed month stays the same, bit for bit, whatever happens to its days later, as long as its close exists. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TEXTS } from '../../cli/query-formats.ts';
import { query } from '../../cli/query-result.ts';
import { type SqlLake, createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { updateCatalog } from '../../shared/catalog/update.ts';
import { DAY_MS } from '../../shared/days.ts';
import { closeKey, versionKey } from '../../shared/lake/paths.ts';
import { closeMonth, removeCloses } from '../../shared/operations/close-month.ts';
import { listVersions, rollBack } from '../../shared/operations/rollback.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { alter, ledgerEntry } from './lake-contents.ts';
import { BRAND, type SampleLake, type SyncOptions, sampleLake } from './sample-lake.ts';

const [FIRST, LAST] = ['2026-02-27', '2026-02-28'];
const MONTH = '2026-02';
const scope = { reports: ['order_list', 'transaction_list'], from: FIRST, to: LAST };
const AS_CLOSED = [
  'SELECT * FROM orders ORDER BY ALL',
  'SELECT * FROM transactions ORDER BY ALL',
  'SELECT * FROM order_states ORDER BY ALL',
  'SELECT * FROM transaction_states ORDER BY ALL',
  'SELECT * FROM orders_daily ORDER BY ALL',
  'SELECT * FROM commission_due ORDER BY ALL',
];
const CLOSED_TABLES = ['orders', 'transactions', 'order_states', 'transaction_states'];

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: SampleLake;
let first: string;
/** The results of queries when the month was closed: as of the close, and by table of closed months. */
let asClosed: string[];
let closed: string[];
let columns: string[];

async function ask(sql: string, own: Partial<SqlLake> = {}): Promise<string> {
  const folder = join(temporary.path, 'lake');
  await rm(folder, { recursive: true, force: true });
  await writeLake(lake.store, folder);
  const of = { store: openLocalStore(folder), reports, settings: undefined, nowMs: lake.nowMs, ...own };
  const connection = await createSqlConnection(of, sql);
  const pieces = await Array.fromAsync(TEXTS.csv(await query(connection, sql)));
  connection.closeSync();
  return pieces.join('');
}

const askAll = async (sqls: readonly string[], own: Partial<SqlLake> = {}) => {
  const texts: string[] = [];
  for (const sql of sqls) texts.push(await ask(sql, own));
  return texts;
};

/** Columns that were found later are left out, because they are NULL in these rows. */
const closedSql = () =>
  CLOSED_TABLES.map(
    (table, index) => `SELECT ${columns[index]} FROM ${table}_closed WHERE close = '${MONTH}' ORDER BY ALL`,
  );

async function later(days: number, options: SyncOptions = {}): Promise<void> {
  lake.nowMs += days * DAY_MS;
  const { brandSettings, ...rest } = options;
  const retention = { snapshotRetentionDays: 1, ...brandSettings };
  expect((await lake.sync({ scope, ...rest, brandSettings: retention })).status).toBe('complete');
}

function closing(own: { month?: string; lake?: SampleLake } = {}) {
  const { month = MONTH, lake: of = lake } = own;
  return { ...of.access(), settings: of.settings(), month };
}

const closedPointers = () =>
  Object.fromEntries([...lake.catalog.pointers].filter(([path]) => path.includes('_closed/')));

beforeAll(async () => {
  temporary = await temporaryFolder();
  lake = await sampleLake({
    now: '2026-03-02T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 20,
    brandSettings: {
      reports: {
        clicks_list: { enabled: false },
        amazon_attribution_report: { enabled: false },
        clicks_detail: { enabled: false },
      },
    },
  });
  expect((await lake.sync({ scope })).status).toBe('complete');
  first = (await ledgerEntry(lake, 'order_list', FIRST)).committed?.snapshot ?? '';
  await closeMonth(closing());
  asClosed = await askAll(AS_CLOSED, { asOf: MONTH });
  const heads = await askAll(CLOSED_TABLES.map((table) => `SELECT * FROM ${table}_closed LIMIT 0`));
  columns = heads.map((head) =>
    head
      .trim()
      .split(',')
      .map((name) => `"${name}"`)
      .join(', '),
  );
  closed = await askAll(closedSql());
});
afterAll(async () => {
  await lake?.close();
  await temporary?.remove();
});

describe('a closed month', () => {
  it('has the same rows in its tables as in queries as of its close', async () => {
    expect(asClosed.every((text) => text.split('\r\n').length > 2)).toBe(true);
    expect(await askAll(closedSql().slice(0, 1))).toEqual([expect.stringContaining(`,${MONTH}`)]);
    const counts = (table: string) => `SELECT count(*) AS n, sum(amount) AS amount FROM ${table}`;
    expect(await ask(counts('orders_closed'))).toBe(await ask(counts('orders')));
  });

  it('is the same, bit for bit, 60 days later: restated, rolled back, vacuumed, with other columns and roles', async () => {
    alter(lake, 'order_list', FIRST, { status: 'void', found_later: 'a new field' });
    alter(lake, 'transaction_list', LAST, { status: 'paid' });
    await later(1);
    await rollBack({ ...lake.access(), settings: lake.settings(), report: orders, day: FIRST }, first);
    await later(1);
    alter(lake, 'order_list', FIRST, { word: 'third' }, 1);
    const other = { reports: { order_list: { fields: { commission: 'amount' } } } };
    for (const days of [10, 10, 10, 10, 10]) await later(days, { brandSettings: other });
    const { committed, superseded = [] } = await ledgerEntry(lake, 'order_list', FIRST);
    // The ledger no longer has the closed version, and the vacuum has deleted another one.
    expect([committed, ...superseded].map((version) => version?.snapshot)).not.toContain(first);
    expect(lake.store.objects.has(versionKey('orders', BRAND, FIRST, first))).toBe(true);
    lake.nowMs += 8 * DAY_MS;

    expect(await ask('SELECT * FROM orders ORDER BY ALL')).not.toBe(asClosed[0]);
    expect(
      await askAll(AS_CLOSED, { asOf: MONTH, settings: lake.settings({ brandSettings: other }) }),
    ).toEqual(asClosed);
    expect(await askAll(closedSql())).toEqual(closed);
    expect(await ask(`SELECT count(found_later) AS n FROM orders_closed`)).toBe('n\r\n0\r\n');
  });

  it('has its partitions after the catalog was lost, and no partition without a close', async () => {
    const before = closedPointers();
    expect(Object.keys(before)).toHaveLength(8);
    lake.catalog.pointers.clear();
    lake.catalog.pointers.set(`orders_closed/close=2026-01/brand=${BRAND}/dt=2026-01-01`, 'gone');
    await updateCatalog({ ...lake.access(), settings: lake.settings(), program: '1.0.0', catalogId: 'test' });
    expect(closedPointers()).toEqual(before);
  });

  it('has versions that a rollback can publish even if the ledger no longer has them', async () => {
    const options = { ...lake.access(), settings: lake.settings(), report: orders, day: FIRST };
    const [oldest] = (await listVersions(options)).versions;
    expect(oldest).toMatchObject({ snapshot: first, closes: [MONTH], open: false, from: null });
    expect(await rollBack(options, first)).toMatchObject({ status: 'complete', snapshot: first });
    expect((await listVersions(options)).versions.at(-1)).toMatchObject({
      snapshot: first,
      closes: [MONTH],
      to: null,
    });
    const later = (await ledgerEntry(lake, 'order_list', FIRST)).superseded?.at(-1)?.snapshot ?? '';
    await rollBack(options, later);
  });

  it('keeps all versions while its document is damaged, and a run reports it', async () => {
    const key = closeKey(BRAND, MONTH);
    const document = lake.store.objects.get(key);
    if (!document) throw new Error('the close is missing');
    lake.store.objects.set(key, { ...document, body: Buffer.from('{') });
    const events: unknown[] = [];
    const before = [...lake.store.objects.keys()].filter((each) => each.startsWith('snapshots/orders/'));
    await later(30, { log: (event) => void events.push(event) });
    expect([...lake.store.objects.keys()]).toEqual(expect.arrayContaining(before));
    expect(events).toContainEqual(
      expect.objectContaining({
        event: 'vacuum_failed',
        code: 'damaged_document',
        message: expect.stringContaining(`${key} cannot be used`),
      }),
    );
    lake.store.objects.set(key, document);
  });

  it('ends with its close: then the vacuum deletes the versions that nothing else references', async () => {
    await removeCloses(closing());
    for (const days of [3, 3, 3]) await later(days);
    expect(lake.store.objects.has(versionKey('orders', BRAND, FIRST, first))).toBe(false);
    await expect(ask('SELECT * FROM orders', { asOf: MONTH })).rejects.toMatchObject({
      code: 'not_closed',
    });
    expect(await ask('SELECT count(*) AS n FROM orders_closed')).toBe('n\r\n0\r\n');
  });
});

import { hash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createFolderIceberg } from '../../shared/adapters/local/iceberg.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, addDays, dayOf, daysFrom } from '../../shared/days.ts';
import { restate } from '../../sample/brand.ts';
import { damagedCopyKey, ledgerKey, reportStateKey, versionKey } from '../../shared/lake/paths.ts';
import { type EraseOptions, erase, undoErasure } from '../../shared/operations/erase.ts';
import { orders } from '../../shared/reports/orders.ts';
import type { Lake } from '../../shared/ports.ts';
import { diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { runs } from '../fixtures/property-runs.ts';
import { restoreAll } from '../restore/restore-all.ts';
import {
  alter,
  coverageOf,
  ledgerEntries,
  ledgerEntry,
  rowsOf,
  wrongReports,
} from '../sync/lake-contents.ts';
import { BRAND, NO_TIME, REPORTS, type SampleLake, ZONE, blindRegistry } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';

const FIRST = '2026-02-26';
const TODAY = '2026-03-04';
/** The day on which the customer c-8841 has one order. */
const CUSTOMERS = '2026-03-01';
const DAYS = daysFrom(FIRST, TODAY);
const PAGED = REPORTS.filter((report) => report !== 'clicks_detail');
const sample = sharedLakes({ now: `${TODAY}T15:00:00Z`, startDate: FIRST, clicksPerDay: 3 });

const markOf = (report: string, day: string) => `mark ${report} ${day}`;
/** The lake with Iceberg tables. */
const lakeOf = (lake: SampleLake, over: Partial<Lake> = {}): Lake => {
  const store = over.store ?? lake.store;
  return {
    runs: blindRegistry,
    catalog: lake.catalog,
    ...over,
    store,
    iceberg: createFolderIceberg(store, 'memory://lake'),
  };
};
const sync = (lake: SampleLake, options = {}) =>
  lake.sync({ lake: lakeOf(lake), commonSettings: { catalogs: ['hive', 'iceberg'] }, ...options });
const optionsOf = (lake: SampleLake, of: Partial<EraseOptions> = {}): EraseOptions => ({
  ...lake.access(),
  lake: lakeOf(lake),
  settings: lake.settings(),
  brand: BRAND,
  plans: false,
  ...of,
});

/** A lake in which every day has older versions, changes and raw records of several attempts; another brand has the same. */
async function filledLake(names: readonly string[] = REPORTS): Promise<SampleLake> {
  const lake = sample.emptyLake();
  for (const report of PAGED) for (const day of DAYS) alter(lake, report, day, { mark: markOf(report, day) });
  alter(lake, 'order_list', CUSTOMERS, { customer: 'c-8841' }, 1);
  await sync(lake, { scope: { reports: names } });
  lake.nowMs += HOUR_MS;
  for (const report of PAGED) for (const day of DAYS) alter(lake, report, day, { again: 1 }, 1);
  const scope = { reports: names, from: FIRST, to: TODAY };
  await sync(lake, { scope });
  await sync(lake, { deadline: NO_TIME, scope });
  const key = ledgerKey('order_list', BRAND, '2026-03');
  lake.store.objects.set(damagedCopyKey(key, new Date(lake.nowMs)), lake.store.objects.get(key) ?? fail());
  lake.store.objects.set('query-results/1.csv', {
    ...(lake.store.objects.get(key) ?? fail()),
    body: Buffer.from(markOf('order_list', FIRST)),
  });
  for (const [of, object] of [...lake.store.objects]) {
    const other = of.replace('brand=acme', 'brand=zeta').replace('/acme', '/zeta');
    const isJson = of.startsWith('ledger/');
    if (other !== of && !of.startsWith('iceberg/'))
      lake.store.objects.set(
        other,
        isJson
          ? { ...object, body: Buffer.from(Buffer.from(object.body).toString().replaceAll('acme', 'zeta')) }
          : object,
      );
  }
  return lake;
}

function fail(): never {
  throw new Error('missing');
}

/** The text that any tool could read in an object. */
async function textOf(lake: SampleLake, key: string): Promise<string> {
  const { body } = lake.store.objects.get(key) ?? fail();
  if (key.endsWith('.zst')) return zstdDecompressSync(body).toString();
  if (!key.endsWith('.parquet')) return Buffer.from(body).toString('latin1');
  const rows = await rowsOf(lake, key);
  return JSON.stringify(rows, (_name, value) => (typeof value === 'bigint' ? String(value) : value));
}

const isOther = (key: string) => key.includes('zeta') && !key.startsWith('iceberg/');

/** The objects of the brand that contain one of the texts. */
async function objectsWith(lake: SampleLake, texts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const key of [...lake.store.objects.keys()].filter((each) => !each.includes('zeta'))) {
    const text = await textOf(lake, key);
    if (texts.some((each) => text.includes(each))) found.push(key);
  }
  return found;
}

const bytesOfOthers = (lake: SampleLake) =>
  [...lake.store.objects]
    .filter(([key]) => isOther(key))
    .map(([key, { body }]) => [key, hash('md5', body)] as const);

/** Without other brands, because the test's reader of ledgers reads all brands. */
function removeOthers({ store }: SampleLake): void {
  for (const key of [...store.objects.keys()].filter(isOther)) store.objects.delete(key);
}

/** The days on which requests begin; a request for a single instant belongs to the day before. */
function requestedDays({ service }: SampleLake): string[] {
  return service.requests.flatMap(({ fields: { start_date: date, start_time: from, end_time: to } }) => {
    if (typeof date === 'string') return date.replace(/^(....)(..)(..)$/, '$1-$2-$3');
    return typeof from === 'number' && from !== to ? dayOf(from > 1e11 ? from : from * 1000, ZONE) : [];
  });
}

const rangeOfDays = fc.tuple(fc.nat(DAYS.length - 1), fc.nat(DAYS.length - 1)).map(([a, b]) => ({
  from: DAYS[Math.min(a, b)] ?? FIRST,
  to: DAYS[Math.max(a, b)] ?? TODAY,
}));

it('an erasure leaves nothing of its days, no run reads them again, and they come back after --undo', async () => {
  const filled = await filledLake();
  const { nowMs } = filled;
  await fc.assert(
    fc.asyncProperty(rangeOfDays, async ({ from, to }) => {
      const lake = filled.fork();
      lake.nowMs = nowMs;
      const others = bytesOfOthers(lake);
      const erasedDays = daysFrom(from, to);
      const marks = PAGED.flatMap((report) => erasedDays.map((day) => markOf(report, day)));
      const ids = [...lake.store.objects.keys()].flatMap((key) =>
        erasedDays.flatMap((day) => new RegExp(`/brand=acme/dt=${day}/([^/]+)/`).exec(key)?.[1] ?? []),
      );
      expect(await objectsWith(lake, marks)).not.toEqual([]);
      const outcome = await erase(optionsOf(lake, { from, to }));
      expect(outcome.status).toBe('complete');
      expect(await objectsWith(lake, [...marks, ...new Set(ids)])).toEqual([]);
      expect(bytesOfOthers(lake)).toEqual(others);

      removeOthers(lake);
      lake.service.requests.splice(0);
      lake.nowMs += 2 * DAY_MS;
      expect((await sync(lake)).status).toBe('complete');
      expect((await sync(lake, { scope: { from, to } })).status).toBe('complete');
      expect(requestedDays(lake).filter((day) => erasedDays.includes(day))).toEqual([]);
      for (const report of REPORTS) {
        const entries = Object.fromEntries(await ledgerEntries(lake, report));
        expect(erasedDays.filter((day) => entries[day]?.committed)).toEqual([]);
        expect((await coverageOf(lake, report))[from]).toMatchObject({ state: 'erased' });
      }
      expect(
        await objectsWith(
          lake,
          PAGED.flatMap((report) => erasedDays.slice(1).map((day) => markOf(report, day))),
        ),
      ).toEqual([]);

      await undoErasure(optionsOf(lake, { from, to }));
      expect((await sync(lake)).status).toBe('complete');
      expect(await wrongReports(lake, addDays(TODAY, 2))).toEqual({});
    }),
    { ...runs(4), endOnFailure: true },
  );
});

const ORDERS = { order_list: orders };
const from = '2026-02-27';
const to = '2026-02-28';

/** The objects that ledgers name and that are missing in the lake. */
async function lostObjects(lake: SampleLake): Promise<string[]> {
  const named = (await ledgerEntries(lake, 'order_list')).flatMap(([day, { committed, superseded = [] }]) =>
    committed
      ? [
          ...[committed, ...superseded].map(({ snapshot }) => versionKey('orders', BRAND, day, snapshot)),
          versionKey('order_states', BRAND, day, committed.lifecycle?.snapshot ?? ''),
        ]
      : [],
  );
  return named.filter((key) => !lake.store.objects.has(key));
}

it.each([
  ['days', undefined],
  ['records', { field: 'customer', value: 'c-8841' }],
])(
  'an erasure of %s that dies at any operation loses no other day, and the same command finishes it',
  async (_what, records) => {
    const filled = await filledLake(['order_list']);
    const { nowMs } = filled;
    const marks = records ? [records.value] : [markOf('order_list', from), markOf('order_list', to)];
    let isReached = true;
    // Every fifth operation, because all of them would take minutes.
    for (let n = 1; isReached; n += 5) {
      expect(n).toBeLessThan(400);
      const lake = filled.fork();
      lake.nowMs = nowMs;
      const others = bytesOfOthers(lake);
      const store = diesAtN(lake.store, n);
      const dying = lakeOf(lake, { store, catalog: diesAtNCatalog(lake.catalog, store) });
      const of = { reports: ORDERS, ...(records ? { records } : { from, to }) };
      await erase(optionsOf(lake, { ...of, lake: dying })).catch((thrown: unknown) => {
        if (!store.life.dead) throw thrown;
      });
      isReached = store.operations >= n;
      for (const [key] of others) if (key.startsWith('ledger/')) lake.store.objects.delete(key);
      expect({ n, lost: await lostObjects(lake) }).toEqual({ n, lost: [] });
      lake.advance(2 * MINUTE_MS);
      expect((await erase(optionsOf(lake, of))).status).toBe('complete');
      expect({ n, left: await objectsWith(lake, marks) }).toEqual({ n, left: [] });
      expect({ n, lost: await lostObjects(lake) }).toEqual({ n, lost: [] });
      expect(bytesOfOthers(lake)).toEqual(others.filter(([key]) => !key.startsWith('ledger/')));
    }
  },
);

it('the records of one customer are removed from every version, change and raw record, and all other rows stay', async () => {
  const lake = await filledLake(['order_list', 'transaction_list']);
  removeOthers(lake);
  const records = { field: 'customer', value: 'c-8841' };
  const others = (await ledgerEntries(lake, 'order_list')).filter(([day]) => day !== CUSTOMERS);
  const rowsNow = async () => {
    const { committed } = await ledgerEntry(lake, 'order_list', CUSTOMERS);
    return rowsOf(lake, versionKey('orders', BRAND, CUSTOMERS, committed?.snapshot ?? ''));
  };
  const before = await rowsNow();
  const days = [{ report: 'order_list', day: CUSTOMERS, isReread: true }];
  expect(await erase(optionsOf(lake, { records, plans: true }))).toMatchObject({ status: 'planned', days });
  expect(await objectsWith(lake, ['c-8841'])).not.toEqual([]);
  const { status, days: changed, removed } = await erase(optionsOf(lake, { records }));
  expect({ status, changed, changes: removed.changes?.objects }).toEqual({
    status: 'complete',
    changed: days,
    changes: 1,
  });
  expect(await objectsWith(lake, ['c-8841'])).toEqual([]);
  expect(await rowsNow()).toEqual(before.filter(({ customer }) => customer !== 'c-8841'));
  expect((await ledgerEntries(lake, 'order_list')).filter(([day]) => day !== CUSTOMERS)).toEqual(others);
  const { committed, superseded } = await ledgerEntry(lake, 'order_list', CUSTOMERS);
  expect({ rows: committed?.rows, superseded, changes: committed?.changes }).toEqual({
    rows: before.length - 1,
  });
  const unknown = erase(optionsOf(lake, { records: { field: 'nobody', value: '1' } }));
  await expect(unknown).rejects.toThrow('No table has the field, column or role "nobody"');
});

it('an order that the service no longer has is removed from the lifecycle table too', async () => {
  const lake = sample.emptyLake();
  const scope = { reports: ['order_list'] };
  alter(lake, 'order_list', CUSTOMERS, { transid: 'o-8841' }, 1);
  await sync(lake, { scope });
  lake.nowMs += HOUR_MS;
  restate(lake.brand, 'order_list', CUSTOMERS, (held) => held.slice(1));
  await sync(lake, { scope: { ...scope, from: CUSTOMERS, to: CUSTOMERS } });
  const rows = async () => {
    const { committed } = await ledgerEntry(lake, 'order_list', CUSTOMERS);
    return rowsOf(
      lake,
      versionKey('order_states', BRAND, CUSTOMERS, committed?.lifecycle?.snapshot ?? fail()),
    );
  };
  const before = await rows();
  expect(before).toContainEqual(expect.objectContaining({ order_id: 'o-8841', records: 0n }));
  const records = { field: 'transid', value: 'o-8841' };
  expect((await erase(optionsOf(lake, { records }))).status).toBe('complete');
  expect(await objectsWith(lake, ['o-8841'])).toEqual([]);
  expect(await rows()).toHaveLength(before.length - 1);
  const erased = (await ledgerEntry(lake, 'order_list', CUSTOMERS)).committed;
  const path = `order_states/brand=${BRAND}/dt=${CUSTOMERS}`;
  expect(lake.catalog.pointers.get(path)).toBe(erased?.lifecycle?.snapshot);
});

it.each([
  ['a ledger', ['ledger']],
  ['a report state', ['state']],
  ['first a report state and then a ledger', ['state', 'ledger']],
])('days stay erased if %s is damaged and restored', async (_what, damaged) => {
  const lake = await filledLake(['order_list']);
  await erase(optionsOf(lake, { from, to }));
  removeOthers(lake);
  for (const each of damaged) {
    const key =
      each === 'state' ? reportStateKey('order_list', BRAND) : ledgerKey('order_list', BRAND, '2026-02');
    const stored = await lake.store.get(key);
    await lake.store.put(key, Buffer.from('{'), { ifMatch: stored?.etag ?? '' });
    expect((await restoreAll(lake, lakeOf(lake))).map(({ outcome }) => outcome)).toEqual(['restored']);
  }
  lake.service.requests.splice(0);
  expect((await sync(lake, { scope: { reports: ['order_list'] } })).status).toBe('complete');
  expect(requestedDays(lake).filter((day) => from <= day && day <= to)).toEqual([]);
  expect((await ledgerEntry(lake, 'order_list', from)).erasedAt).toBeDefined();
});

it('an erasure refuses a day that a run reads, and a run that has read an erased day cannot commit it', async () => {
  const lake = sample.emptyLake();
  const gate = Promise.withResolvers<void>();
  let isCaught = false;
  const store = {
    ...lake.store,
    put: async (...[key, ...rest]: Parameters<typeof lake.store.put>) => {
      if (key.startsWith('raw/order_list') && !isCaught) {
        isCaught = true;
        await gate.promise;
      }
      return lake.store.put(key, ...rest);
    },
  };
  const scope = { reports: ['order_list'], from: TODAY, to: TODAY };
  const running = lake.sync({ scope, lake: lake.over(store) });
  while (!isCaught) await new Promise((resolve) => setTimeout(resolve, 5));
  const options = { from: TODAY, to: TODAY };
  expect((await erase(optionsOf(lake, options))).status).toBe('busy');
  expect((await ledgerEntry(lake, 'order_list', TODAY)).erasedAt).toBeUndefined();
  lake.nowMs += HOUR_MS;
  expect((await erase(optionsOf(lake, options))).status).toBe('complete');
  gate.resolve();
  expect((await running).reports[0]?.days.map(({ outcome }) => outcome)).toEqual(['busy']);
  expect(Object.keys(await ledgerEntry(lake, 'order_list', TODAY))).toEqual(['erasedAt']);
});

it('only the time of the erasure is left of an erased brand', async () => {
  const lake = await filledLake();
  expect((await erase(optionsOf(lake))).status).toBe('complete');
  const left = [...lake.store.objects.keys()].filter((key) => key.includes('acme'));
  expect(left.filter((key) => !/^(ledger|snapshots\/(coverage|changes))\//.test(key))).toEqual([]);
  for (const report of REPORTS)
    for (const [, entry] of await ledgerEntries(lake, report))
      if (entry.erasedAt) expect(Object.keys(entry)).toEqual(['erasedAt']);
  await expect(erase(optionsOf(lake, { brand: 'acne' }))).rejects.toThrow(
    'have the brand "acne". Allowed: acme, zeta',
  );
});

it('records are erased even if raw records and older versions are damaged, but the current version must be readable', async () => {
  const lake = await filledLake(['order_list']);
  const records = { field: 'customer', value: 'c-8841' };
  const damage = (key: string) =>
    lake.store.objects.set(key, { ...(lake.store.objects.get(key) ?? fail()), body: Buffer.from('cut off') });
  const { committed, superseded = [] } = await ledgerEntry(lake, 'order_list', CUSTOMERS);
  const current = versionKey('orders', BRAND, CUSTOMERS, committed?.snapshot ?? '');
  const whole = lake.store.objects.get(current) ?? fail();
  damage(current);
  await expect(erase(optionsOf(lake, { records }))).rejects.toMatchObject({
    kind: 'config',
    message: expect.stringContaining(
      `${current}, the current version of order_list ${CUSTOMERS}, cannot be read`,
    ),
  });
  lake.store.objects.set(current, whole);
  const chunk = [...lake.store.objects.keys()].find(
    (key) => key.startsWith(`raw/order_list/brand=${BRAND}/dt=${CUSTOMERS}/`) && key.endsWith('.zst'),
  );
  const damaged = [
    chunk ?? fail(),
    ...superseded.map(({ snapshot }) => versionKey('orders', BRAND, CUSTOMERS, snapshot)),
  ];
  expect(damaged.length).toBeGreaterThan(1);
  for (const key of damaged) damage(key);
  expect((await erase(optionsOf(lake, { records }))).status).toBe('complete');
  expect(damaged.filter((key) => lake.store.objects.has(key))).toEqual([]);
  expect(await objectsWith(lake, [records.value])).toEqual([]);
});

it('a brand of the settings that has no day yet has nothing to erase', async () => {
  const outcome = { status: 'complete', removed: {}, from: FIRST, to: TODAY };
  expect(await erase(optionsOf(sample.emptyLake()))).toMatchObject(outcome);
});

it('the day that is already open in the east is erased too, also for a brand that is no longer in the settings', async () => {
  const lake = sample.emptyLake();
  lake.nowMs += HOUR_MS;
  await sync(lake, { scope: { reports: ['order_list'] }, brandSettings: { timeZone: 'Asia/Tokyo' } });
  expect((await ledgerEntry(lake, 'order_list', addDays(TODAY, 1))).committed).toBeDefined();
  expect((await erase(optionsOf(lake, { settings: undefined }))).status).toBe('complete');
  for (const [, entry] of await ledgerEntries(lake, 'order_list'))
    expect(Object.keys(entry)).toEqual(['erasedAt']);
});

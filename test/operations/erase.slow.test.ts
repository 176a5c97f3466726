import { hash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import { createFolderIceberg } from '../../shared/adapters/local/iceberg.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, addDays, dayOf, daysFrom } from '../../shared/base/days.ts';
import { type ReportName, restate } from '../../sample/brand.ts';
import {
  closeKey,
  leaseKey,
  ledgerKey,
  brandStateKey,
  schemaKey,
  versionKey,
} from '../../shared/lake/paths.ts';
import { readLedgers } from '../../shared/lake/read.ts';
import { tableStatuses } from '../../shared/watch/table-statuses.ts';
import { parseClose } from '../../shared/lake/close.ts';
import { parseJson } from '../../shared/base/json.ts';
import { closeMonth } from '../../shared/operations/close-month.ts';
import { type EraseOptions, erase, undoErasure } from '../../shared/operations/erase.ts';
import { KINDS } from '../../shared/operations/erased-objects.ts';
import type { Lake } from '../../shared/ports.ts';
import { diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { type KeptVersions, versionedStore } from '../fakes/versioned-store.ts';
import { runs } from '../fixtures/property-runs.ts';
import { restoreAll } from './restore/restore-all.ts';
import {
  alter,
  coverageOf,
  ledgerEntries,
  ledgerEntry,
  tableOf,
  wrongReports,
} from '../sync/lake-contents.ts';
import { BRAND, NO_TIME, REPORTS, type SampleLake, ZONE, blindRegistry } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';
import { WITHOUT_SUMS } from '../fakes/without-sums.ts';

const FIRST = '2026-02-26';
const TODAY = '2026-03-04';
const MONTH = '2026-02';
const DAYS = daysFrom(FIRST, TODAY);
const PAGED = REPORTS.filter((report) => report !== 'clicks_detail');
/** Another brand, whose name begins with the name of the erased brand. */
const OTHER = 'acme-eu';
const sample = sharedLakes({ now: `${TODAY}T15:00:00Z`, startDate: FIRST, clicksPerDay: 3 });

/** A lake, and what its store has kept of replaced and deleted objects. */
interface Filled {
  lake: SampleLake;
  kept: KeptVersions;
}

const markOf = (report: string, day: string) => `mark ${report} ${day}`;
/** The lake with Iceberg tables, in a versioned bucket. */
const lakeOf = (lake: SampleLake, kept: KeptVersions = new Map(), over: Partial<Lake> = {}): Lake => {
  const store = over.store ?? versionedStore(lake.store, kept);
  return {
    runs: blindRegistry,
    catalog: lake.catalog,
    ...over,
    store,
    iceberg: createFolderIceberg(store, 'memory://lake'),
  };
};
const sync = (lake: SampleLake, options = {}, kept: KeptVersions = new Map()) =>
  lake.sync({ lake: lakeOf(lake, kept), commonSettings: { catalogs: ['hive', 'iceberg'] }, ...options });
const optionsOf = (lake: SampleLake, of: Partial<EraseOptions> = {}, kept?: KeptVersions): EraseOptions => ({
  ...lake.access(),
  lake: lakeOf(lake, kept),
  settings: lake.settings(),
  brand: BRAND,
  plans: false,
  erasedSums: WITHOUT_SUMS.erasedSums,
  ...of,
});

/** From now on every record of the day has the text in its ids, its names and a further field. */
function mark({ brand }: SampleLake, report: ReportName, day: string): void {
  const text = markOf(report, day);
  restate(brand, report, day, (held) =>
    held.map(({ at, record }, index) => ({
      at,
      record: {
        ...record,
        mark: text,
        ...('publisher_name' in record && { publisher_name: text }),
        ...('transid' in record && { transid: `${text} ${index}` }),
        ...('sku' in record && { sku: text, order_id: `${text} ${index}` }),
      },
    })),
  );
}

/**
 * A lake in which every day has older versions, changes and raw records of several attempts, with a closed month; another
 * brand has the same.
 */
async function filledLake(names: readonly string[] = REPORTS): Promise<Filled> {
  const lake = sample.emptyLake();
  const kept: KeptVersions = new Map();
  for (const report of PAGED) for (const day of DAYS) mark(lake, report, day);
  await sync(lake, { scope: { reports: names } }, kept);
  lake.nowMs += HOUR_MS;
  const closing = { ...lake.access(), lake: lakeOf(lake, kept), settings: lake.settings(), month: MONTH };
  await closeMonth({ ...closing, ...WITHOUT_SUMS, anyway: true });
  for (const report of PAGED) for (const day of DAYS) alter(lake, report, day, { again: 1 }, 1);
  const scope = { reports: names, from: FIRST, to: TODAY };
  await sync(lake, { scope }, kept);
  await sync(lake, { deadline: NO_TIME, scope }, kept);
  const ledger = lake.store.objects.get(ledgerKey('order_list', BRAND, '2026-03')) ?? fail();
  const results = { ...ledger, body: Buffer.from(markOf('order_list', FIRST)) };
  for (const folder of ['', `brand=${BRAND}/`])
    lake.store.objects.set(`query-results/${folder}1.csv`, results);
  const ofOther = (text: string) =>
    text.replace(`brand=${BRAND}/`, `brand=${OTHER}/`).replace(/\/acme(?=[/.])/, `/${OTHER}`);
  for (const [of, object] of [...lake.store.objects]) {
    const other = ofOther(of);
    const isJson = /^(ledger|closes)\//.test(of);
    const body = isJson
      ? Buffer.from(Buffer.from(object.body).toString().replaceAll(BRAND, OTHER))
      : object.body;
    if (other !== of && !of.startsWith('iceberg/')) lake.store.objects.set(other, { ...object, body });
  }
  for (const [version, { key: of, body }] of [...kept])
    if (ofOther(of) !== of) kept.set(`${version} of ${OTHER}`, { key: ofOther(of), body });
  return { lake, kept };
}

function forked({ lake, kept }: Filled, nowMs: number): Filled {
  const fork = lake.fork();
  fork.nowMs = nowMs;
  return { lake: fork, kept: new Map(kept) };
}

function fail(): never {
  throw new Error('missing');
}

/** The bytes as text, and the text that any tool could read in them. */
async function textOf(key: string, body: Uint8Array): Promise<string> {
  const bytes = Buffer.from(body).toString('latin1');
  if (key.endsWith('.zst')) return bytes + zstdDecompressSync(body).toString();
  if (!key.endsWith('.parquet')) return bytes;
  const range = async (start: number, end: number) => body.slice(start, end);
  const rows = await Array.fromAsync(readParquetRows({ bytes: body.length, range }));
  return bytes + JSON.stringify(rows, (_name, value) => (typeof value === 'bigint' ? String(value) : value));
}

const isOther = (key: string) => key.includes(OTHER);

/** The objects of the brand, current and kept, that contain one of the texts. */
async function objectsWith({ lake, kept }: Filled, texts: readonly string[]): Promise<string[]> {
  const all = [
    ...[...lake.store.objects].map(([key, { body }]) => ({ name: key, key, body })),
    ...[...kept].map(([name, of]) => ({ name, ...of })),
  ];
  const found: string[] = [];
  for (const { name, key, body } of all.filter((each) => !isOther(each.key))) {
    const text = await textOf(key, body);
    if (texts.some((each) => text.includes(each))) found.push(name);
  }
  return found;
}

/** The bytes of objects, current and kept, without the metadata of Iceberg, which all brands share. */
const bytesOf = ({ lake, kept }: Filled, isWanted: (key: string) => boolean) =>
  [
    ...[...lake.store.objects].map(([key, { body }]) => [key, key, body] as const),
    ...[...kept].map(([name, { key, body }]) => [name, key, body] as const),
  ].flatMap(([name, key, body]) =>
    isWanted(key) && !key.startsWith('iceberg/') ? [[name, hash('md5', body)] as const] : [],
  );

/** Without the other brand, because the test's reader of ledgers reads all brands. */
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

/** Whether the object belongs to days that stay, or to a report or brand that is not erased. */
function isNeighbour(names: readonly ReportName[], from: string, to: string) {
  const tables = names.flatMap((name) => [tableOf(name), `${tableOf(name)}_before`]);
  return (key: string) => {
    if (isOther(key)) return true;
    const [, day = ''] = /\/dt=([-\d]+)\//.exec(key) ?? [];
    const isOfNames = key
      .split('/')
      .some((part) => [...names, ...tables].includes(part.replace('report=', '')));
    // The state of the brand has the erased days of its reports.
    if (key.endsWith('/state.json')) return false;
    if (day === '') return /^(ledger|raw)\//.test(key) && !isOfNames;
    // The raw records of the day before may have the first instant of the range.
    return !isOfNames || day < addDays(from, key.startsWith('raw/') ? -1 : 0) || day > to;
  };
}

it('an erasure leaves nothing of its days and everything of others, no run reads them again, and they come back after --undo', async () => {
  const filled = await filledLake();
  const { nowMs } = filled.lake;
  const reportsOf = fc.option(fc.subarray([...PAGED], { minLength: 1 }), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(rangeOfDays, reportsOf, async ({ from, to }, only) => {
      const of = forked(filled, nowMs);
      const { lake, kept } = of;
      const names: readonly ReportName[] = only ?? REPORTS;
      const others = bytesOf(of, isNeighbour(names, from, to));
      const erasedDays = daysFrom(from, to);
      const paged = PAGED.filter((name) => names.includes(name));
      const marks = paged.flatMap((report) => erasedDays.map((day) => markOf(report, day)));
      // What is left of a report that looks up the days of an erased report names their versions.
      const tables = only ? [] : names.flatMap((name) => [tableOf(name), name]);
      const ids = [...lake.store.objects.keys(), ...[...kept.values()].map(({ key }) => key)].flatMap((key) =>
        erasedDays.flatMap((day) => {
          const [, table = '', id = ''] =
            new RegExp(`^(?:snapshots|raw)/([^/]+)/brand=acme/dt=${day}/([^/]+)/`).exec(key) ?? [];
          return tables.includes(table) ? [id] : [];
        }),
      );
      expect(await objectsWith(of, marks)).not.toEqual([]);
      const plan = await erase(optionsOf(lake, { from, to, only, plans: true }, kept));
      const outcome = await erase(optionsOf(lake, { from, to, only }, kept));
      expect(outcome).toMatchObject({ status: 'complete', reports: names });
      expect(Object.keys(outcome.searched)).toEqual(Object.keys(KINDS));
      expect({ ...plan.removed, derived: 0, previous: 0 }).toEqual({
        ...{ ...outcome.removed, derived: 0, previous: 0 },
        iceberg: undefined,
      });
      expect(await objectsWith(of, [...marks, ...new Set(ids)])).toEqual([]);
      const left = new Map(bytesOf(of, () => true));
      expect(others.filter(([name, bytes]) => left.get(name) !== bytes)).toEqual([]);
      const again = await erase(optionsOf(lake, { from, to, only, plans: true }, kept));
      expect(again.removed).toEqual({});

      removeOthers(lake);
      lake.service.requests.splice(0);
      lake.nowMs += 2 * DAY_MS;
      const scope = { reports: names };
      expect((await sync(lake, { scope })).status).toBe('complete');
      expect((await sync(lake, { scope: { ...scope, from, to } })).status).toBe('complete');
      expect(requestedDays(lake).filter((day) => erasedDays.includes(day))).toEqual([]);
      for (const report of names) {
        const entries = Object.fromEntries(await ledgerEntries(lake, report));
        expect(erasedDays.filter((day) => entries[day]?.committed)).toEqual([]);
        expect((await coverageOf(lake, report))[from]).toMatchObject({ state: 'erased' });
      }
      const later = paged.flatMap((report) => erasedDays.slice(1).map((day) => markOf(report, day)));
      expect(await objectsWith({ lake, kept: new Map() }, later)).toEqual([]);

      await undoErasure(optionsOf(lake, { from, to, only }));
      expect((await sync(lake)).status).toBe('complete');
      expect(await wrongReports(lake, addDays(TODAY, 2))).toEqual({});
    }),
    { ...runs(4), endOnFailure: true },
  );
});

const ORDERS = ['order_list'];
const from = '2026-02-27';
const to = '2026-02-28';

/** The objects that ledgers and closes name and that are missing in the lake. */
async function lostObjects(lake: SampleLake): Promise<string[]> {
  const named = (await ledgerEntries(lake, 'order_list')).flatMap(([day, { committed, superseded = [] }]) =>
    committed
      ? [
          ...[committed, ...superseded].map(({ snapshot }) => versionKey('orders', BRAND, day, snapshot)),
          ...(committed.history?.object
            ? [versionKey('orders_before', BRAND, day, committed.history.object.snapshot)]
            : []),
        ]
      : [],
  );
  const close = await storedClose(lake);
  const closed = close.days.flatMap(({ day, snapshot }) => versionKey('orders', BRAND, day, snapshot));
  return [...named, ...closed].filter((key) => !lake.store.objects.has(key));
}

async function storedClose({ store }: SampleLake) {
  return parseClose(
    closeKey(BRAND, MONTH),
    parseJson(Buffer.from(store.objects.get(closeKey(BRAND, MONTH))?.body ?? '').toString()),
  );
}

it('I4: an erasure that dies at any operation loses no other day, and the same command finishes it', async () => {
  const filled = await filledLake(ORDERS);
  const { nowMs } = filled.lake;
  const marks = [markOf('order_list', from), markOf('order_list', to)];
  let isReached = true;
  // Every seventh operation, because all of them would take minutes.
  for (let n = 1; isReached; n += 7) {
    expect(n).toBeLessThan(600);
    const of = forked(filled, nowMs);
    const { lake, kept } = of;
    const others = bytesOf(of, isOther);
    const store = diesAtN(versionedStore(lake.store, kept), n);
    const dying = lakeOf(lake, kept, { store, catalog: diesAtNCatalog(lake.catalog, store) });
    const range = { only: ORDERS, from, to };
    await erase(optionsOf(lake, { ...range, lake: dying })).catch((thrown: unknown) => {
      if (!store.life.dead) throw thrown;
    });
    isReached = store.operations >= n;
    for (const [key] of others) if (key.startsWith('ledger/')) lake.store.objects.delete(key);
    expect({ n, lost: await lostObjects(lake) }).toEqual({ n, lost: [] });
    lake.advance(2 * MINUTE_MS);
    expect((await erase(optionsOf(lake, range, kept))).status).toBe('complete');
    expect({ n, left: await objectsWith(of, marks) }).toEqual({ n, left: [] });
    expect({ n, lost: await lostObjects(lake) }).toEqual({ n, lost: [] });
    expect((await storedClose(lake)).erased?.map(({ day }) => day)).toEqual([from, to]);
    expect(bytesOf(of, isOther)).toEqual(others.filter(([key]) => !key.startsWith('ledger/')));
  }
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
  lake.store.objects.delete(leaseKey(BRAND));
  expect((await erase(optionsOf(lake, options))).status).toBe('complete');
  gate.resolve();
  expect((await running).reports[0]?.days.map(({ outcome }) => outcome)).toEqual(['busy']);
  expect(Object.keys(await ledgerEntry(lake, 'order_list', TODAY))).toEqual(['erasedAt']);
});

it('only the time of the erasure is left of an erased brand', async () => {
  const of = await filledLake();
  const { lake, kept } = of;
  const others = bytesOf(of, isOther);
  const outcome = await erase(optionsOf(lake, {}, kept));
  expect(outcome).toMatchObject({ status: 'complete', removed: { closes: { objects: 1 } } });
  const left = [...lake.store.objects.keys()].filter((key) => key.includes(BRAND) && !isOther(key));
  expect(left.filter((key) => !/^(ledger|snapshots\/(coverage|closes))\//.test(key))).toEqual([]);
  expect([...kept.values()].filter(({ key }) => !isOther(key) && !/^schema\/\w+\.json$/.test(key))).toEqual(
    [],
  );
  expect(bytesOf(of, isOther)).toEqual(others);
  await expect(erase(optionsOf(lake, { brand: 'acne' }))).rejects.toThrow(
    'have the brand "acne". Allowed: acme-eu, acme',
  );
  removeOthers(lake);
  for (const report of REPORTS)
    for (const [, entry] of await ledgerEntries(lake, report))
      expect(Object.keys(entry)).not.toContain('committed');
});

it.each([
  ['the first day', { from: '2026-03-05' }, '--from 2026-03-05 is in the future. Allowed: up to 2026-03-04'],
  ['the last day', { from, to: '2027-01-01' }, '--to 2027-01-01 is in the future. Allowed: up to 2026-03-04'],
])('an erasure refuses a range of which %s is in the future', async (_what, range, message) => {
  const lake = sample.emptyLake();
  await expect(erase(optionsOf(lake, range))).rejects.toMatchObject({
    code: 'day_to_come',
    message: expect.stringContaining(message),
  });
  expect(lake.store.objects.size).toBe(0);
});

it('a lake without a catalog is erased, unless a catalog points at its objects', async () => {
  const lake = sample.emptyLake();
  for (const day of DAYS) mark(lake, 'order_list', day);
  const { catalog: _catalog, ...without } = lakeOf(lake);
  await lake.sync({ lake: without, scope: { reports: ORDERS } });
  const options = optionsOf(lake, { lake: without, from, to });
  expect((await erase(options)).status).toBe('complete');
  expect(await objectsWith({ lake, kept: new Map() }, [markOf('order_list', from)])).toEqual([]);
  await sync(lake, { scope: { reports: ORDERS } });
  await expect(erase(options)).rejects.toMatchObject({ code: 'no_catalog' });
});

it('days that no run has read are not read afterwards either', async () => {
  const lake = sample.emptyLake();
  lake.service.requests.splice(0);
  expect((await erase(optionsOf(lake, { only: ORDERS, from, to }))).status).toBe('complete');
  expect((await sync(lake, { scope: { reports: ORDERS } })).status).toBe('complete');
  const read = requestedDays(lake);
  expect(read).toContain(FIRST);
  expect(read.filter((day) => from <= day && day <= to)).toEqual([]);
});

it('a day whose looked-up records were erased is neither missing nor overdue', async () => {
  const lake = sample.emptyLake();
  const scope = { reports: ['clicks_list', 'clicks_detail'] };
  const only = ['clicks_list'];
  await sync(lake, { scope });
  await erase(optionsOf(lake, { only, from, to }));
  await erase(optionsOf(lake, { only: scope.reports, from: to, to }));
  await undoErasure(optionsOf(lake, { only: ['clicks_detail'], from: to, to }));
  lake.nowMs += 3 * DAY_MS;
  await sync(lake, { scope });
  const ofDetails = await coverageOf(lake, 'clicks_detail');
  expect(ofDetails[from]).toMatchObject({ state: 'settled' });
  expect(ofDetails[from]).not.toHaveProperty('overdue_at');
  lake.nowMs += 30 * DAY_MS;
  const { reports } = lake.access();
  const ledgers = await readLedgers(lake.store, reports, {}, lake.nowMs);
  const details = tableStatuses(lake.settings(), reports, ledgers, lake.nowMs).find(
    ({ report }) => report === 'clicks_detail',
  );
  expect(details?.days.filter(({ dt }) => dt === from || dt === to).map(({ state }) => state)).toEqual([
    'settled',
    'erased',
  ]);
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
    expect(Object.keys(entry)).not.toContain('committed');
});

/** Damages a document without the knowledge of the store. */
function damage({ store }: SampleLake, key: string): void {
  const object = store.objects.get(key) ?? fail();
  store.objects.set(key, { ...object, body: Buffer.from('{'), etag: `${object.etag}-damaged` });
}

it('erased days stay erased if the report state and a ledger are damaged at once', async () => {
  const lake = sample.emptyLake();
  const scope = { reports: ORDERS };
  await sync(lake, { scope });
  expect((await erase(optionsOf(lake, { only: ORDERS, from, to }))).status).toBe('complete');
  for (const key of [brandStateKey(BRAND), ledgerKey('order_list', BRAND, MONTH)]) damage(lake, key);
  const restored = await restoreAll(lake);
  expect(restored.map(({ outcome }) => outcome)).toEqual(['restored', 'restored']);
  lake.service.requests.splice(0);
  lake.nowMs += HOUR_MS;
  expect((await sync(lake, { scope })).status).toBe('complete');
  const read = requestedDays(lake);
  expect(read).toContain(FIRST);
  expect(read.filter((day) => from <= day && day <= to)).toEqual([]);
});

it('an erasure that cannot write a table anew, because its schema is damaged, erases nothing', async () => {
  const lake = sample.emptyLake();
  await sync(lake, { scope: { reports: ORDERS } });
  damage(lake, schemaKey('orders'));
  const before = new Map(lake.store.objects);
  await expect(erase(optionsOf(lake, { from, to }))).rejects.toMatchObject({ code: 'damaged_document' });
  expect(new Map(lake.store.objects)).toEqual(before);
});

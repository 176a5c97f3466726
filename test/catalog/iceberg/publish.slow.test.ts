import { describe, expect, it } from '@jest/globals';
import { createFolderIceberg } from '../../../shared/adapters/local/iceberg.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/base/days.ts';
import { versionAt } from './version-at.ts';
import type { Lake, ObjectStore } from '../../../shared/ports.ts';
import { BrandReportsError } from '../../../shared/base/errors.ts';
import { ProcessDied, diesAtN, diesAtNCatalog } from '../../fakes/dies-at-n-store.ts';
import { type Operation, storeAround } from '../../fakes/lake-around.ts';
import { Random } from '../../simulation/random.ts';
import { alter, ledgerEntries } from '../../sync/lake-contents.ts';
import { type SampleLake, blindRegistry } from '../../sync/sample-lake.ts';
import { sharedLakes } from '../../sync/shared-lakes.ts';
import { type ReadSnapshot, URL, filesOf, readTable } from './read-table.ts';

const NOW = '2026-03-01T17:00:00Z';
const DAYS = ['2026-02-27', '2026-02-28', '2026-03-01'];
const sample = sharedLakes({
  now: NOW,
  recordsTo: '2026-04-20T00:00:00Z',
  startDate: DAYS[0] ?? '',
  clicksPerDay: 3,
  reports: ['order_list'],
  brandSettings: { snapshotRetentionDays: 3 },
});

const ICEBERG = { catalogs: ['hive', 'iceberg'] };
const withIceberg = (lake: SampleLake, store: ObjectStore = lake.store): Lake => ({
  ...lake.over(store),
  iceberg: createFolderIceberg(store, URL),
});
const sync = (
  lake: SampleLake,
  { store, ...options }: Parameters<SampleLake['sync']>[0] & { store?: ObjectStore } = {},
) => lake.sync({ lake: withIceberg(lake, store), commonSettings: ICEBERG, ...options });

async function started(): Promise<SampleLake> {
  const lake = sample.emptyLake();
  expect(await sync(lake)).toMatchObject({ status: 'complete' });
  return lake;
}

const restate = (lake: SampleLake, day = DAYS[0] ?? '', status = 'restated') => {
  lake.nowMs += 7 * HOUR_MS;
  alter(lake, 'order_list', day, { status });
};

/** The paths of the ledgers' versions as of a time. */
async function pathsAt(lake: SampleLake, atMs?: number): Promise<string[]> {
  const entries = await ledgerEntries(lake, 'order_list');
  return entries.flatMap(([day, entry]) => {
    const { committed } = entry;
    const found = atMs === undefined ? committed?.snapshot : versionAt(entry, atMs);
    const rows = committed?.rows ?? 0;
    return found !== undefined && rows > 0
      ? [`${URL}/snapshots/orders/brand=acme/dt=${day}/${found}/part-0000.parquet`]
      : [];
  });
}

const pathsIn = ({ store }: SampleLake, snapshot: ReadSnapshot | undefined) =>
  snapshot && filesOf(store, snapshot).map(({ path }) => path);
const current = (lake: SampleLake) => readTable(lake.store)?.snapshots.at(-1);

/** Checks that the table has the ledgers' content, and that everything it names exists. */
async function expectProjected(lake: SampleLake): Promise<void> {
  for (const snapshot of readTable(lake.store)?.snapshots ?? []) filesOf(lake.store, snapshot);
  expect(pathsIn(lake, current(lake))).toEqual(await pathsAt(lake));
}

function watched(store: ObjectStore, onPut = (_key: string) => {}) {
  const operations: string[] = [];
  const around = async <T>({ name, on }: Operation, act: () => Promise<T>) => {
    if (on.startsWith('iceberg/')) operations.push(name);
    if (on.startsWith('iceberg/') && name === 'put') onPut(on);
    return act();
  };
  return { store: storeAround(store, around), operations };
}

describe('the Iceberg table of a report', () => {
  it('has the rows, bytes and days of the ledgers after the first run, in one snapshot', async () => {
    const lake = await started();
    const files = filesOf(lake.store, current(lake) ?? fail());
    const entries = await ledgerEntries(lake, 'order_list');
    expect(files.map(({ dt, brand, rows, bytes }) => [brand, dt, rows, bytes])).toEqual(
      entries.map(([day, { committed }]) => ['acme', day, committed?.rows, committed?.bytes]),
    );
    expect(readTable(lake.store)?.snapshots).toHaveLength(1);
    await expectProjected(lake);
  });

  it('commits only a restated day: its month gets a new manifest, the other manifests are kept', async () => {
    const lake = await started();
    const before = current(lake) ?? fail();
    restate(lake, DAYS[2]);
    const { store, operations } = watched(lake.store);
    await sync(lake, { store });
    const [february] = [...before.manifests.keys()].filter((path) => path.includes('2026-02'));
    const after = current(lake) ?? fail();
    const ofMarch = [...after.manifests].find(([path]) => path.includes('2026-03'))?.[1];
    expect(after.id).not.toBe(before.id);
    expect([...after.manifests.keys()]).toContain(february);
    expect(ofMarch?.map(({ dt }) => dt)).toEqual(['2026-03-01']);
    // A manifest, the list in two forms, the metadata, and the hint of a folder.
    expect(operations.filter((name) => name === 'put')).toHaveLength(5);
    await expectProjected(lake);
  });

  it('is not written, and is read in three requests, if nothing is new', async () => {
    const lake = await started();
    const { store, operations } = watched(lake.store);
    await sync(lake, { store });
    // Only a folder has the hint.
    expect(operations).toEqual(['get', 'list', 'get', 'get']);
  });

  it('has the days of all brands, including brands that the run does not have', async () => {
    const lake = sample.emptyLake();
    await lake.sync();
    for (const [key, object] of [...lake.store.objects]) {
      if (!key.startsWith('ledger/order_list/acme/2026') && !key.startsWith('snapshots/orders/')) continue;
      const body = Buffer.from(object.body);
      const text = key.startsWith('ledger/')
        ? Buffer.from(body.toString().replaceAll('acme', 'globex'))
        : body;
      lake.store.objects.set(key.replace('acme', 'globex'), { ...object, body: text });
    }
    lake.nowMs += HOUR_MS;
    await sync(lake);
    const days = (await ledgerEntries(lake, 'order_list')).length;
    const brands = filesOf(lake.store, current(lake) ?? fail()).map(({ brand }) => brand);
    expect(
      Object.entries(Object.groupBy(brands, (brand) => brand)).map(([brand, of]) => [brand, of?.length]),
    ).toEqual([
      ['acme', days],
      ['globex', days],
    ]);
  });

  it('has one snapshot for all brands that end together in a run', async () => {
    const lake = sample.emptyLake();
    const { baseUrl } = lake.brand;
    const own = { baseUrl, service: lake.service.serviceName, timeZone: 'UTC', startDate: DAYS[0] ?? '' };
    const brands = Object.fromEntries(['acme', 'bolt', 'globex'].map((name) => [name, own]));
    expect(await sync(lake, { commonSettings: { ...ICEBERG, brands } })).toMatchObject({
      status: 'complete',
    });
    expect(readTable(lake.store)?.snapshots).toHaveLength(1);
    const found = filesOf(lake.store, current(lake) ?? fail()).map(({ brand }) => brand);
    expect(new Set(found)).toEqual(new Set(Object.keys(brands)));
  });

  it.each<[string, (lake: SampleLake) => void]>([
    ['was moved', ({ store }) => patch(store, /v1\.meta/, 'file:///lake', 'file:///old')],
    ['is damaged', ({ store }) => patch(store, /v1\.meta/, '"snapshots"', '"snap"')],
    ['has lost its list', ({ store }) => lose(store, /snap-/)],
    ['has a damaged list', ({ store }) => patch(store, /snap-.*json/, '\x1f\x8b', 'xx')],
    ['names a list elsewhere', ({ store }) => patch(store, /v1\.meta/, 'metadata/snap', 'metadata/../snap')],
  ])('that %s is projected again', async (_name, change) => {
    const lake = await started();
    change(lake);
    restate(lake);
    await sync(lake);
    await expectProjected(lake);
  });

  it('begins again if another run commits first, and has the content of both', async () => {
    const lake = await started();
    restate(lake);
    let isFirst = true;
    const other = { ...lake.store };
    const store = storeAround(lake.store, async ({ name, on }, act) => {
      if (isFirst && name === 'put' && on.endsWith('v2.metadata.json')) {
        isFirst = false;
        alter(lake, 'order_list', DAYS[1] ?? '', { status: 'other' });
        const scope = { from: DAYS[1] ?? '', to: DAYS[1] ?? '' };
        expect(await sync(lake, { store: other, scope })).toMatchObject({ status: 'complete' });
      }
      return act();
    });
    expect(await sync(lake, { store })).toMatchObject({ status: 'complete' });
    expect(readTable(lake.store)?.snapshots.length).toBeGreaterThan(1);
    await expectProjected(lake);
  });

  it.each<[string, RegExp]>([
    ['a manifest', /2026-02-.*avro/],
    ['the list', /snap-/],
    ['the metadata', /metadata\.json/],
    ['the hint', /hint/],
  ])('that cannot be written (%s) fails the report, and the next run commits', async (_name, key) => {
    const lake = await started();
    restate(lake);
    const { store } = watched(lake.store, (on) => {
      if (key.test(on)) throw new BrandReportsError('config', 'lake_not_writable', `no right to write ${on}`);
    });
    const outcome = await sync(lake, { store });
    expect(outcome.reports).toMatchObject([{ status: 'failed', error: { code: 'lake_not_writable' } }]);
    expect(await sync(lake)).toMatchObject({ status: 'complete' });
    await expectProjected(lake);
  });

  it('is left out unless the settings name it', async () => {
    const lake = sample.emptyLake();
    await sync(lake, { commonSettings: {} });
    expect([...lake.store.objects.keys()].filter((key) => key.startsWith('iceberg/'))).toEqual([]);
  });
});

describe('earlier snapshots of the Iceberg table', () => {
  it('I3: name existing files only, and the metadata stays bounded, while days pass and versions are deleted', async () => {
    const lake = await started();
    let most = 0;
    const begun = lake.store.objects.size;
    for (let day = 1; day <= 12; day += 1) {
      restate(lake, DAYS[day % 2], `state ${day}`);
      lake.nowMs += DAY_MS - 7 * HOUR_MS;
      expect(await sync(lake, { scope: { from: DAYS[0] ?? '', to: DAYS[1] ?? '' } })).toMatchObject({
        status: 'complete',
      });
      await sync(lake);
      await expectProjected(lake);
      const { snapshots = [] } = readTable(lake.store) ?? {};
      const oldestMs = snapshots[0]?.atMs ?? 0;
      expect(lake.nowMs - (snapshots[1]?.atMs ?? 0)).toBeLessThan(4 * DAY_MS);
      if (day > 4) expect(lake.nowMs - oldestMs).toBeGreaterThan(2 * DAY_MS);
      most = Math.max(most, snapshots.length);
    }
    const iceberg = [...lake.store.objects.keys()].filter((key) => key.startsWith('iceberg/'));
    expect(most).toBeLessThanOrEqual(12);
    expect(iceberg.length).toBeLessThan(90);
    expect(begun).toBeGreaterThan(0);
  });

  it.each([1, 2, 3])(
    'I4: give the same results as --as-of after a random history with deaths (seed %i)',
    async (seed) => {
      const random = new Random(seed);
      const lake = sample.emptyLake();
      const runs: [fromMs: number, toMs: number][] = [];
      for (let step = 0; step < 10; step += 1) {
        const begunMs = lake.nowMs;
        const dies = diesAtN(lake.store, random.whole(1, 160), {
          when: random.pick(['before', 'after'] as const),
        });
        if (step % 3 === 2) restate(lake, random.pick(DAYS), `state ${step}`);
        const scope = random.pick([{}, {}, { from: DAYS[0] ?? '', to: DAYS[1] ?? '' }]);
        const dying = { ...withIceberg(lake, dies), catalog: diesAtNCatalog(lake.catalog, dies) };
        const died = lake.sync({
          lake: { ...dying, runs: blindRegistry },
          scope,
          commonSettings: ICEBERG,
        });
        await died.catch((thrown: unknown) => expect(thrown).toBeInstanceOf(ProcessDied));
        lake.advance(3 * MINUTE_MS);
        expect(await sync(lake)).toMatchObject({ status: 'complete' });
        await expectProjected(lake);
        lake.advance(MINUTE_MS);
        runs.push([begunMs, lake.nowMs]);
        lake.advance(random.whole(1, 300) * MINUTE_MS);
      }
      const { snapshots = [] } = readTable(lake.store) ?? {};
      // Before the last 24 hours only the last snapshot of each day is left.
      const firstMs = Math.max(snapshots[0]?.atMs ?? 0, (snapshots.at(-1)?.atMs ?? 0) - DAY_MS);
      for (let instant = 0; instant < 100; instant += 1) {
        const atMs = random.whole(firstMs, lake.nowMs);
        if (runs.some(([fromMs, toMs]) => fromMs <= atMs && atMs <= toMs)) continue;
        const found = snapshots.findLast((snapshot) => snapshot.atMs <= atMs);
        expect(pathsIn(lake, found)).toEqual(await pathsAt(lake, atMs));
      }
    },
  );
});

function fail(): never {
  throw new Error('there is no table');
}

function patch({ objects }: SampleLake['store'], key: RegExp, from: string, to: string): void {
  for (const [name, object] of objects)
    if (name.startsWith('iceberg/') && key.test(name))
      objects.set(name, {
        ...object,
        body: Buffer.from(Buffer.from(object.body).toString('latin1').replaceAll(from, to), 'latin1'),
      });
}

function lose({ objects }: SampleLake['store'], key: RegExp): void {
  for (const name of [...objects.keys()])
    if (name.startsWith('iceberg/') && key.test(name)) objects.delete(name);
}

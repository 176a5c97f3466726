import { hash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { createFolderIceberg } from '../../shared/adapters/local/iceberg.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { LAKE_FORMAT, inOurFormat } from '../../shared/lake/documents/lake-format.ts';
import { daysOfLedgers, readLedgers } from '../../shared/lake/documents/read.ts';
import { FORMAT_KEY, attemptPrefix, changesKey, ledgerKey, versionKey } from '../../shared/lake/paths.ts';
import { erase } from '../../shared/operations/erase.ts';
import { type CopyOptions, type CopyOutcome, copyLake } from '../../shared/operations/copy-lake.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { ProcessDied, diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { storeAround } from '../fakes/lake-around.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { type MemoryStore, memoryStore } from '../fakes/memory-store.ts';
import { URL, filesOf, readTable } from '../iceberg/read-table.ts';
import { alter, ledgerTableRows } from '../sync/lake-contents.ts';
import { BRAND, type SampleLake, type SyncOptions, NO_TIME, blindRegistry } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';

const [FIRST, DAY] = ['2026-02-27', '2026-02-28'];
const sample = sharedLakes({
  now: '2026-03-01T17:00:00Z',
  recordsTo: '2026-03-09T17:00:00Z',
  startDate: FIRST,
  clicksPerDay: 4,
});

/** A lake with a replaced version, its changes, and a day that a run has left half read. */
async function historicLake(options: SyncOptions = {}): Promise<SampleLake> {
  const lake = sample.emptyLake();
  expect(await lake.sync(options)).toMatchObject({ status: 'complete' });
  lake.nowMs += 3 * HOUR_MS;
  alter(lake, 'order_list', DAY, { status: 'void' });
  expect(await lake.sync({ ...options, scope: { ...options.scope, from: FIRST, to: DAY } })).toMatchObject({
    status: 'complete',
  });
  lake.nowMs += DAY_MS;
  await lake.sync({ ...options, deadline: NO_TIME });
  put(lake.store, FORMAT_KEY, { format: LAKE_FORMAT });
  return lake;
}

interface Copy {
  store: MemoryStore;
  catalog: ReturnType<typeof memoryCatalog>;
}

const emptyCopy = (): Copy => ({
  store: { ...memoryStore(), url: 'memory://copy' },
  catalog: memoryCatalog(),
});

function copyOf(lake: SampleLake, { store, catalog }: Copy, change: Partial<CopyOptions> = {}) {
  const iceberg = createFolderIceberg(store, URL);
  return copyLake({
    ...lake.access(),
    ...{ from: inOurFormat(lake.store), lake: { store, catalog, iceberg, runs: blindRegistry } },
    settings: lake.settings(),
    ...change,
  });
}

/** The hashes of everything that a copy must contain: the documents, and all objects that the ledgers name. */
async function named(store: ObjectStore): Promise<Map<string, string>> {
  const keys: string[] = [];
  for (const prefix of ['ledger/', 'schema/'])
    for await (const { key } of store.list(prefix)) if (key !== FORMAT_KEY) keys.push(key);
  for (const { brand, report, day, entry } of daysOfLedgers(await readLedgers(store, reports))) {
    const { committed, superseded = [], claim } = entry;
    for (const { snapshot } of [...(committed ? [committed] : []), ...superseded])
      keys.push(versionKey(report.table, brand, day, snapshot));
    if (committed?.changes) keys.push(changesKey(brand, report.name, day, committed.changes.snapshot));
    for (const attempt of [committed?.attempt, claim?.attempt])
      for await (const { key } of store.list(attemptPrefix(report.name, brand, day, attempt ?? 'none')))
        keys.push(key);
  }
  const contents = keys.map(async (key) => {
    const stored = await store.get(key);
    return [key, stored ? hash('md5', stored.body) : ''] as const;
  });
  return new Map(await Promise.all(contents));
}

const formatIn = ({ store }: Copy) =>
  JSON.parse(Buffer.from(store.objects.get(FORMAT_KEY)?.body ?? '').toString());

it('a copy has every version, change, raw record and document and its own catalog, and its runs read no day again', async () => {
  const lake = await historicLake();
  const copy = emptyCopy();
  const outcome = await copyOf(lake, copy);
  expect(await named(copy.store)).toEqual(await named(lake.store));
  const keys = [...(await named(copy.store)).keys()];
  const objects = [...copy.store.objects].filter(([key]) =>
    /^(snapshots\/(?!c[oh]|schema)|changes|raw)/.test(key),
  );
  const bytes = objects.reduce((sum, [, { body }]) => sum + body.length, 0);
  expect(outcome).toMatchObject({
    status: 'complete',
    objects: objects.length,
    copiedObjects: objects.length,
    bytes,
  });
  expect(keys).toEqual(
    expect.arrayContaining([expect.stringMatching(/^changes\//), expect.stringMatching(/^raw\/.*chunk/)]),
  );
  expect(formatIn(copy)).toEqual({ format: LAKE_FORMAT, copyOf: 'memory://lake' });
  const days = ({ pointers }: Copy['catalog']) =>
    new Map([...pointers].filter(([path]) => path.includes('/dt=')));
  expect(days(copy.catalog)).toEqual(days(lake.catalog));
  const there = { ...lake, ...copy };
  for (const table of ['changes', 'coverage'])
    expect(await ledgerTableRows(there, table, 'order_list')).toEqual(
      await ledgerTableRows(lake, table, 'order_list'),
    );
  const snapshots = readTable(copy.store)?.snapshots ?? [];
  const files = filesOf(
    copy.store,
    snapshots.at(-1) ?? { id: 0, atMs: 0, schemaId: 0, manifests: new Map() },
  );
  expect(files.map(({ path }) => path.slice(URL.length + 1)).sort()).toEqual(
    [...copy.catalog.pointers]
      .filter(([path]) => path.startsWith('orders/'))
      .map(([path, id]) => `snapshots/${path}/${id}/part-0000.parquet`)
      .sort(),
  );

  // The interrupted reading goes on in both lakes.
  const { requests } = lake.service;
  const asked = async (run: Promise<{ status: string }>) => {
    const before = requests.length;
    expect(await run).toMatchObject({ status: 'complete' });
    return requests
      .slice(before)
      .map(({ action, fields }) => `${action} ${JSON.stringify(fields)}`)
      .sort();
  };
  lake.nowMs += HOUR_MS;
  const fork = lake.fork();
  const here = await asked(fork.sync());
  expect(here.length).toBeGreaterThan(0);
  const inCopy = lake.fork();
  expect(await asked(inCopy.sync({ lake: lake.over(inOurFormat(copy.store), copy.catalog) }))).toEqual(here);
  // The copy is a lake of its own now, so nothing is copied again.
  expect(await copyOf(lake, copy)).toMatchObject({ status: 'complete', objects: 0, copiedObjects: 0 });
});

it('I4: a copy that dies anywhere is refused as a lake, and copying again finishes it', async () => {
  const scope = { reports: ['order_list'] };
  const lake = await historicLake({ scope });
  const whole = emptyCopy();
  await copyOf(lake, whole);
  const [wanted, pointers] = [await named(whole.store), [...whole.catalog.pointers.keys()].sort()];
  let deaths = 0;
  // A death before an operation equals a death after the operation before it.
  for (let n = 1, died = true; died; n += 1) {
    const copy = emptyCopy();
    const store = diesAtN(copy.store, n, { when: 'after' });
    const mortal = { store, catalog: diesAtNCatalog(copy.catalog, store), runs: blindRegistry };
    const from = storeAround(inOurFormat(lake.store), store.step);
    await copyOf(lake, copy, { from, lake: mortal }).catch((error: unknown) => {
      if (!(error instanceof ProcessDied)) throw error;
    });
    died = store.life.dead;
    deaths += 1;
    const isFinished = copy.store.objects.size > 0 && formatIn(copy).format === LAKE_FORMAT;
    if (copy.store.objects.size > 0 && !isFinished)
      await expect(inOurFormat(copy.store).get('any')).rejects.toMatchObject({ code: 'unfinished_copy' });
    expect(await copyOf(lake, copy)).toMatchObject({ status: 'complete' });
    expect({ n, named: await named(copy.store) }).toEqual({ n, named: wanted });
    expect([...copy.catalog.pointers.keys()].sort()).toEqual(pointers);
    expect(n).toBeLessThan(1000);
  }
  expect(deaths).toBeGreaterThan(100);
}, 240_000);

it('I3: while runs and their vacuum write to the source, each ledger is copied with the objects that it names', async () => {
  const lake = await historicLake();
  const copy = emptyCopy();
  let once: Promise<unknown> | undefined;
  const from = storeAround(inOurFormat(lake.store), async ({ name, on }, act) => {
    const old = `snapshots/orders/brand=${BRAND}/dt=${DAY}`;
    if (name === 'range' && on.startsWith(old))
      once ??= (async () => {
        // Two vacuums: one forgets the old version, the next one deletes it.
        for (let day = 0; day < 3; day += 1) {
          lake.nowMs += 40 * DAY_MS;
          await lake.sync({ scope: { reports: ['order_list'], from: FIRST, to: DAY } });
          await lake.sync({ scope: { reports: ['order_list'] }, deadline: NO_TIME });
        }
      })();
    await once;
    return act();
  });
  expect(await copyOf(lake, copy, { from })).toMatchObject({ status: 'complete' });
  expect(once).toBeDefined();
  for (const [key, content] of await named(copy.store)) expect([key, content]).not.toEqual([key, '']);
});

it('I3: a round that finds an object lost leads to another round, because ledgers are copied before objects', async () => {
  const lake = await historicLake({ scope: { reports: ['order_list'] } });
  const copy = emptyCopy();
  await copyOf(lake, copy);
  put(copy.store, FORMAT_KEY, { copyOf: lake.store.url });
  const lost = [...copy.store.objects.keys()].find((key) => key.includes(`/dt=${DAY}/`)) ?? '';
  copy.store.objects.delete(lost);
  let passes = 0;
  const from = storeAround(inOurFormat(lake.store), ({ name, on }, act) => {
    if (name === 'list' && on === 'ledger/') passes += 1;
    if (name === 'range' && on === lost) lake.store.objects.delete(lost);
    return act();
  });
  expect(await copyOf(lake, copy, { from })).toMatchObject({ status: 'complete', copiedObjects: 0 });
  // The first list of ledgers only checks that the source has some.
  expect(passes).toBe(3);
});

it('a copy is finished only after a damaged ledger of the source has been restored', async () => {
  const lake = await historicLake();
  const ledger = lake.store.objects.get(order)?.body ?? Buffer.of();
  put(lake.store, order, { days: 1 });
  const copy = emptyCopy();
  expect(await copyOf(lake, copy)).toMatchObject({ status: 'incomplete' });
  lake.store.objects.set(order, { body: ledger, etag: 'restored', modifiedAt: new Date(0) });
  expect(await copyOf(lake, copy)).toMatchObject({ status: 'complete', copiedObjects: 0 });
  expect(await named(copy.store)).toEqual(await named(lake.store));
});

it('days that the source erases during the copy, or before the copy goes on, are not in the copy', async () => {
  const lake = await historicLake({ scope: { reports: ['order_list'] } });
  const copy = emptyCopy();
  let once: Promise<unknown> | undefined;
  const from = storeAround(inOurFormat(lake.store), async ({ name, on }, act) => {
    // The ledgers and the first objects were copied.
    if (name === 'range' && on.startsWith('raw/'))
      once ??= erase({
        ...lake.access(),
        ...{ settings: lake.settings(), brand: BRAND, from: DAY, to: DAY, plans: false },
      });
    await once;
    return act();
  });
  expect(await copyOf(lake, copy, { from })).toMatchObject({ status: 'complete' });
  expect(await once).toMatchObject({ status: 'complete' });
  expect([...copy.store.objects.keys()].filter((key) => key.includes(`/dt=${DAY}/`))).toEqual([]);
  expect(await named(copy.store)).toEqual(await named(lake.store));
});

const text = (value: unknown) => Buffer.from(JSON.stringify(value));
const order = ledgerKey('order_list', BRAND, '2026-03');

it.each<[string, Record<string, unknown>, string, string | undefined]>([
  ['a lake', { [FORMAT_KEY]: { format: LAKE_FORMAT }, [order]: {} }, 'other_data', order],
  ['any file', { 'notes/a.txt': 1 }, 'other_data', 'notes/a.txt'],
  ['a copy of another lake', { [FORMAT_KEY]: { copyOf: 's3://other' } }, 'other_data', 's3://other'],
  ['another format', { [FORMAT_KEY]: { format: 99 } }, 'other_data', 'format 99'],
  [
    'only the objects that a deployment writes',
    { 'status/coverage.html': 1, [FORMAT_KEY]: { format: LAKE_FORMAT } },
    '',
    undefined,
  ],
])('checks the target of a copy: a place with %s', async (_name, objects, code, message) => {
  const lake = await historicLake({ scope: { reports: ['order_list'] } });
  const copy = emptyCopy();
  for (const [key, value] of Object.entries(objects))
    await copy.store.put(key, text(value), { ifAbsent: true });
  const before = new Map(copy.store.objects);
  const copied: Promise<CopyOutcome> = copyOf(lake, copy);
  if (message === undefined) return expect(await copied).toMatchObject({ status: 'complete' });
  await expect(copied).rejects.toMatchObject({
    kind: 'config',
    code,
    message: expect.stringContaining(message),
  });
  expect(copy.store.objects).toEqual(before);
});

it.each<[string, (lake: SampleLake) => void, string]>([
  ['is empty', ({ store }) => store.objects.clear(), 'nothing_to_copy'],
  ['has another format', ({ store }) => put(store, FORMAT_KEY, { format: 99 }), 'other_format'],
  ['is an unfinished copy', ({ store }) => put(store, FORMAT_KEY, { copyOf: 'x' }), 'unfinished_copy'],
])('refuses to copy from a lake that %s', async (_name, spoil, code) => {
  const lake = await historicLake({ scope: { reports: ['order_list'] } });
  spoil(lake);
  await expect(copyOf(lake, emptyCopy())).rejects.toMatchObject({ kind: 'config', code });
});

it('refuses to copy a lake into itself', async () => {
  const lake = await historicLake({ scope: { reports: ['order_list'] } });
  await expect(copyOf(lake, { ...emptyCopy(), store: lake.store })).rejects.toMatchObject({
    code: 'other_data',
  });
});

function put({ objects }: MemoryStore, key: string, value: unknown): void {
  objects.set(key, { body: text(value), etag: key, modifiedAt: new Date(0) });
}

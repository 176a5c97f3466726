import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { openGlueCatalog } from '../../shared/adapters/aws/glue-catalog.ts';
import { type JsonObject, isJsonObject } from '../../shared/base/json.ts';
import { type Row, baseSchema } from '../../shared/table/columns.ts';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import { CATALOG_STAMP_KEY, LEDGER_TABLES, ledgerKey, schemaKey } from '../../shared/lake/paths.ts';
import { type ReportDefinition, allViews, dayTables } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { type UpdateOptions, updateCatalog } from '../../shared/catalog/update.ts';
import { startGlueServer } from '../fakes/glue-server.ts';
import { memoryStore, type MemoryStore } from '../fakes/memory-store.ts';
import { virtualTime } from '../fakes/virtual-time.ts';
import { refunds } from '../fixtures/sixth-report.ts';
import { BRAND, NO_TIME, type SampleLake, ZONE, sampleLake, blindRegistry } from '../sync/sample-lake.ts';

const FIRST = '2026-02-27';
const NOW = Date.parse('2026-03-02T15:00:00Z');
const TABLES = [...Object.values(reports).flatMap(dayTables), ...LEDGER_TABLES];
const VIEWS = [...allViews(reports).map(({ name }) => name), 'freshness'];

let server: Awaited<ReturnType<typeof startGlueServer>>;
beforeEach(async () => {
  server = await startGlueServer('reports');
});
afterEach(async () => {
  server.client.destroy();
  await server.close();
});

function settingsOf(...brands: string[]) {
  const brand = { baseUrl: 'https://service.example', service: 'ACME', timeZone: ZONE, startDate: FIRST };
  const named = brands.map((name) => [name, { ...brand, secretName: name }]);
  return parseSettings({ brands: Object.fromEntries(named) }, reports);
}

function run(store: MemoryStore, change: Partial<UpdateOptions> = {}) {
  const time = virtualTime(NOW);
  let ids = 0;
  const options: UpdateOptions = {
    settings: settingsOf(BRAND),
    reports,
    lake: {
      store,
      runs: blindRegistry,
      catalog: openGlueCatalog('reports', store.url, server.client),
    },
    clock: { ...time, every: () => () => {} },
    log: () => {},
    random: () => 0,
    newId() {
      ids += 1;
      return `set-up-${ids}`;
    },
    program: '1.0.0',
    catalogId: 'test',
    again: true,
    ...change,
  };
  return updateCatalog(options);
}

function columnsOf(table: string): unknown[] {
  const stored = server.tables.get(table)?.table.StorageDescriptor;
  const columns = isJsonObject(stored) && Array.isArray(stored.Columns) ? stored.Columns : [];
  return columns.map((column) => isJsonObject(column) && column.Name);
}

function partitionsOf(table: string): Record<string, unknown> {
  const partitions = server.tables.get(table)?.partitions ?? new Map<string, JsonObject>();
  return Object.fromEntries(
    [...partitions].map(([values, { StorageDescriptor }]) => [
      values,
      isJsonObject(StorageDescriptor) && StorageDescriptor.Location,
    ]),
  );
}

async function coverageOf(store: MemoryStore): Promise<Row[]> {
  const rows: Row[] = [];
  for (const location of Object.values(partitionsOf('coverage'))) {
    const key = `${String(location).slice(store.url.length + 1)}part-0000.parquet`;
    const bytes = store.objects.get(key)?.body.length ?? 0;
    const range = (start: number, end: number) => store.range(key, start, end);
    for await (const row of readParquetRows({ bytes, range })) rows.push(row);
  }
  return rows;
}

function wholeCatalog() {
  return [...server.tables].map(([name, { version }]) => [name, version, partitionsOf(name)]);
}

function put(store: MemoryStore, key: string, document: object): void {
  store.objects.set(key, {
    body: Buffer.from(JSON.stringify(document)),
    etag: `${key}-${store.objects.size}`,
    modifiedAt: new Date(0),
  });
}

function storedSchema({ table, columns }: ReportDefinition, ...discovered: string[]) {
  const more = discovered.map((name) => ({ name, type: 'string', field: name }));
  return { table, columns: [...baseSchema(columns).columns, ...more], recentWrites: [] };
}

describe('an update before the first sync', () => {
  it('creates the table and views of a sixth report from its definition alone', async () => {
    await run(memoryStore(), { reports: { ...reports, [refunds.name]: refunds } });
    expect(columnsOf('refunds')).toContain('refund_date');
  });

  it('is a config error for a lake without a catalog', async () => {
    const lake = { store: memoryStore(), runs: blindRegistry };
    await expect(run(lake.store, { lake })).rejects.toMatchObject({ kind: 'config', code: 'no_catalog' });
  });
});

describe('an update of a lake whose database was deleted', () => {
  let lake: SampleLake;
  /** By table, then by the values of the partition: its location in the catalog of the runs. */
  const expected: Record<string, Record<string, string>> = {};

  beforeAll(async () => {
    lake = await sampleLake({ now: new Date(NOW).toISOString(), startDate: FIRST });
    restate(lake.brand, 'order_list', FIRST, () => []);
    expect((await lake.sync()).status).toBe('complete');
    for (const [path, snapshot] of lake.catalog.pointers) {
      const [table = '', ...partition] = path.split('/');
      const values = partition.map((part) => part.slice(part.indexOf('=') + 1)).join('/');
      expected[table] ??= {};
      expected[table][values] = `${lake.store.url}/snapshots/${path}/${snapshot}/`;
    }
  });
  afterAll(() => lake.close());

  const copyOfStore = () => lake.fork().store;
  const found = () =>
    Object.fromEntries(
      TABLES.filter((table) => expected[table]).map((table) => [table, partitionsOf(table)]),
    );
  const days = () => ({ ...expected, coverage: undefined });

  it('I3: registers every partition at the snapshot of its ledger, and every column found so far', async () => {
    const outcome = await run(copyOfStore());
    expect(outcome).toMatchObject({ status: 'complete', published: 20, brandsLeft: [] });
    expect([...server.tables.keys()]).toEqual(expect.arrayContaining(VIEWS));
    expect(found()).toMatchObject(JSON.parse(JSON.stringify(days())));
    expect(Object.keys(partitionsOf('coverage')).sort()).toEqual(Object.keys(expected.coverage ?? {}).sort());
    expect(columnsOf('orders')).toEqual(expect.arrayContaining(['transid', 'amount', 'commission']));
  });

  it('writes the same coverage as the syncs', async () => {
    const store = copyOfStore();
    await run(store);
    const states = (await coverageOf(store)).map(({ dt, rows, state }) => ({ dt, rows, state }));
    expect(states).toHaveLength(20);
    expect(states).toContainEqual({ dt: FIRST, rows: 0n, state: 'complete' });
    expect(states.map(({ state }) => state)).not.toContain('unverified');
  });

  it('changes nothing the second time, not even in the lake', async () => {
    const store = copyOfStore();
    await run(store);
    const [catalog, objects] = [wholeCatalog(), [...store.objects.keys()]];
    expect(await run(store)).toMatchObject({ status: 'complete', published: 0, brandsLeft: [] });
    expect(wholeCatalog()).toEqual(catalog);
    expect([...store.objects.keys()]).toEqual(objects);
  });

  it('repairs a wrong pointer, and leaves correct ones alone', async () => {
    const store = copyOfStore();
    await run(store);
    const StorageDescriptor = { Location: `${store.url}/snapshots/orders/brand=acme/dt=2026-03-01/late/` };
    server.tables.get('orders')?.partitions.set('acme/2026-03-01', {
      Values: ['acme', '2026-03-01'],
      StorageDescriptor,
    });
    expect(await run(store)).toMatchObject({ published: 1, brandsLeft: [] });
    expect(partitionsOf('orders')).toEqual(expected.orders);
  });

  it('registers brands that were removed from the settings, without due days', async () => {
    const store = copyOfStore();
    const due = async () => (await coverageOf(store)).map(({ next_due }) => next_due ?? null);
    await run(store);
    expect(await due()).toContainEqual(expect.any(Date));
    server.tables.clear();
    await run(store, { settings: settingsOf('globex') });
    expect(partitionsOf('orders')).toEqual(expected.orders);
    expect(new Set(await due())).toEqual(new Set([null]));
  });

  it('creates tables and views without time, and names the brands that are left', async () => {
    const outcome = await run(copyOfStore(), { deadline: NO_TIME });
    expect(outcome).toEqual({ status: 'incomplete', published: 0, brandsLeft: [BRAND] });
    expect([...server.tables.keys()]).toEqual(expect.arrayContaining([...TABLES, ...VIEWS]));
    expect(partitionsOf('orders')).toEqual({});
  });

  it('registers the newest days first before time runs out', async () => {
    const registered: string[] = [];
    const store = copyOfStore();
    const catalog = openGlueCatalog('reports', store.url, server.client);
    const point: typeof catalog.setSnapshot = async (table, partition, snapshot) => {
      await catalog.setSnapshot(table, partition, snapshot);
      if (table.name !== 'coverage') registered.push(partition[1]?.[1] ?? '');
    };
    const time = virtualTime(NOW);
    await run(store, {
      lake: { store, runs: blindRegistry, catalog: { ...catalog, setSnapshot: point } },
      clock: {
        ...time,
        // The time is up when eight partitions are registered and eight more are under way.
        monotonicMs: () => (registered.length < 8 ? 0 : 2),
        every: () => () => {},
      },
      deadline: { softMs: 1, hardMs: 3 },
    });
    expect(registered.length).toBeLessThan(20);
    expect(new Set(registered)).not.toContain(FIRST);
  });

  it('skips damaged ledgers, and registers the rest', async () => {
    const store = copyOfStore();
    put(store, ledgerKey('clicks_list', BRAND, '2026-03'), { version: 'none' });
    put(store, 'ledger/order_list/../2026-03.json', {});
    const logged: unknown[] = [];
    const outcome = await run(store, {
      log: (event) => void ('message' in event && logged.push(event.message)),
    });
    // The earlier month of the same report is registered like all others.
    expect(outcome).toMatchObject({ status: 'incomplete', published: 18, brandsLeft: [BRAND] });
    expect(logged).toContainEqual(
      expect.stringContaining('ledger/clicks_list/acme/2026-03.json cannot be used'),
    );
    expect(partitionsOf('orders')).toEqual(expected.orders);
  });
});

describe('columns', () => {
  const orders = reports.order_list;
  if (!orders) throw new Error('there is no order_list');

  it('I7: stay when an older version is deployed after a newer one', async () => {
    const store = memoryStore();
    const newer = { ...orders, columns: [{ field: 'giftWrap', type: 'boolean' as const }] };
    put(store, schemaKey('orders'), storedSchema(orders, 'met_by_both'));
    await run(store, { reports: { [newer.name]: newer } });
    put(store, schemaKey('orders'), storedSchema(newer, 'met_by_both', 'met_by_newer'));
    await run(store, { reports: { [newer.name]: newer } });
    const after = columnsOf('orders');
    expect(after).toEqual(expect.arrayContaining(['gift_wrap', 'met_by_both', 'met_by_newer']));
    store.objects.delete(schemaKey('orders'));
    await run(store);
    expect(columnsOf('orders')).toEqual(after);
  });
});

describe('the stamp', () => {
  let lake: SampleLake;
  beforeAll(async () => {
    lake = await sampleLake({ now: new Date(NOW).toISOString(), startDate: FIRST });
    await lake.sync({ scope: { reports: ['order_list'] } });
  });
  afterAll(() => lake.close());

  const BRANDS = [BRAND, 'globex', 'initech'];
  /** The lake of the sample under three names. */
  const ofThree = () => {
    const { store } = lake.fork();
    for (const [key, stored] of [...store.objects])
      for (const name of BRANDS.slice(1)) {
        const renamed = (text: string) => text.replaceAll(BRAND, name);
        const body = key.endsWith('.json')
          ? Buffer.from(renamed(Buffer.from(stored.body).toString()))
          : stored.body;
        if (key.includes(BRAND)) store.objects.set(renamed(key), { ...stored, body });
      }
    return store;
  };
  const update = (store: MemoryStore, change: Partial<UpdateOptions> = {}) =>
    run(store, { settings: settingsOf(...BRANDS), again: false, ...change });
  const brandsOf = () => [...new Set(Object.keys(partitionsOf('orders')).map((path) => path.split('/')[0]))];
  /** How often the next update reads each brand's ledgers. */
  const readBy = async (store: MemoryStore, change: Partial<UpdateOptions> = {}) => {
    const read = new Set<string>();
    const get: MemoryStore['get'] = async (key) => {
      const [, , brand] = /^ledger\/([^/]+)\/([^/]+)\/\d/.exec(key) ?? [];
      if (brand !== undefined) read.add(brand);
      return store.get(key);
    };
    const catalog = openGlueCatalog('reports', store.url, server.client);
    await update(store, { ...change, lake: { store: { ...store, get }, runs: blindRegistry, catalog } });
    return [...read];
  };

  it('leaves an up-to-date catalog alone, and a changed brand alone is read again', async () => {
    const store = ofThree();
    expect(await update(store)).toMatchObject({ status: 'complete', brandsLeft: [] });
    expect(brandsOf()).toEqual(BRANDS);
    expect(await readBy(store)).toEqual([]);
    const settings = settingsOf(...BRANDS);
    if (settings.brands.globex) settings.brands.globex.lateMinutes += 1;
    expect(await readBy(store, { settings })).toEqual(['globex']);
    expect(await readBy(store, { settings })).toEqual([]);
  });

  it('is continued, brand by brand, by a run with time', async () => {
    const store = ofThree();
    let brandsDone = 0;
    const put: MemoryStore['put'] = async (key, ...rest) => {
      if (key === CATALOG_STAMP_KEY) brandsDone += 1;
      return store.put(key, ...rest);
    };
    const catalog = openGlueCatalog('reports', store.url, server.client);
    const outcome = await update(store, {
      lake: { store: { ...store, put }, runs: blindRegistry, catalog },
      clock: { ...virtualTime(NOW), monotonicMs: () => brandsDone, every: () => () => {} },
      deadline: { softMs: 1, hardMs: 2 },
    });
    expect(outcome).toMatchObject({ status: 'incomplete', brandsLeft: ['globex', 'initech'] });
    expect(brandsOf()).toEqual([BRAND]);
    expect(await readBy(store)).toEqual(['globex', 'initech']);
    expect(brandsOf()).toEqual(BRANDS);
  });

  it('follows later programs only', async () => {
    const store = ofThree();
    await update(store, { program: '1.9.0' });
    expect(await readBy(store, { program: '1.10.0' })).toEqual(BRANDS);
    expect(await readBy(store, { program: '1.9.1' })).toEqual([]);
  });
});

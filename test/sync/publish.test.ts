import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import type { JsonObject } from '../../shared/json.ts';
import { baseSchema, parseSchema } from '../../shared/lake/table/columns.ts';
import { parseJson } from '../../shared/json.ts';
import { ledgerKey, schemaKey } from '../../shared/lake/paths.ts';
import type { Catalog, TableShape } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { lateCatalog } from '../fakes/late-catalog.ts';
import { yieldingStore } from '../fakes/yielding-store.ts';
import {
  BRAND,
  DAY,
  HOUR,
  MINUTE,
  type SampleLake,
  entryOf,
  outcomesOf,
  rewrite,
  sampleLake,
  unknowing,
  wrongReports,
} from './sample-lake.ts';

const FIRST = '2026-03-08';
const TODAY = '2026-03-10';
const request = { reports: ['order_list'] };

let service: SampleLake;
beforeAll(async () => {
  service = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 6,
    brand: { reports: { order_list: { refresh: [{ untilAgeDays: 4, every: 'run' }] } } },
  });
});
afterAll(() => service.close());

function mark(lake: SampleLake, day: string, with_: JsonObject): void {
  restate(lake.brand, 'order_list', day, (held) =>
    held.map(({ at, record }) => ({ at, record: { ...record, ...with_ } })),
  );
}

const pointerOf = (lake: SampleLake, day: string) =>
  lake.catalog.pointers.get(`orders/brand=${BRAND}/dt=${day}`);

describe('the catalog', () => {
  it('I3: is pointed by the next run at what a process had committed that died before', async () => {
    const lake = service.beside();
    const late = lateCatalog(lake.catalog);
    const dying = lake.sync({
      scope: request,
      lake: { store: lake.store, catalog: late.catalog, runs: unknowing },
    });
    await expect(dying).rejects.toThrow('the process is gone');
    expect((await entryOf(lake, 'order_list', TODAY)).committed).toMatchObject({ published: false });
    lake.nowMs += 2 * MINUTE;
    expect((await lake.sync({ scope: request })).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I3: a zombie’s pointer that arrives late is put right by the next run, though nothing else is due', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    mark(lake, FIRST, { status: 'void' });
    const late = lateCatalog(lake.catalog);
    lake.nowMs += HOUR;
    await lake
      .sync({ scope: request, lake: { store: lake.store, catalog: late.catalog, runs: unknowing } })
      .catch(() => undefined);
    mark(lake, FIRST, { status: 'effective' });
    lake.nowMs += HOUR;
    await lake.sync({ scope: request });
    const right = pointerOf(lake, FIRST);
    await late.arrive();
    expect(pointerOf(lake, FIRST)).not.toBe(right);
    lake.nowMs += 60_000;
    await lake.sync({ scope: { ...request, from: TODAY, to: TODAY } });
    expect(pointerOf(lake, FIRST)).toBe(right);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I3: a pointer that is wrong is put right within a day though its month is settled', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    for (const days of [5, 20, 10]) {
      lake.nowMs += days * DAY;
      await lake.sync({ scope: request });
    }
    expect((await entryOf(lake, 'order_list', FIRST)).committed).toMatchObject({ settled: true });
    const right = pointerOf(lake, FIRST);
    lake.catalog.pointers.set(`orders/brand=${BRAND}/dt=${FIRST}`, 'of-a-zombie');
    lake.nowMs += DAY;
    await lake.sync({ scope: request });
    expect(pointerOf(lake, FIRST)).toBe(right);
  });

  it.each([
    ['that is settled', { settled: true, published: false }],
    ['whose content has not changed', { published: false }],
  ])('I3: a switch that is owed is made for a day %s', async (_name, published) => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    const right = pointerOf(lake, FIRST);
    await rewrite(lake, ledgerKey('order_list', BRAND, '2026-03'), (ledger) => {
      const days = ledger.days as Record<string, { committed: JsonObject }>;
      const entry = days[FIRST];
      return {
        ...ledger,
        days: { ...days, [FIRST]: { ...entry, committed: { ...entry?.committed, ...published } } },
      } as JsonObject;
    });
    lake.catalog.pointers.delete(`orders/brand=${BRAND}/dt=${FIRST}`);
    lake.nowMs += HOUR;
    const outcome = await lake.sync({ scope: request });
    expect(outcomesOf(outcome, 'order_list')[FIRST]).not.toBe('published');
    expect(pointerOf(lake, FIRST)).toBe(right);
    expect((await entryOf(lake, 'order_list', FIRST)).committed).toMatchObject({ published: true });
  });

  it('I7: knows every column by the end of the run that met it', async () => {
    const lake = service.beside();
    const shapes: TableShape[] = [];
    const catalog: Catalog = { ...lake.catalog, ensureTable: async (shape) => void shapes.push(shape) };
    await lake.sync({ scope: request, lake: { store: lake.store, catalog, runs: unknowing } });
    const known = shapes
      .filter(({ name }) => name === 'orders')
      .flatMap(({ columns }) => columns.map(({ name }) => name));
    expect(known).toEqual(expect.arrayContaining(['transid', 'amount', 'status']));
  });
});

describe('columns that several runs meet at once', () => {
  const columnsOf = async (lake: SampleLake) => {
    const stored = await lake.store.get(schemaKey('orders'));
    return parseSchema(parseJson(Buffer.from(stored?.body ?? []).toString())).columns;
  };

  it('I7: all of them are there, once each, with the type of the first to come, and nothing is lost', async () => {
    for (let seed = 0; seed < 10; seed += 1) {
      const lake = service.beside();
      mark(lake, FIRST, { only_first: 'text', contested: 'text' });
      mark(lake, '2026-03-09', { only_second: 7, contested: 8 });
      const run = (day: string, turns: number) => {
        const store = yieldingStore(lake.store, () => turns);
        const options = { scope: { ...request, from: day, to: day } };
        return lake.sync({ ...options, lake: { store, catalog: lake.catalog, runs: unknowing } });
      };
      const outcomes = await Promise.all([run(FIRST, seed % 3), run('2026-03-09', (seed + 1) % 4)]);
      expect(outcomes.map(({ status }) => status)).toEqual(['complete', 'complete']);
      const columns = await columnsOf(lake);
      const names = columns.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(names).toEqual(expect.arrayContaining(['only_first', 'only_second', 'contested']));
      await lake.sync({ scope: request });
      expect((await columnsOf(lake)).slice(0, columns.length)).toEqual(columns);
      expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    }
  });

  it('I7: what older code has stored keeps its names, order and types', async () => {
    const lake = service.beside();
    const { columns } = baseSchema(reports.order_list?.columns ?? []);
    const older = [
      ...columns,
      { name: 'amount', type: 'string', field: 'amount' },
      { name: 'gone', type: 'double', field: 'gone' },
    ];
    const document = { version: 1, table: 'orders', columns: older, recentWrites: ['another'] };
    await lake.store.put(schemaKey('orders'), Buffer.from(JSON.stringify(document)), { ifAbsent: true });
    expect((await lake.sync({ scope: request })).status).toBe('complete');
    expect((await columnsOf(lake)).slice(0, older.length)).toEqual(older);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });
});

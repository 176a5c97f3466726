import { describe, expect, it } from '@jest/globals';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { readSchema } from '../../shared/lake/read.ts';
import { baseSchema } from '../../shared/table/columns.ts';
import { ledgerKey, schemaKey } from '../../shared/lake/paths.ts';
import type { Catalog, TableShape } from '../../shared/ports.ts';
import { orders } from '../../shared/reports/orders.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { runs } from '../fixtures/property-runs.ts';
import { storeAround } from '../fakes/lake-around.ts';
import { alter, ledgerEntry, outcomesOf, rewriteDocument, wrongReports } from './lake-contents.ts';
import { BRAND, type SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-08';
const TODAY = '2026-03-10';
const scope = { reports: ['order_list'] };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: FIRST,
  clicksPerDay: 6,
  brandSettings: {
    reports: { order_list: { refresh: [{ untilAgeDays: 4, every: 'run' }], ...ALL_FINAL } },
  },
});

function mark(lake: SampleLake, day: string, fields: JsonObject): void {
  alter(lake, 'order_list', day, { ...fields });
}

const pointerOf = (lake: SampleLake, day: string) =>
  lake.catalog.pointers.get(`orders/brand=${BRAND}/dt=${day}`);

describe('the first close of a day', () => {
  it('chooses the key of the day by its rows', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    const { committed } = await ledgerEntry(lake, 'order_list', FIRST);
    expect(committed?.history?.key).toBe('transid');
    expect((await readSchema(lake.store, orders)).keys).toEqual(['transid']);
  });
});

describe('publishing', () => {
  it('I3: ends at the newest commit if another run commits and publishes before its pointer arrives', async () => {
    const lake = sample.emptyLake();
    let overtaken = false;
    const catalog: Catalog = {
      ...lake.catalog,
      async setSnapshot(table, partition, snapshot) {
        if (!overtaken && table.name === 'orders') {
          overtaken = true;
          mark(lake, FIRST, { status: 'void' });
          lake.nowMs += HOUR_MS;
          await lake.sync({ scope });
        }
        await lake.catalog.setSnapshot(table, partition, snapshot);
      },
    };
    const slowScope = { ...scope, from: FIRST, to: FIRST };
    await lake.sync({ scope: slowScope, lake: lake.over(lake.store, catalog) });
    const { committed } = await ledgerEntry(lake, 'order_list', FIRST);
    expect(overtaken).toBe(true);
    expect(pointerOf(lake, FIRST)).toBe(committed?.snapshot);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I3: overwrites a zombie’s late pointer in the next run, even if no day is due', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    mark(lake, FIRST, { status: 'void' });
    const late: (() => Promise<void>)[] = [];
    const dying: Catalog = {
      ...lake.catalog,
      async setSnapshot(...pointer) {
        if (pointer[0].name !== 'orders') return lake.catalog.setSnapshot(...pointer);
        late.push(() => lake.catalog.setSnapshot(...pointer));
        throw new Error('the process is gone');
      },
    };
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope, lake: lake.over(lake.store, dying) }).catch(() => undefined);
    mark(lake, FIRST, { status: 'effective' });
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    const expected = pointerOf(lake, FIRST);
    for (const arrive of late) await arrive();
    expect(pointerOf(lake, FIRST)).not.toBe(expected);
    lake.nowMs += 60_000;
    await lake.sync({ scope: { ...scope, from: TODAY, to: TODAY } });
    expect(pointerOf(lake, FIRST)).toBe(expected);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it.each(['orders', 'orders_before'])(
    'I3: overwrites a wrong pointer of %s within a day even if its month is settled',
    async (table) => {
      const lake = sample.emptyLake();
      const path = `${table}/brand=${BRAND}/dt=${FIRST}`;
      await lake.sync({ scope });
      for (const days of [5, 20, 10]) {
        lake.nowMs += days * DAY_MS;
        await lake.sync({ scope });
      }
      expect((await ledgerEntry(lake, 'order_list', FIRST)).committed).toMatchObject({ state: 'settled' });
      const expected = lake.catalog.pointers.get(path);
      lake.catalog.pointers.set(path, 'of-a-zombie');
      lake.nowMs += DAY_MS;
      await lake.sync({ scope });
      expect(lake.catalog.pointers.get(path)).toBe(expected);
    },
  );

  it.each([
    ['that is settled', { state: 'settled', published: false }],
    ['whose content has not changed', { published: false }],
  ])('I3: happens in the next run if it is pending for a day %s', async (_name, published) => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const expected = pointerOf(lake, FIRST);
    await rewriteDocument(lake, ledgerKey('order_list', BRAND, '2026-03'), (ledger) => {
      const days = ledger.days as Record<string, { committed: JsonObject }>;
      const entry = days[FIRST];
      return {
        ...ledger,
        days: { ...days, [FIRST]: { ...entry, committed: { ...entry?.committed, ...published } } },
      } as JsonObject;
    });
    lake.catalog.pointers.delete(`orders/brand=${BRAND}/dt=${FIRST}`);
    lake.nowMs += HOUR_MS;
    const outcome = await lake.sync({ scope });
    expect(outcomesOf(outcome, 'order_list')[FIRST]).not.toBe('published');
    expect(pointerOf(lake, FIRST)).toBe(expected);
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed).toMatchObject({ published: true });
  });

  it('I7: adds every column to the catalog by the end of the run that found it', async () => {
    const lake = sample.emptyLake();
    const shapes: TableShape[] = [];
    const catalog: Catalog = { ...lake.catalog, ensureTable: async (shape) => void shapes.push(shape) };
    await lake.sync({ scope, lake: lake.over(lake.store, catalog) });
    const columns = shapes
      .filter(({ name }) => name === 'orders')
      .flatMap(({ columns }) => columns.map(({ name }) => name));
    expect(columns).toEqual(expect.arrayContaining(['transid', 'amount', 'status']));
    const { firstSeen } = await readSchema(lake.store, orders);
    expect(Object.values(firstSeen ?? {}).map(({ day }) => day)).toContain(FIRST);
    expect(firstSeen).not.toHaveProperty('_synced_at');
  });
});

describe('columns that concurrent runs meet', () => {
  const columnsOf = async (lake: SampleLake) => (await readSchema(lake.store, orders)).columns;

  it('I7: are each stored once, with the type of the first commit, and no value is lost', async () => {
    for (let seed = 0; seed < runs(8).numRuns; seed += 1) {
      const lake = sample.emptyLake();
      mark(lake, FIRST, { only_first: 'text', contested: 'text' });
      mark(lake, '2026-03-09', { only_second: 7, contested: 8 });
      const run = (day: string, turns: number) => {
        const yieldToOthers = async () => {
          for (let left = turns; left > 0; left -= 1) await new Promise(setImmediate);
        };
        const store = storeAround(lake.store, async (_operation, act) => {
          await yieldToOthers();
          return act().finally(yieldToOthers);
        });
        const options = { scope: { ...scope, from: day, to: day } };
        return lake.sync({ ...options, lake: lake.over(store) });
      };
      const outcomes = await Promise.all([run(FIRST, seed % 3), run('2026-03-09', (seed + 1) % 4)]);
      expect(outcomes.map(({ status }) => status)).toEqual(['complete', 'complete']);
      const columns = await columnsOf(lake);
      const names = columns.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(names).toEqual(expect.arrayContaining(['only_first', 'only_second', 'contested']));
      await lake.sync({ scope });
      expect((await columnsOf(lake)).slice(0, columns.length)).toEqual(columns);
      expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    }
  });

  it('I7: keep the names, order and types that an older version of the code stored', async () => {
    const lake = sample.emptyLake();
    const { columns } = baseSchema(orders.columns);
    const older = [
      ...columns,
      { name: 'amount', type: 'string', field: 'amount' },
      { name: 'gone', type: 'double', field: 'gone' },
    ];
    const document = { table: 'orders', columns: older, recentWrites: ['another'] };
    await lake.store.put(schemaKey('orders'), Buffer.from(JSON.stringify(document)), { ifAbsent: true });
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect((await columnsOf(lake)).slice(0, older.length)).toEqual(older);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });
});

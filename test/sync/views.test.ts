import { describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import type { Catalog } from '../../shared/ports.ts';
import { coverageOf } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-09';
const scope = { reports: ['order_list'] };
/** Those that need no column of transactions. */
const OF_ORDERS = ['orders_daily', 'publisher_performance', 'channel_conversion'];

const sample = sharedLakes({ now: '2026-03-10T15:00:00Z', startDate: FIRST, clicksPerDay: 4 });

function without(lake: SampleLake, day: string, field: string): void {
  restate(lake.brand, 'order_list', day, (held) =>
    held.map(({ at, record }) => {
      const { [field]: value, ...rest } = record;
      if (value === undefined) throw new Error(`orders have no ${field}`);
      return { at, record: rest };
    }),
  );
}

describe('the views of a report', () => {
  it('are created by the run that meets the columns that they need', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    expect(lake.catalog.views).toEqual(OF_ORDERS);
  });

  it('are written once a day by runs that meet no new column', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    for (let hour = 0; hour < 3; hour += 1) {
      lake.nowMs += HOUR_MS;
      await lake.sync({ scope });
    }
    expect(lake.catalog.views).toEqual(OF_ORDERS);
    lake.nowMs += DAY_MS;
    await lake.sync({ scope });
    expect(lake.catalog.views).toEqual([...OF_ORDERS, ...OF_ORDERS]);
  });

  it('are created only once a record has every column that they need', async () => {
    const lake = sample.emptyLake();
    const { order_list: held } = lake.brand.records;
    for (const day of [FIRST, '2026-03-10']) without(lake, day, 'commission');
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(lake.catalog.views).toEqual(['channel_conversion']);
    lake.brand.records.order_list = held;
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    expect(lake.catalog.views.toSorted()).toEqual([...OF_ORDERS, 'channel_conversion'].sort());
  });

  it.each([
    ['orders come last', ['transaction_list', 'order_list']],
    ['transactions come last', ['order_list', 'transaction_list']],
  ])('over several tables are created by the run that brings the last column: %s', async (_name, order) => {
    const lake = sample.emptyLake();
    const [first = '', last = ''] = order;
    await lake.sync({ scope: { reports: [first] } });
    expect(lake.catalog.views).not.toContain('unsettled');
    await lake.sync({ scope: { reports: [last] } });
    expect(lake.catalog.views).toContain('unsettled');
  });

  it('use a column from the run on that meets it', async () => {
    const lake = sample.emptyLake();
    const written: string[] = [];
    const catalog: Catalog = {
      ...lake.catalog,
      ensureView: async ({ name, sql }) => void (name === 'publisher_performance' && written.push(sql)),
    };
    const options = { scope, lake: lake.over(lake.store, catalog) };
    const { order_list: held } = lake.brand.records;
    for (const day of [FIRST, '2026-03-10']) without(lake, day, 'currency');
    await lake.sync(options);
    lake.brand.records.order_list = held;
    lake.nowMs += HOUR_MS;
    await lake.sync(options);
    const currencies = written.map((sql) => /CAST\((\w+) AS varchar\)\), ''\) AS currency/.exec(sql)?.[1]);
    expect(currencies).toEqual(['NULL', 'currency']);
  });

  it('do not keep a day from being published and covered where they cannot be created', async () => {
    const lake = sample.emptyLake();
    const logged: string[] = [];
    const catalog: Catalog = {
      ...lake.catalog,
      ensureView: () => Promise.reject(new BrandReportsError('config', 'not_a_view', 'a table is there')),
    };
    const outcome = await lake.sync({
      scope,
      lake: lake.over(lake.store, catalog),
      log: (event) => void ('view' in event && logged.push(`${event.event} ${event.view}`)),
    });
    expect(outcome.status).toBe('complete');
    expect(logged).toContain('view_failed orders_daily');
    expect(Object.keys(await coverageOf(lake, 'order_list'))).toEqual([FIRST, '2026-03-10']);
  });
});

import { describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import type { Catalog } from '../../shared/ports.ts';
import { allViews } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { tablesReadBy } from '../../shared/reports/view.ts';
import { coverageOf } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-09';
const scope = { reports: ['order_list'] };
/** The views that read the table. */
const OF_ORDERS = allViews(reports)
  .filter((view) => tablesReadBy(allViews(reports), view).some((table) => /^orders/.test(table)))
  .map(({ name }) => name);

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
  it('are written once a day by runs that find no new column', async () => {
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

  it('have a column from the run on that finds it', async () => {
    const lake = sample.emptyLake();
    const written: string[] = [];
    const catalog: Catalog = {
      ...lake.catalog,
      ensureView: async ({ name, sql }) => void (name === 'order_history' && written.push(sql)),
    };
    const options = { scope, lake: lake.over(lake.store, catalog) };
    const { order_list: held } = lake.brand.records;
    for (const day of [FIRST, '2026-03-10']) without(lake, day, 'currency');
    await lake.sync(options);
    lake.brand.records.order_list = held;
    lake.nowMs += HOUR_MS;
    await lake.sync(options);
    expect(written.map((sql) => sql.includes('"currency"'))).toEqual([false, true]);
  });

  it('do not stop a day from being published and covered if they cannot be created', async () => {
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

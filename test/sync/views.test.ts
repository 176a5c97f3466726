import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import type { Catalog } from '../../shared/ports.ts';
import { DAY, HOUR, type SampleLake, coverageOf, sampleLake, unknowing } from './sample-lake.ts';

const FIRST = '2026-03-09';
const request = { reports: ['order_list'] };

let service: SampleLake;
beforeAll(async () => {
  service = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: FIRST, clicksPerDay: 4 });
});
afterAll(() => service.close());

function withoutCommission(lake: SampleLake, day: string): void {
  restate(lake.brand, 'order_list', day, (held) =>
    held.map(({ at, record }) => {
      const { commission, ...rest } = record;
      if (commission === undefined) throw new Error('orders have no commission');
      return { at, record: rest };
    }),
  );
}

describe('the views of a report', () => {
  it('are made by the run that met the columns that they need, and no others', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    expect(lake.catalog.views).toEqual(['orders_daily']);
  });

  it('are left alone by runs that meet nothing new, but for once a day', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    for (let hour = 0; hour < 3; hour += 1) {
      lake.nowMs += HOUR;
      await lake.sync({ scope: request });
    }
    expect(lake.catalog.views).toHaveLength(1);
    lake.nowMs += DAY;
    await lake.sync({ scope: request });
    expect(lake.catalog.views).toHaveLength(2);
  });

  it('wait for a column, and are made by the run that it comes with', async () => {
    const lake = service.beside();
    const { order_list: held } = lake.brand.records;
    for (const day of [FIRST, '2026-03-10']) withoutCommission(lake, day);
    expect((await lake.sync({ scope: request })).status).toBe('complete');
    expect(lake.catalog.views).toEqual([]);
    lake.brand.records.order_list = held;
    lake.nowMs += HOUR;
    await lake.sync({ scope: request });
    expect(lake.catalog.views).toEqual(['orders_daily']);
  });

  it('that cannot be made keep nothing from being read, switched and covered', async () => {
    const lake = service.beside();
    const logged: string[] = [];
    const catalog: Catalog = {
      ...lake.catalog,
      ensureView: () => Promise.reject(new BrandReportsError('config', 'not_a_view', 'a table is there')),
    };
    const outcome = await lake.sync({
      scope: request,
      lake: { store: lake.store, catalog, runs: unknowing },
      log: (event) => void ('view' in event && logged.push(`${event.event} ${event.view}`)),
    });
    expect(outcome.status).toBe('complete');
    expect(logged).toContain('view_failed orders_daily');
    expect(Object.keys(await coverageOf(lake, 'order_list'))).toEqual([FIRST, '2026-03-10']);
  });
});

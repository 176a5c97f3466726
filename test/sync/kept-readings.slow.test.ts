/** Readings that are disregarded because the service has forgotten records: they are not repeated, and nothing is overdue. */
import { expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { coverageOf, ledgerEntry, outcomesOf } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-03-05';
const both = { reports: ['clicks_list', 'clicks_detail'] };

const sample = sharedLakes({
  now: '2026-03-06T15:00:00Z',
  startDate: DAY,
  recordsTo: '2026-03-06T04:00:00Z',
  clicksPerDay: 20,
  brandSettings: {
    reports: {
      clicks_detail: { enabled: true },
      order_list: { refresh: [{ untilAgeDays: 2, every: '1 day' }], watchUnsettledDays: 60 },
    },
  },
});

async function syncDaily(lake: SampleLake, days: number, reports: string[]): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    await lake.sync({ scope: { reports } });
    lake.nowMs += DAY_MS;
  }
}

it('settled details of clicks that became fewer are asked for once', async () => {
  const lake = sample.emptyLake();
  await syncDaily(lake, 6, both.reports);
  restate(lake.brand, 'clicks_list', DAY, (held) => held.slice(0, 5));
  await lake.sync({ scope: { reports: ['clicks_list'], from: DAY, to: DAY, acceptFewer: true } });
  const read: unknown[] = [];
  for (let run = 0; run < 4; run += 1) {
    read.push(outcomesOf(await lake.sync({ scope: both }), 'clicks_detail')[DAY]);
    lake.nowMs += 12 * HOUR_MS;
  }
  expect(read).toEqual(['kept', undefined, undefined, undefined]);
  expect((await coverageOf(lake, 'clicks_detail'))[DAY]?.state).toBe('settled');
});

it('I11: one answer without records does not settle a day whose rows can still change', async () => {
  const lake = sample.emptyLake();
  const orders = ['order_list'];
  await syncDaily(lake, 4, orders);
  const { committed } = await ledgerEntry(lake, 'order_list', DAY);
  expect(committed).toMatchObject({ state: 'closed', unsettled: { rows: expect.any(Number) } });
  lake.nowMs = Date.parse(committed?.readFrom ?? '') + 14 * DAY_MS + HOUR_MS;
  const records = lake.brand.records.order_list;
  restate(lake.brand, 'order_list', DAY, () => []);
  await lake.sync({ scope: { reports: orders } });
  expect((await ledgerEntry(lake, 'order_list', DAY)).committed).toMatchObject({
    state: 'closed',
    rows: committed?.rows,
  });
  await syncDaily(lake, 3, orders);
  expect((await coverageOf(lake, 'order_list'))[DAY]?.state).toBe('complete');
  lake.brand.records.order_list = records;
  lake.nowMs += 12 * DAY_MS;
  expect(outcomesOf(await lake.sync({ scope: { reports: orders } }), 'order_list')[DAY]).toBe('unchanged');
});

/** Tests lookups after a restore and in an outage of their action, and readings that are disregarded. */
import { expect, it } from '@jest/globals';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { numberText } from '../../shared/base/json.ts';
import { restoreAll } from '../operations/restore/restore-all.ts';
import { coverageOf, ledgerEntry, outcomesOf } from './lake-contents.ts';
import { BRAND, type SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-03-05';
const scope = { reports: ['clicks_list', 'clicks_detail'] };

const sample = sharedLakes({
  now: '2026-03-06T15:00:00Z',
  startDate: DAY,
  recordsTo: '2026-03-06T04:00:00Z',
  clicksPerDay: 20,
  brandSettings: {
    reports: {
      clicks_detail: { enabled: true },
      order_list: { refresh: [{ untilAgeDays: 2, every: '1 day' }] },
    },
  },
});

async function syncDaily(lake: SampleLake, days: number, of = scope): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    await lake.sync({ scope: of });
    lake.nowMs += DAY_MS;
  }
}

it('days whose ledger was made from snapshots settle even if the service has forgotten their clicks', async () => {
  const lake = sample.emptyLake();
  await syncDaily(lake, 6);
  for (const report of scope.reports) {
    const key = `ledger/${report}/${BRAND}/2026-03.json`;
    lake.store.objects.set(key, {
      body: Buffer.from('{'),
      etag: 'damaged',
      modifiedAt: new Date(lake.nowMs),
    });
  }
  await restoreAll(lake);
  for (const report of ['clicks_list', 'clicks_detail'] as const) restate(lake.brand, report, DAY, () => []);
  await syncDaily(lake, 6);
  const { state, rows } = (await ledgerEntry(lake, 'clicks_detail', DAY)).committed ?? {};
  expect({ state, hasRows: (rows ?? 0) > 0 }).toEqual({ state: 'settled', hasRows: true });
});

it('an outage of the action gives up no day, although days without clicks are read', async () => {
  const lake = sample.emptyLake();
  const [first] = recordsOfDay(lake.brand, 'clicks_list', DAY).map(({ id }) => numberText(id) ?? String(id));
  const action = 'report/clicks_detail';
  const endRefusal = lake.service.addFault({
    on: { action, when: ({ fields: { id } }) => (numberText(id) ?? String(id)) === first },
    fault: { kind: 'code', code: 17, msg: 'no detail' },
  });
  await lake.sync({ scope });
  endRefusal();
  const endOutage = lake.service.addFault({ on: { action }, fault: { kind: 'status', status: 503 } });
  for (let run = 0; run < 60; run += 1) {
    lake.nowMs += 3 * HOUR_MS;
    await lake.sync({ scope });
  }
  endOutage();
  const { committed, failure } = await ledgerEntry(lake, 'clicks_detail', DAY);
  expect(committed?.state).toBe('closed');
  expect(committed?.contradictions).toBeUndefined();
  expect(failure?.times).toBeGreaterThan(12);
});

it('settled details are requested once if their day then has fewer clicks', async () => {
  const lake = sample.emptyLake();
  await syncDaily(lake, 6);
  restate(lake.brand, 'clicks_list', DAY, (held) => held.slice(0, 5));
  await lake.sync({ scope: { reports: ['clicks_list'], from: DAY, to: DAY, acceptFewer: true } });
  const read: unknown[] = [];
  for (let run = 0; run < 4; run += 1) {
    read.push(outcomesOf(await lake.sync({ scope }), 'clicks_detail')[DAY]);
    lake.nowMs += 12 * HOUR_MS;
  }
  expect(read).toEqual(['published', undefined, undefined, undefined]);
  expect((await coverageOf(lake, 'clicks_detail'))[DAY]?.state).toBe('settled');
});

it('I11: one answer without records does not settle a day whose rows can still change', async () => {
  const lake = sample.emptyLake();
  const orders = { reports: ['order_list'] };
  await syncDaily(lake, 4, orders);
  const { committed } = await ledgerEntry(lake, 'order_list', DAY);
  expect(committed).toMatchObject({ state: 'closed' });
  lake.nowMs = Date.parse(committed?.readFrom ?? '') + 14 * DAY_MS + HOUR_MS;
  const records = lake.brand.records.order_list;
  restate(lake.brand, 'order_list', DAY, () => []);
  await lake.sync({ scope: orders });
  expect((await ledgerEntry(lake, 'order_list', DAY)).committed).toMatchObject({
    state: 'closed',
    rows: committed?.rows,
  });
  await syncDaily(lake, 3, orders);
  expect((await coverageOf(lake, 'order_list'))[DAY]?.state).toBe('complete');
  lake.brand.records.order_list = records;
  lake.nowMs += 12 * DAY_MS;
  expect(outcomesOf(await lake.sync({ scope: orders }), 'order_list')[DAY]).toBe('unchanged');
});

import { describe, expect, it } from '@jest/globals';
import { HOUR_MS } from '../../shared/base/days.ts';
import { dayPartition, snapshotKey } from '../../shared/lake/paths.ts';
import { rollBack } from '../../shared/operations/rollback.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { orders } from '../../shared/reports/orders.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { alter, ledgerEntry } from '../sync/lake-contents.ts';
import { BRAND, type SampleLake, blindRegistry } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';

const DAY = '2026-03-08';
const scope = { reports: ['order_list'] };
const range = { ...scope, from: DAY, to: DAY };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: DAY,
  recordsTo: '2026-03-10T22:00:00Z',
  clicksPerDay: 8,
  brandSettings: {
    snapshotRetentionDays: 2,
    reports: { order_list: { refresh: [{ untilAgeDays: 1, every: 'run' }], ...ALL_FINAL } },
  },
});

const currentOf = async (lake: SampleLake) =>
  (await ledgerEntry(lake, 'order_list', DAY)).committed?.snapshot ?? '';
const isThere = (lake: SampleLake, id: string) =>
  lake.store.objects.has(snapshotKey('orders', dayPartition(BRAND, DAY), id));

/** A lake with a settled day; `a` is its older version. */
async function restatedLake() {
  const lake = sample.emptyLake();
  await lake.sync({ scope });
  const a = await currentOf(lake);
  lake.nowMs += 2 * HOUR_MS;
  alter(lake, 'order_list', DAY, { word: 'b' }, 1);
  // The second reading agrees, so the day is settled.
  for (let reading = 0; reading < 2; reading += 1) {
    await lake.sync({ scope: range });
    lake.nowMs += HOUR_MS;
  }
  return { lake, a, b: await currentOf(lake) };
}

/** A store at which the process sleeps before the first operation of this kind, while the schedule goes on. */
function sleepyStore(lake: SampleLake, hours: number, operation: 'finish' | 'list'): ObjectStore {
  let slept = false;
  const sleep = async () => {
    if (slept) return;
    slept = true;
    for (let run = 0; run < hours / 10; run += 1) {
      lake.nowMs += 10 * HOUR_MS;
      await lake.sync({ scope });
    }
  };
  return {
    ...lake.store,
    async *list(prefix: string) {
      if (operation === 'list' && prefix.endsWith('.parquet')) await sleep();
      yield* lake.store.list(prefix);
    },
    create(key: string) {
      const writer = lake.store.create(key);
      const finish = async () => {
        await writer.finish();
        if (operation === 'finish' && key.includes('/orders/')) await sleep();
      };
      return { ...writer, finish };
    },
  };
}

describe.each([
  ['twenty hours', 20, 'complete'],
  ['four days', 96, 'refused'],
] as const)('a process that sleeps for %s', (_name, hours, ends) => {
  it('a rollback never publishes a version that the vacuum has removed', async () => {
    const { lake, a, b } = await restatedLake();
    const store = sleepyStore(lake, hours, 'list');
    const access = { ...lake.access(), lake: lake.over(store) };
    const rolledBack = rollBack(
      { ...access, settings: lake.settings(), report: orders, brand: BRAND, day: DAY },
      a,
    );
    if (ends === 'complete') expect((await rolledBack).status).toBe('complete');
    else await expect(rolledBack).rejects.toThrow(/another run has taken over|it is missing/);
    expect(await currentOf(lake)).toBe(ends === 'complete' ? a : b);
    expect(isThere(lake, await currentOf(lake))).toBe(true);
  });

  it('a rebuild never publishes a version that the vacuum has removed', async () => {
    const { lake } = await restatedLake();
    const brandSettings = { reports: { order_list: { columns: { commission: 'string' } } } };
    const lakeOf = { store: sleepyStore(lake, hours, 'finish'), catalog: lake.catalog, runs: blindRegistry };
    const outcome = await lake.rebuild(
      { reports: ['order_list'], from: DAY, to: DAY },
      { brandSettings, lake: lakeOf },
    );
    expect(outcome.reports[0]?.days).toMatchObject([
      { dt: DAY, outcome: ends === 'complete' ? 'published' : 'busy' },
    ]);
    expect(isThere(lake, await currentOf(lake))).toBe(true);
  });
});

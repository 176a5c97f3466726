import { describe, expect, it } from '@jest/globals';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/days.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { alter, ledgerEntry, outcomesOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-07';
const TODAY = '2026-03-10';
const DAYS = ['2026-03-07', '2026-03-08', '2026-03-09', TODAY];
const refresh = [
  { untilAgeDays: 2, every: 'run' },
  { untilAgeDays: 4, every: '1 day' },
];
const scope = { reports: ['order_list'] };
const brand = {
  reports: {
    clicks_detail: { enabled: true },
    order_list: { refresh, ...ALL_FINAL },
    transaction_list: { refresh, ...ALL_FINAL },
  },
};

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: FIRST,
  clicksPerDay: 6,
  brandSettings: brand,
});

function voidAll(lake: SampleLake, day: string): void {
  for (const report of ['order_list', 'transaction_list'] as const)
    alter(lake, report, day, { status: 'void', at: lake.nowMs });
}

async function publishedOf(
  lake: SampleLake,
  day: string,
  report: 'order_list' | 'transaction_list' = 'order_list',
) {
  const { committed } = await ledgerEntry(lake, report, day);
  if (!committed) throw new Error(`${day} is not published`);
  return committed;
}

describe('a day whose records change', () => {
  it('I11: is re-read and published as often as its age requires', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    for (const day of DAYS) voidAll(lake, day);
    lake.nowMs += HOUR_MS;
    const outcome = await lake.sync({ scope });
    expect(outcomesOf(outcome, 'order_list')).toEqual({
      [TODAY]: 'published',
      '2026-03-09': 'published',
      '2026-03-08': 'published',
    });
    lake.nowMs += 23 * HOUR_MS;
    expect(outcomesOf(await lake.sync({ scope }), 'order_list')[FIRST]).toBe('published');
    expect(await wrongReports(lake, '2026-03-11', ['order_list'])).toEqual({});
  });

  it('I11: is recorded as re-read, without a new snapshot, if nothing changed', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const before = await publishedOf(lake, '2026-03-09');
    const snapshots = snapshotsOf(lake);
    lake.nowMs += HOUR_MS;
    const outcome = await lake.sync({ scope });
    expect(new Set(Object.values(outcomesOf(outcome, 'order_list')))).toEqual(new Set(['unchanged']));
    const after = await publishedOf(lake, '2026-03-09');
    expect(after).toMatchObject({
      snapshot: before.snapshot,
      digest: before.digest,
    });
    expect(new Date(after.readFrom).setMilliseconds(0)).toBe(lake.nowMs);
    expect(snapshotsOf(lake)).toEqual(snapshots);
  });
});

describe('a range of days that is requested', () => {
  it('I11: is re-read whatever the policy, settled days included', async () => {
    const lake = sample.emptyLake();
    const transactions = { reports: ['transaction_list'] };
    await lake.sync({ scope: transactions });
    lake.nowMs += 30 * DAY_MS;
    await lake.sync({ scope: transactions });
    expect(await publishedOf(lake, FIRST, 'transaction_list')).toMatchObject({ state: 'settled' });
    for (const day of DAYS) voidAll(lake, day);
    const options = { scope: { ...transactions, from: FIRST, to: TODAY } };
    const outcome = await lake.sync(options);
    expect(Object.values(outcomesOf(outcome, 'transaction_list'))).toEqual(Array(4).fill('published'));
    expect(await wrongReports(lake, '2026-04-09', ['transaction_list'])).toEqual({});
  });

  it('I11: is completed even if it takes longer than six hours, with each day read once', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    for (const day of DAYS) voidAll(lake, day);
    const days: string[] = [];
    for (let runs = 0; ; runs += 1) {
      expect(runs).toBeLessThan(40);
      // A day takes several runs within the six hours; the range takes longer.
      lake.nowMs += 40 * MINUTE_MS;
      const outcome = await lake.sync({ deadline: NO_TIME, scope: { ...scope, from: FIRST, to: TODAY } });
      for (const [day, dayOutcome] of Object.entries(outcomesOf(outcome, 'order_list')))
        if (dayOutcome === 'published' || dayOutcome === 'unchanged') days.push(day);
      if (outcome.status === 'complete') break;
    }
    expect(days.toSorted()).toEqual(DAYS);
  });

  it('I11: is read once more when it is requested again after it was finished', async () => {
    const lake = sample.emptyLake();
    const options = { scope: { ...scope, from: FIRST, to: '2026-03-08' } };
    await lake.sync(options);
    voidAll(lake, FIRST);
    lake.nowMs += 60_000;
    expect(outcomesOf(await lake.sync(options), 'order_list')).toEqual({
      [FIRST]: 'published',
      '2026-03-08': 'unchanged',
    });
  });
});

function snapshotsOf(lake: SampleLake): string[] {
  return [...lake.store.objects.keys()].filter((key) => key.startsWith('snapshots/orders/'));
}

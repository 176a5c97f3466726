import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/days.ts';
import { numberText } from '../../shared/json.ts';
import { ledgerEntry, outcomesOf, requestsOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake, sampleLake, syncUntilComplete } from './sample-lake.ts';

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
    order_list: { refresh, watchUnsettledDays: 0 },
    transaction_list: { refresh, watchUnsettledDays: 0 },
  },
};

let sample: SampleLake;
let paged: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 6,
    brandSettings: brand,
  });
  paged = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 10,
    brandSettings: brand,
    interpretations: { pageCap: 3 },
  });
});
afterAll(() => Promise.all([sample.close(), paged.close()]));

function voidAll(lake: SampleLake, day: string): void {
  for (const report of ['order_list', 'transaction_list'] as const)
    restate(lake.brand, report, day, (held) =>
      held.map(({ at, record }) => ({ at, record: { ...record, status: 'void', at: lake.nowMs } })),
    );
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
  it('I11: is read and published again as often as its age demands', async () => {
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

  it('I11: is recorded as read again, without a new snapshot, where nothing changed', async () => {
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
      identicalPasses: before.identicalPasses + 1,
    });
    expect(new Date(after.readFrom).setMilliseconds(0)).toBe(lake.nowMs);
    expect(snapshotsOf(lake)).toEqual(snapshots);
  });

  it('I11: settles after the last tier of its refresh policy, and is not read again', async () => {
    const lake = sample.emptyLake();
    for (const settled of [false, false, true, true]) {
      await lake.sync({ scope });
      expect(await publishedOf(lake, FIRST)).toMatchObject({ settled });
      lake.nowMs += DAY_MS;
    }
    const { number: before = 0 } = lake.service.requests.at(-1) ?? {};
    voidAll(lake, FIRST);
    await lake.sync({ scope });
    const start = String(Date.parse('2026-03-07T05:00:00Z') / 1000);
    const again = requestsOf(lake, 'order_list', ({ start_time }) => numberText(start_time) === start);
    expect(again.length).toBeGreaterThan(0);
    expect(again.filter(({ number }) => number > before)).toEqual([]);
  });

  it('I11: does not settle before two passes in a row are identical', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    lake.nowMs = Date.parse('2026-03-12T15:00:00Z');
    // The first pass after the last tier: it would be the second identical one, had nothing changed.
    voidAll(lake, FIRST);
    await lake.sync({ scope });
    expect(await publishedOf(lake, FIRST)).toMatchObject({ settled: false, identicalPasses: 1 });
    lake.nowMs += DAY_MS;
    voidAll(lake, FIRST);
    await lake.sync({ scope });
    expect(await publishedOf(lake, FIRST)).toMatchObject({ settled: false, identicalPasses: 1 });
    lake.nowMs += DAY_MS;
    await lake.sync({ scope });
    expect(await publishedOf(lake, FIRST)).toMatchObject({ settled: true, identicalPasses: 2 });
    expect(await wrongReports(lake, '2026-03-14', ['order_list'])).toEqual({});
  });

  it('I11: settles by one pass after the last tier where its pages are a snapshot', async () => {
    const lake = sample.emptyLake();
    const transactions = { reports: ['transaction_list'] };
    await lake.sync({ scope: transactions });
    lake.nowMs = Date.parse('2026-03-12T04:00:00Z') + 60_000;
    await lake.sync({ scope: transactions });
    expect(await publishedOf(lake, FIRST, 'transaction_list')).toMatchObject({ settled: true });
  });
});

describe('a range of days that is requested', () => {
  it('I11: is read again whatever the policy says, settled days included', async () => {
    const lake = sample.emptyLake();
    const transactions = { reports: ['transaction_list'] };
    await lake.sync({ scope: transactions });
    lake.nowMs += 30 * DAY_MS;
    await lake.sync({ scope: transactions });
    expect(await publishedOf(lake, FIRST, 'transaction_list')).toMatchObject({ settled: true });
    for (const day of DAYS) voidAll(lake, day);
    const options = { scope: { ...transactions, from: FIRST, to: TODAY } };
    const outcome = await lake.sync(options);
    expect(Object.values(outcomesOf(outcome, 'transaction_list'))).toEqual(Array(4).fill('published'));
    expect(await wrongReports(lake, '2026-04-09', ['transaction_list'])).toEqual({});
  });

  it('I11: is finished by runs of one unit of work each, which read every day once', async () => {
    const lake = paged.emptyLake();
    await lake.sync({ scope });
    for (const day of DAYS) voidAll(lake, day);
    const before = requestsOf(lake, 'order_list').length;
    lake.nowMs += HOUR_MS;
    const days: string[] = [];
    for (let runs = 0; ; runs += 1) {
      expect(runs).toBeLessThan(100);
      const outcome = await lake.sync({
        deadline: NO_TIME,
        scope: { ...scope, from: FIRST, to: TODAY },
      });
      for (const [day, dayOutcome] of Object.entries(outcomesOf(outcome, 'order_list')))
        if (dayOutcome === 'published') days.push(day);
      if (outcome.status === 'complete') break;
      expect(outcome.status).toBe('incomplete');
      lake.nowMs += 60_000;
    }
    expect(days.toSorted()).toEqual(DAYS);
    expect(requestsOf(lake, 'order_list').length).toBeGreaterThan(before);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I11: ends though it takes longer than resumeWithinHours, each day read once', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    for (const day of DAYS) voidAll(lake, day);
    const days: string[] = [];
    for (let runs = 0; ; runs += 1) {
      expect(runs).toBeLessThan(40);
      // A day takes some runs, which are within the six hours; the range takes longer.
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

  it('I11: goes on with the day that failed, and is read again whole once it is complete', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const options = { scope: { ...scope, from: FIRST, to: '2026-03-08' } };
    const start = String(Date.parse('2026-03-08T05:00:00Z') / 1000);
    const removeFault = lake.service.addFault({
      on: {
        when: ({ fields: { start_time, end_time } }) =>
          numberText(start_time) === start && numberText(end_time) !== start,
      },
      fault: { kind: 'html' },
    });
    expect((await lake.sync(options)).status).toBe('failed');
    removeFault();
    lake.nowMs += 60_000;
    expect(outcomesOf(await lake.sync(options), 'order_list')).toEqual({ '2026-03-08': 'unchanged' });
    lake.nowMs += 60_000;
    expect(outcomesOf(await lake.sync(options), 'order_list')).toEqual({
      '2026-03-07': 'unchanged',
      '2026-03-08': 'unchanged',
    });
  });
});

describe('runs with almost no time', () => {
  it.each([
    ['order_list', 0],
    ['order_list', 20_000],
    ['transaction_list', 60_000],
    ['clicks_list', 60_000],
    ['amazon_attribution_report', 60_000],
  ] as const)(
    'I4: leave the right lake of %s, one after the other, %i ms apart',
    async (report, betweenMs) => {
      const lake = paged.emptyLake();
      await syncUntilComplete(lake, { scope: { reports: [report] }, betweenMs });
      // Records that appeared meanwhile are in days that the next run reads.
      await lake.sync({ scope: { reports: [report] } });
      expect(await wrongReports(lake, TODAY, [report])).toEqual({});
    },
  );

  it('I4: leave the right lake of all reports together', async () => {
    const lake = paged.emptyLake();
    await syncUntilComplete(lake, { maxRuns: 400 });
    expect(await wrongReports(lake, TODAY)).toEqual({});
  });
});

function snapshotsOf(lake: SampleLake): string[] {
  return [...lake.store.objects.keys()].filter((key) => key.startsWith('snapshots/orders/'));
}

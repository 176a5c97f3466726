import { describe, expect, it } from '@jest/globals';
import type { Held, ReportName } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS, addDays, dayOf, startOfDay } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { dayPartition, snapshotKey } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { coverageOf, ledgerEntries, ledgerEntry, outcomesOf, requestsOf, rowsOf } from './lake-contents.ts';
import { BRAND, type SampleLake, ZONE } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const NOW = '2026-03-10T15:00:00Z';
const [BEFORE, A, B, AFTER] = ['2026-03-05', '2026-03-06', '2026-03-07', '2026-03-08'] as const;
const TODAY = '2026-03-10';
const refresh = [{ untilAgeDays: 35, every: '1 day' }];

const sample = sharedLakes({
  now: NOW,
  startDate: BEFORE,
  clicksPerDay: 1,
  brandSettings: { reports: { clicks_list: { refresh }, clicks_detail: { enabled: true, refresh } } },
});

/** A record at an hour of a day in New York. */
function held(day: string, hour: number, record: JsonObject): Held {
  const at = startOfDay(day, ZONE) + hour * HOUR_MS;
  return { at, record: { ...record, created_time: new Date(at).toUTCString() } };
}

const orderOf = (day: string, number: string, hour = 9) => held(day, hour, { transid: number, amount: 1 });

/** A lake of days with one order each, `A` with three. */
async function lakeOf(report: ReportName = 'order_list', records = initialOrders()): Promise<SampleLake> {
  const lake = sample.emptyLake();
  for (const own of Object.values(lake.brand.records)) own.length = 0;
  lake.brand.records[report] = records;
  await run(lake, report);
  await run(lake, report);
  return lake;
}

function initialOrders(): Held[] {
  const others = [BEFORE, B, AFTER].map((day) => orderOf(day, `of ${day}`));
  return [...others, ...['a1', 'a2', 'a3'].map((number) => orderOf(A, number))];
}

async function run(lake: SampleLake, report: ReportName = 'order_list', scope: object = {}) {
  const before = requestsOf(lake, report).length;
  const outcome = await lake.sync({ scope: { reports: [report], ...scope } });
  lake.nowMs += DAY_MS;
  return { outcomes: outcomesOf(outcome, report), requests: requestsOf(lake, report).length - before };
}

async function numbersOf(lake: SampleLake, report: ReportName = 'order_list', field = 'transid') {
  const numbers: Record<string, string[]> = {};
  for (const [day, { committed }] of await ledgerEntries(lake, report)) {
    if (!committed?.rows) continue;
    const key = snapshotKey(reports[report]?.table ?? '', dayPartition(BRAND, day), committed.snapshot);
    numbers[day] = (await rowsOf(lake, key)).map((row) => String(row[field])).sort();
  }
  return numbers;
}

const isOfA = ({ record }: Held) => String(record.transid).startsWith('a');
const moved = (lake: SampleLake, dayOf: (place: number) => string) => {
  const orders = lake.brand.records.order_list;
  const others = orders.filter((one) => !isOfA(one));
  lake.brand.records.order_list = [
    ...others,
    ...orders.filter(isOfA).map(({ record }, place) => orderOf(dayOf(place), String(record.transid))),
  ];
};

describe('the orders of a day that comes back empty', () => {
  it.each<[string, (place: number) => string]>([
    ['the day after, which is read before it', () => B],
    ['the day before, which is read after it', () => BEFORE],
    ['several days on both sides', (place) => [BEFORE, B, AFTER][place] ?? ''],
    ['the open day', () => '2026-03-12'],
  ])('are in no two days after one run if they have moved to %s', async (_name, dayOf) => {
    const lake = await lakeOf();
    moved(lake, dayOf);
    await run(lake);
    const all = Object.values(await numbersOf(lake)).flat();
    expect(all.toSorted()).toEqual([...new Set(all)].toSorted());
    expect(all.filter((number) => number.startsWith('a'))).toHaveLength(3);
    const { committed, disregarded } = await ledgerEntry(lake, 'order_list', A);
    expect([committed?.rows, committed?.state, disregarded]).toEqual([0, 'closed', undefined]);
  });

  it.each<[string, (lake: SampleLake) => unknown]>([
    ['are gone', (lake) => moved(lake, () => '2025-01-01')],
    [
      'are gone, but for one that has moved',
      (lake) => moved(lake, (place) => (place === 0 ? B : '2025-01-01')),
    ],
    [
      'have moved under other numbers',
      (lake) => {
        lake.brand.records.order_list = lake.brand.records.order_list.map((one) =>
          isOfA(one) ? orderOf(B, `new ${one.record.transid}`) : one,
        );
      },
    ],
    [
      'have moved and have no number any more',
      (lake) => {
        lake.brand.records.order_list = lake.brand.records.order_list.map((one) =>
          isOfA(one) ? held(B, 12, { amount: 1 }) : one,
        );
      },
    ],
  ])('stay if they %s', async (_name, change) => {
    const lake = await lakeOf();
    change(lake);
    expect((await run(lake)).outcomes[A]).toBe('kept');
    expect((await numbersOf(lake))[A]).toEqual(['a1', 'a2', 'a3']);
    expect((await coverageOf(lake, 'order_list'))[A]).toMatchObject({
      state: 'complete',
      findings: 'came_back_empty (3 rows, 0 now)',
    });
  });

  it('are removed from their day when a later run finds them in another day', async () => {
    const lake = await lakeOf();
    const orders = lake.brand.records.order_list;
    moved(lake, () => '2025-01-01');
    await run(lake);
    // The other day is not due before its own turn, and the service shows the orders there after the day came back empty.
    lake.brand.records.order_list = orders;
    moved(lake, () => AFTER);
    await run(lake, 'order_list', { from: AFTER, to: AFTER });
    expect(await numbersOf(lake)).toMatchObject({ [AFTER]: ['a1', 'a2', 'a3', `of ${AFTER}`] });
    expect((await numbersOf(lake))[A]).toBeUndefined();
  });

  it('stay if another day had them in an earlier reading, until that day is read again', async () => {
    const lake = await lakeOf();
    const orders = lake.brand.records.order_list;
    // The reading of B finds the orders, then the reading of A does, then they are back in B.
    moved(lake, () => B);
    await run(lake, 'order_list', { from: B, to: B });
    lake.brand.records.order_list = orders;
    await run(lake, 'order_list', { from: A, to: A });
    moved(lake, () => B);
    await run(lake, 'order_list', { from: A, to: A });
    expect((await ledgerEntry(lake, 'order_list', A)).committed?.rows).toBe(3);
    await run(lake, 'order_list', { from: B, to: B });
    expect((await ledgerEntry(lake, 'order_list', A)).committed?.rows).toBe(0);
    expect((await numbersOf(lake))[B]).toContain('a1');
  });

  it('never move if records name their own day, whatever the setting "key" is', async () => {
    const key = ['adGroupId', 'asin'];
    const brandSettings = { reports: { amazon_attribution_report: { key, refresh } } };
    const of = (day: string) => held(day, 12, { date: day.replaceAll('-', ''), adGroupId: 'g', asin: 'p' });
    const lake = sample.emptyLake();
    lake.brand.records.amazon_attribution_report = [of(A), of(B)];
    const scope = { reports: ['amazon_attribution_report'] };
    await lake.sync({ scope, brandSettings });
    lake.brand.records.amazon_attribution_report = [of(B)];
    lake.nowMs += DAY_MS;
    const outcome = await lake.sync({ scope, brandSettings });
    expect(outcomesOf(outcome, 'amazon_attribution_report')[A]).toBe('kept');
  });

  it('take their details along', async () => {
    const click = (day: string, id: string) => held(day, 12, { id });
    const detail = (id: string): Held => ({ at: 0, record: { id, country: 'DE' } });
    const lake = sample.emptyLake();
    for (const own of Object.values(lake.brand.records)) own.length = 0;
    const ids = ['1', '2'];
    lake.brand.records.clicks_detail = [...ids, '3'].map(detail);
    const scope = { reports: ['clicks_list', 'clicks_detail'] };
    const runs = async (day: string) => {
      lake.brand.records.clicks_list = [click(BEFORE, '3'), ...ids.map((id) => click(day, id))];
      await lake.sync({ scope });
      lake.nowMs += DAY_MS;
    };
    await runs(A);
    await runs(A);
    await runs(BEFORE);
    for (const report of ['clicks_list', 'clicks_detail'] as const)
      expect(await numbersOf(lake, report, 'id')).toEqual({ [BEFORE]: ['1', '2', '3'] });
  });
});

describe('a version with records', () => {
  const states: [string, (lake: SampleLake) => Promise<unknown>, object][] = [
    ['open', async (lake) => lake.sync({ scope: { reports: ['order_list'] } }), {}],
    ['closed', async (lake) => run(lake), {}],
  ];
  it.each(states)(
    'stays if a reading of the %s day has no records, and follows the next reading',
    async (state, begin) => {
      const lake = sample.emptyLake();
      const day = state === 'open' ? TODAY : A;
      lake.brand.records.order_list = ['1', '2'].map((number) => orderOf(day, number, 9));
      await begin(lake);
      const orders = lake.brand.records.order_list;
      lake.brand.records.order_list = [];
      for (let hours = 0; hours < 30; hours += 6) {
        lake.nowMs += 6 * HOUR_MS;
        await lake.sync({ scope: { reports: ['order_list'] } });
        const entry = await ledgerEntry(lake, 'order_list', day);
        expect([entry.committed?.rows, entry.committed?.state, entry.failure]).toEqual([2, state, undefined]);
      }
      expect((await coverageOf(lake, 'order_list'))[day]?.findings).toBe('came_back_empty (2 rows, 0 now)');
      lake.brand.records.order_list = orders.slice(1);
      lake.nowMs += DAY_MS;
      await lake.sync({ scope: { reports: ['order_list'] } });
      expect((await ledgerEntry(lake, 'order_list', day)).committed).toMatchObject({ rows: 1 });
      expect((await coverageOf(lake, 'order_list'))[day]?.findings).toBeUndefined();
    },
  );
});

describe('a change of the time zone, if the service forgets days after 5 days', () => {
  const first = addDays(TODAY, -12);
  const days = Array.from({ length: 12 }, (_, place) => addDays(first, place));
  const times = days.flatMap((day, place) =>
    [1, 4, 7, 10, 13, 16, 19, 22].map((hour) => ({
      at: startOfDay(day, ZONE) + hour * HOUR_MS,
      day,
      id: `${place + 1}${hour + 10}`,
    })),
  );

  it.each(['Asia/Tokyo', 'America/Los_Angeles'])(
    'loses and doubles records only beside a day with a finding: to %s',
    async (timeZone) => {
      const lake = sample.emptyLake();
      const { records } = lake.brand;
      for (const own of Object.values(records)) own.length = 0;
      records.clicks_list = times.map(({ at, id }) => ({ at, record: { id, created_time: `${at / 1000}` } }));
      records.clicks_detail = times.map(({ at, id }) => ({ at, record: { id, country: 'DE' } }));
      records.order_list = times.map(({ at, day, id }) =>
        held(day, (at - startOfDay(day, ZONE)) / HOUR_MS, { transid: id, amount: 1 }),
      );
      const refreshed = (untilAgeDays: number) => ({ refresh: [{ untilAgeDays, every: '1 day' }] });
      const brandSettings = {
        startDate: first,
        reports: {
          clicks_list: refreshed(8),
          clicks_detail: { enabled: true, ...refreshed(8) },
          order_list: refreshed(2),
        },
      };
      const scope = { reports: ['clicks_list', 'clicks_detail', 'order_list'] };
      const runs = async (settings: JsonObject) => {
        for (let count = 0; count < 3; count += 1) {
          await lake.sync({ scope, brandSettings: settings });
          lake.nowMs += HOUR_MS;
        }
      };
      await runs(brandSettings);
      lake.brand.timeZone = timeZone;
      const forgotten = lake.nowMs - 5 * DAY_MS - 6 * HOUR_MS;
      for (const report of ['clicks_detail', 'order_list'] as const)
        records[report] = records[report].filter(({ at }) => at >= forgotten);
      await runs({ ...brandSettings, timeZone });

      for (const report of ['clicks_list', 'clicks_detail', 'order_list'] as const) {
        const field = report === 'order_list' ? 'transid' : 'id';
        const all = Object.values(await numbersOf(lake, report, field)).flat();
        const coverage = Object.entries(await coverageOf(lake, report));
        const seams = coverage.flatMap(([day, { findings }]) =>
          String(findings).includes('zone_seam') ? [day, addDays(day, -1)] : [],
        );
        const isBesideSeam = ({ day }: { day: string }) => seams.includes(day) || day === first;
        const wrong = times.filter(({ id }) => all.filter((each) => each === id).length !== 1);
        expect([report, seams.length, wrong.filter((time) => !isBesideSeam(time))]).toEqual([report, 2, []]);
      }
      const detailed = Object.values(await numbersOf(lake, 'clicks_detail', 'id')).flat();
      const clicks = Object.values(await numbersOf(lake, 'clicks_list', 'id')).flat();
      expect(detailed.toSorted()).toEqual(clicks.toSorted());
      const partly = dayOf(forgotten, ZONE);
      const { findings } = (await coverageOf(lake, 'order_list'))[partly] ?? {};
      expect(findings).toMatch(/^rows_kept \(8 rows, \d now\)/);
    },
  );
});

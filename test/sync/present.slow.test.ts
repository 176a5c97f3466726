import { describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, endOfDay } from '../../shared/days.ts';
import { storedState } from '../fakes/report-states.ts';
import { ledgerEntry, wrongReports } from './lake-contents.ts';
import { BRAND, type SampleLake, type SyncOptions, ZONE } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-08';
const YESTERDAY = '2026-03-09';
const TODAY = '2026-03-10';
const NOON = Date.parse('2026-03-10T16:00:00.000Z');
const END = endOfDay(TODAY, ZONE);
const REPORTS: ReportName[] = ['clicks_list', 'order_list'];

const sample = sharedLakes({
  now: new Date(NOON).toISOString(),
  recordsTo: '2026-03-12T16:00:00.000Z',
  startDate: FIRST,
  clicksPerDay: 6,
  reports: REPORTS,
});

/** A lake that was complete an hour ago. */
async function completeLake(nowMs: number): Promise<SampleLake> {
  const lake = sample.emptyLake();
  lake.nowMs = nowMs - HOUR_MS;
  await lake.sync();
  lake.nowMs = nowMs;
  return lake;
}

const wrongTimes: [string, number][] = [
  ['12 hours behind', -12 * HOUR_MS],
  ['60 days behind', -60 * DAY_MS],
];
const moments: [string, number][] = [
  ['at noon', NOON],
  ['20 minutes before the end of the day', END - 20 * MINUTE_MS],
  ['an hour after the end of the day', END + HOUR_MS],
];
const scenes = wrongTimes.flatMap(([name, ms]) =>
  moments.map(([moment, nowMs]): [string, number, string, number] => [name, ms, moment, nowMs]),
);

describe('a run with its own present time', () => {
  it.each(scenes)(
    'I2: never makes a day less complete: %s, %i ms, %s (%i)',
    async (_name, ms, _moment, nowMs) => {
      for (const scope of [{}, { from: FIRST, to: '2026-03-11' }]) {
        const lake = await completeLake(nowMs);
        const rows = async (report: ReportName, day: string) =>
          (await ledgerEntry(lake, report, day)).committed?.rows ?? 0;
        const before = await Promise.all(REPORTS.map((report) => rows(report, YESTERDAY)));
        await lake.sync({ fixedNow: new Date(nowMs + ms), scope: { reports: REPORTS, ...scope } });
        expect(await Promise.all(REPORTS.map((report) => rows(report, YESTERDAY)))).toEqual(before);
        const { committed } = await ledgerEntry(lake, 'clicks_list', TODAY);
        if (nowMs < END) expect(committed?.state).toBe('open');
        await lake.sync();
        expect(await wrongReports(lake, nowMs < END ? TODAY : '2026-03-11', REPORTS)).toEqual({});
      }
    },
  );

  it.each<[string, SyncOptions]>([
    ['whose own time is 60 days ahead', { fixedNow: new Date(NOON + 60 * DAY_MS) }],
    ['whose machine is 60 days ahead', { clockAheadMs: 60 * DAY_MS }],
  ])('does not stop the daily check of all months: a run %s', async (_name, options) => {
    const lake = await completeLake(NOON);
    await lake.sync(options);
    const before = await vacuumedAt(lake);
    lake.nowMs += DAY_MS + HOUR_MS;
    await lake.sync();
    expect(await vacuumedAt(lake)).toBeGreaterThan(before);
    expect(await vacuumedAt(lake)).toBeLessThanOrEqual(lake.nowMs + MINUTE_MS);
  });
});

describe('a machine whose clock is set by hours while a run works', () => {
  it.each<[string, number]>([
    ['back', -HOUR_MS],
    ['forward', HOUR_MS],
  ])('reads everything, although the service had requested a pause before: %s', async (_name, stepMs) => {
    const lake = sample.emptyLake();
    const first = lake.service.requests.length;
    const sent = () => lake.service.requests.length - first;
    const stop = lake.service.addFault({
      on: { nth: 2 },
      fault: { kind: 'status', status: 503, retryAfter: '1' },
    });
    const deadline = { softMs: lake.nowMs + 30 * MINUTE_MS, hardMs: lake.nowMs + 40 * MINUTE_MS };
    const clockAheadMs = () => (sent() > 3 ? stepMs : 0);
    const { status } = await lake.sync({ clockAheadMs, deadline });
    stop();
    expect(sent()).toBeGreaterThan(3);
    expect(status).toBe('complete');
    lake.nowMs += MINUTE_MS;
    expect((await lake.sync({ clockAheadMs })).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, REPORTS)).toEqual({});
  });
});

async function vacuumedAt({ store }: SampleLake): Promise<number> {
  return Date.parse((await storedState(store, 'clicks_list', BRAND))?.vacuumedAt ?? '');
}

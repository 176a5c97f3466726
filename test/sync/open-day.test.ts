import { describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import { ledgerEntry, requestsOf, wrongReports } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const TODAY = '2026-03-09';
const TOMORROW = '2026-03-10';
/** The end of today in New York. */
const END = Date.parse('2026-03-10T04:00:00Z');
const scope = { reports: ['clicks_list', 'clicks_detail'] };

const sample = sharedLakes({
  now: '2026-03-09T12:00:00Z',
  recordsTo: '2026-03-10T12:00:00Z',
  startDate: TODAY,
  clicksPerDay: 60,
});

function startTimesSince(lake: SampleLake, firstRequest: number): number[] {
  return requestsOf(lake, 'clicks_list')
    .slice(firstRequest)
    .map(({ fields }) => Number(fields.start_time) * 1000);
}

async function committedState(lake: SampleLake, report: ReportName = 'clicks_list', day = TODAY) {
  const entry = (await ledgerEntry(lake, report, day)).committed;
  const readTo = entry && new Date(entry.readTo).setMilliseconds(0);
  return { state: entry?.state, readTo, attempt: entry?.attempt };
}

describe('the open day', () => {
  it('I2: has all records up to the time of the run, read in slices that overlap by lateMinutes', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    for (let hours = 1; hours <= 4; hours += 1) {
      const from = lake.nowMs;
      const before = requestsOf(lake, 'clicks_list').length;
      lake.nowMs += HOUR_MS;
      // Records that come up to fifteen minutes late are inside the overlap.
      await lake.sync({ scope });
      expect(new Set(startTimesSince(lake, before))).toEqual(new Set([from - 15 * MINUTE_MS]));
      expect(await committedState(lake)).toMatchObject({ state: 'open', readTo: lake.nowMs });
      expect(await wrongReports(lake, TODAY, ['clicks_list', 'clicks_detail'])).toEqual({});
    }
  });

  it.each([
    ['a second before its end', END - 1000, 'open', false],
    ['at its end', END, 'open', true],
    ['a second before its late minutes are over', END + 15 * MINUTE_MS - 1000, 'open', true],
    ['when its late minutes are over', END + 15 * MINUTE_MS, 'closed', true],
    ['much later', END + 7 * HOUR_MS, 'closed', true],
  ] as const)('I2: is read in the right state %s', async (_name, atMs, state, whole) => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const { attempt } = await committedState(lake);
    const before = requestsOf(lake, 'clicks_list').length;
    lake.nowMs = atMs;
    await lake.sync({ scope });
    const after = await committedState(lake);
    expect(after.state).toBe(state);
    expect(after.attempt === attempt).toBe(!whole);
    const start = Date.parse('2026-03-09T04:00:00Z');
    expect(startTimesSince(lake, before).includes(start)).toBe(whole);
    expect(await wrongReports(lake, atMs < END ? TODAY : TOMORROW, ['clicks_list'])).toEqual(
      // At midnight itself the new day is still empty: its first second has yet to end.
      atMs === END ? expect.anything() : {},
    );
  });
});

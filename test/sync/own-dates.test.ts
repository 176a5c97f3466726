import { describe, expect, it } from '@jest/globals';
import { type Held, restate } from '../../sample/brand.ts';
import { addDays } from '../../shared/base/days.ts';
import type { Json } from '../../shared/base/json.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { errorOf, ledgerEntry, wrongReports } from './lake-contents.ts';
import { BRAND, sampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const REPORT = 'amazon_attribution_report';
const TODAY = '2026-03-11';
const DAY = '2026-03-09';
const compact = (day: string) => day.replaceAll('-', '');
const [before, after] = [addDays(DAY, -1), addDays(DAY, 1)];

const sample = sharedLakes({
  now: '2026-03-11T15:00:00Z',
  startDate: '2026-03-08',
  clicksPerDay: 40,
  reports: [REPORT],
  interpretations: { pageCap: 3 },
});

/** Gives the records of the day these dates, in turn. `null` removes the date. */
function dated(dates: readonly (Json | null)[]): (held: Held[]) => Held[] {
  return (held) =>
    held.map(({ at, record: { date: _date, ...record } }, index) => {
      const date = dates[index % dates.length];
      return { at, record: date === null || date === undefined ? record : { date, ...record } };
    });
}

/** Syncs the day, after its records got these dates. */
async function syncDated(dates: readonly (Json | null)[], brandSettings = {}) {
  const lake = sample.emptyLake();
  await lake.sync({ scope: { from: after, to: after } });
  restate(lake.brand, REPORT, DAY, dated(dates));
  const events: LogEvent[] = [];
  const log = (event: LogEvent) => void events.push(event);
  const outcome = await lake.sync({ scope: { from: DAY, to: DAY }, brandSettings, log });
  const { committed } = await ledgerEntry(lake, REPORT, DAY);
  return { lake, events, error: errorOf(outcome, REPORT), rows: committed?.rows };
}

describe('the date of an attribution record', () => {
  it('I1: keeps a record with another date out of the day, and warns', async () => {
    const dates = [compact(DAY), compact(DAY), compact(after), before];
    const { lake, rows, error, events } = await syncDated(dates);
    const of = (date: string) =>
      lake.brand.records[REPORT].filter(({ record }) => record.date === date).length;
    expect(error).toBeUndefined();
    expect(rows).toBe(of(compact(DAY)));
    expect(rows).toBeGreaterThan(1);
    expect(events).toContainEqual({
      event: 'other_dates_excluded',
      brand: BRAND,
      report: REPORT,
      day: DAY,
      message: expect.stringMatching(/for 2026-03-09 .*of 2026-03-08, .*of 2026-03-10$/),
    });
  });

  it.each<{ dates: string; values: readonly (Json | null)[] }>([
    { dates: 'missing', values: [compact(DAY), null] },
    { dates: 'no dates', values: [compact(DAY), 'yesterday', '20260230', 20_260_309, ''] },
    { dates: 'all missing', values: [null] },
    { dates: 'written with hyphens', values: [DAY] },
  ])('I6: leaves a record in the requested day if dates are $dates', async ({ values }) => {
    const { lake, error, events } = await syncDated(values);
    expect(error).toBeUndefined();
    expect(events.map(({ event }) => event)).not.toContain('other_dates_excluded');
    expect(await wrongReports({ ...lake, startDate: DAY }, after, [REPORT])).toEqual({});
  });

  it('I8: fails the day if every date is another, and its error contains both dates and the settings to check', async () => {
    const { rows, error } = await syncDated([compact(before), null], { timeZone: 'Asia/Tokyo' });
    expect(error).toMatchObject({
      kind: 'contract',
      code: 'other_dates',
      message: expect.stringMatching(
        /2026-03-09: .*2026-03-08.*"timeZone" \(now "Asia\/Tokyo"\).*"endDate" \(now "whole_day"\)/,
      ),
    });
    expect(rows).toBeUndefined();
  });

  it.each(['midnight_inclusive', 'midnight_exclusive'] as const)(
    'I1: does not warn of the next day’s records that the end of the range includes: %s',
    async (endDate) => {
      const lake = await sampleLake({
        now: '2026-03-11T15:00:00Z',
        startDate: '2026-03-08',
        clicksPerDay: 40,
        interpretations: { endDate },
        brandSettings: { endDate: 'midnight' },
        reports: [REPORT],
      });
      restate(lake.brand, REPORT, DAY, () => []);
      const events: string[] = [];
      const outcome = await lake.sync({ log: ({ event }) => void events.push(event) });
      expect(errorOf(outcome, REPORT)).toBeUndefined();
      expect(events).not.toContain('other_dates_excluded');
      expect(await wrongReports(lake, TODAY, [REPORT])).toEqual({});
      await lake.close();
    },
  );
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  addDays,
  addMonths,
  dayOf,
  daysBetween,
  daysFrom,
  daysOfMonth,
  earlier,
  endOfDay,
  intervalMs,
  isDay,
  lastMonths,
  monthOf,
  startOfDay,
} from '../../shared/base/days.ts';
import { runs } from '../fixtures/property-runs.ts';

const HOUR_MS = 3_600_000;
/** Until then, Newfoundland set its clocks back over midnight, so a date came twice. */
const FROM_MS = Date.parse('2012-01-01T00:00:00Z');
const TO_MS = Date.parse('2037-01-01T00:00:00Z');

const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));
const instant = fc.integer({ min: FROM_MS, max: TO_MS });
const day = instant.map((ms) => new Date(ms).toISOString().slice(0, 10));

describe('a day of a zone', () => {
  it.each<[string, string, string, string, number]>([
    ['an ordinary day', 'America/New_York', '2026-06-10', '2026-06-10T04:00:00Z', 24],
    ['the clock goes forward', 'America/New_York', '2026-03-08', '2026-03-08T05:00:00Z', 23],
    ['the clock goes back', 'America/New_York', '2026-11-01', '2026-11-01T04:00:00Z', 25],
    ['the clock goes forward in Europe', 'Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00Z', 23],
    ['the clock goes back in Europe', 'Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00Z', 25],
    ['half an hour forward', 'Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30:00Z', 23.5],
    ['half an hour back', 'Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00:00Z', 24.5],
    ['no midnight', 'America/Santiago', '2026-09-06', '2026-09-06T04:00:00Z', 23],
    ['midnight comes, goes back to 23:00', 'America/Santiago', '2026-04-04', '2026-04-04T03:00:00Z', 25],
    ['no midnight, at a month’s end', 'Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00Z', 23],
    ['no midnight in Beirut', 'Asia/Beirut', '2026-03-29', '2026-03-28T22:00:00Z', 23],
    ['midnight twice in Beirut', 'Asia/Beirut', '2026-10-24', '2026-10-23T21:00:00Z', 25],
    ['no midnight in Havana', 'America/Havana', '2026-03-08', '2026-03-08T05:00:00Z', 23],
    ['midnight twice in Havana', 'America/Havana', '2026-11-01', '2026-11-01T04:00:00Z', 25],
    ['no midnight in Nuuk', 'America/Nuuk', '2026-03-28', '2026-03-28T02:00:00Z', 23],
    ['an offset with a quarter of an hour', 'Asia/Kathmandu', '2026-06-10', '2026-06-09T18:15:00Z', 24],
    ['farthest east', 'Pacific/Kiritimati', '2026-06-10', '2026-06-09T10:00:00Z', 24],
    ['farthest west', 'Pacific/Pago_Pago', '2026-06-10', '2026-06-10T11:00:00Z', 24],
    ['a day that never was', 'Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00Z', 0],
    ['UTC', 'UTC', '2028-02-29', '2028-02-29T00:00:00Z', 24],
  ])('begins at the first instant that has its date: %s', (_name, timeZone, date, start, hours) => {
    expect(new Date(startOfDay(date, timeZone)).toISOString()).toBe(new Date(start).toISOString());
    expect((endOfDay(date, timeZone) - startOfDay(date, timeZone)) / HOUR_MS).toBe(hours);
  });

  it('contains every instant that has its date', () => {
    fc.assert(
      fc.property(instant, zone, (ms, timeZone) => {
        const date = dayOf(ms, timeZone);
        expect(startOfDay(date, timeZone)).toBeLessThanOrEqual(ms);
        expect(endOfDay(date, timeZone)).toBeGreaterThan(ms);
      }),
      runs(250),
    );
  });

  it('begins with its date and ends with the next one, in every zone', () => {
    fc.assert(
      fc.property(day, zone, (date, timeZone) => {
        const start = startOfDay(date, timeZone);
        const end = endOfDay(date, timeZone);
        expect([start - 1, start, end - 1, end].map((ms) => dayOf(ms, timeZone))).toEqual([
          addDays(date, -1),
          date,
          date,
          addDays(date, 1),
        ]);
      }),
      runs(125),
    );
  });

  it('is the day of its milliseconds, even before 1970', () => {
    expect([-1, 0, 999, 86_399_999, 86_400_000].map((ms) => dayOf(ms, 'UTC'))).toEqual([
      '1969-12-31',
      '1970-01-01',
      '1970-01-01',
      '1970-01-01',
      '1970-01-02',
    ]);
  });
});

describe('days of the calendar', () => {
  it('are counted like added days', () => {
    fc.assert(
      fc.property(day, fc.integer({ min: -4_000, max: 4_000 }), (from, days) => {
        const to = addDays(from, days);
        expect(daysBetween(from, to)).toBe(days);
        expect(isDay(to)).toBe(true);
        expect(earlier(from, to)).toBe(days < 0 ? to : from);
        expect(daysFrom(from, to)).toHaveLength(Math.max(0, days + 1));
      }),
      runs(50),
    );
  });

  it('are listed with both ends, over the end of a leap February', () => {
    expect(daysFrom('2028-02-28', '2028-03-01')).toEqual(['2028-02-28', '2028-02-29', '2028-03-01']);
    expect(daysFrom('2028-03-01', '2028-03-01')).toEqual(['2028-03-01']);
    expect(daysFrom('2028-03-01', '2028-02-29')).toEqual([]);
    expect(monthOf('2028-02-29')).toBe('2028-02');
  });

  it.each(['2026-01-31', '2028-02-29', '0001-01-01', '9999-12-31'])('include %s', (text) => {
    expect(isDay(text)).toBe(true);
  });

  it.each([
    '',
    '2026-02-29',
    '2026-13-01',
    '2026-01-00',
    '2026-1-5',
    '20260105',
    '2026-01-05\n',
    '2026-01-05T00:00:00Z',
    '２０２６-01-05',
    'today',
  ])('do not include %j', (text) => {
    expect(isDay(text)).toBe(false);
  });
});

describe('a month', () => {
  it.each([
    ['2026-01', -1, '2025-12', 31],
    ['2024-12', -10, '2024-02', 29],
    ['2026-03', -1, '2026-02', 28],
    ['2026-11', 2, '2027-01', 31],
    ['0001-01', 1, '0001-02', 28],
  ])('%s and %d months is %s, with %d days', (month, months, other, days) => {
    const all = daysOfMonth(other);
    expect([addMonths(month, months), all.length]).toEqual([other, days]);
    expect(all).toEqual(daysFrom(`${other}-01`, `${other}-${days}`));
  });

  it('is the last of the last months until it ends in UTC', () => {
    const endMs = Date.parse('2027-01-31T23:59:59Z');
    expect(lastMonths(3, endMs)).toEqual({ from: '2026-11' });
    expect(lastMonths(3, endMs + 1000)).toEqual({ from: '2026-12' });
  });
});

describe('an interval', () => {
  it.each([
    ['run', 0],
    ['1 minute', 60_000],
    ['90 minutes', 5_400_000],
    ['1 hour', 3_600_000],
    ['7 days', 604_800_000],
  ])('such as "%s" has %d milliseconds', (every, ms) => {
    expect(intervalMs(every)).toBe(ms);
  });

  it.each(['', 'daily', '1', '1 week', '1.5 hours', '-1 days', '1  day', '1 day ', 'runs'])(
    'is refused with its value if it is not an interval: %j',
    (every) => {
      expect(() => intervalMs(every)).toThrow(`"${every}" is not an interval`);
    },
  );
});

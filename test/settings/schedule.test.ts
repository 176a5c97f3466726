import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { reports } from '../../shared/reports/index.ts';
import { maxGapMs, nextStartMs, scheduleProblem } from '../../shared/settings/schedule.ts';
import { runs } from '../fixtures/property-runs.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the longest gap of a schedule', () => {
  it.each<[name: string, schedule: string, longestMs: number]>([
    ['a rate of minutes', 'rate(15 minutes)', 15 * MINUTE],
    ['a rate of days', 'rate(2 days)', 2 * DAY],
    ['every minute', 'cron(* * * * ? *)', MINUTE],
    ['hourly', 'cron(5 * * * ? *)', HOUR],
    ['every 15 minutes', 'cron(0/15 * * * ? *)', 15 * MINUTE],
    ['every 25 minutes of an hour', 'cron(0/25 * * * ? *)', 25 * MINUTE],
    ['two minutes of every hour', 'cron(0,5 * * * ? *)', 55 * MINUTE],
    ['daily', 'cron(5 6 * * ? *)', DAY],
    ['daily, by day of week', 'cron(5 6 ? * * *)', DAY],
    ['6 and 18 o’clock', 'cron(0 6,18 * * ? *)', 12 * HOUR],
    ['every 6 hours', 'cron(5 0/6 * * ? *)', 6 * HOUR],
    ['hours of work', 'cron(0 8-20 * * ? *)', 12 * HOUR],
    ['weekdays', 'cron(5 6 ? * MON-FRI *)', 3 * DAY],
    ['weekdays as numbers', 'cron(5 6 ? * 2-6 *)', 3 * DAY],
    ['weekdays, twice a day', 'cron(0 6,18 ? * MON-FRI *)', 2 * DAY + 12 * HOUR],
    ['weekly', 'cron(5 6 ? * MON *)', 7 * DAY],
    ['monthly on the 1st', 'cron(0 6 1 * ? *)', 31 * DAY],
    ['on the 1st and the 15th', 'cron(0 6 1,15 * ? *)', 17 * DAY],
    ['on the 31st', 'cron(0 6 31 * ? *)', 61 * DAY],
    ['the last day of the month', 'cron(0 6 L * ? *)', 31 * DAY],
    ['quarterly', 'cron(0 6 1 1/3 ? *)', 92 * DAY],
    ['only in summer', 'cron(0 6 * JUN-AUG ? *)', 274 * DAY],
    ['yearly', 'cron(0 6 1 1 ? *)', 366 * DAY],
    ['29 February, which 2100 does not have', 'cron(0 6 29 2 ? *)', 2921 * DAY],
  ])('is known: %s', (_name, schedule, longestMs) => {
    expect(scheduleProblem(schedule)).toBeUndefined();
    expect(maxGapMs(schedule)).toBe(longestMs);
  });

  it('equals the result of a reference that checks every day and every minute', () => {
    fc.assert(
      fc.property(field(0, 59), field(0, 23), dayFields, field(1, 12), (minutes, hours, days, months) => {
        const [dayOfMonth, dayOfWeek] = days.text;
        const schedule = `cron(${minutes.text} ${hours.text} ${dayOfMonth} ${months.text} ${dayOfWeek} *)`;
        const isOnDay = (day: Date) => months.values.includes(day.getUTCMonth() + 1) && days.isOnDay(day);
        const isAtTime = (minute: number) =>
          hours.values.includes(Math.floor(minute / 60)) && minutes.values.includes(minute % 60);
        const longestMs = longestGapMs(isOnDay, isAtTime);
        if (longestMs === undefined) expect(scheduleProblem(schedule)).toMatch(/^a date that exists/);
        else expect({ schedule, longestMs: maxGapMs(schedule) }).toEqual({ schedule, longestMs });
      }),
      runs(25),
    );
  });
});

describe('the next start of a schedule', () => {
  // A Friday.
  const NOW = '2026-11-20T10:00';
  it.each<[name: string, schedule: string, last: string | undefined, next: string | undefined]>([
    ['a rate counts from the last start', 'rate(1 hour)', '2026-11-20T09:10', '2026-11-20T10:10'],
    ['a rate continues after missed starts', 'rate(1 hour)', '2026-11-20T02:10', '2026-11-20T10:10'],
    ['a rate that starts now starts next time', 'rate(1 hour)', '2026-11-20T09:00', '2026-11-20T11:00'],
    ['a rate is at most its interval away', 'rate(1 day)', undefined, '2026-11-21T10:00'],
    ['a last start in the future', 'rate(1 hour)', '2026-11-20T12:00', '2026-11-20T13:00'],
    ['a time of today', 'cron(5 6,18 * * ? *)', undefined, '2026-11-20T18:05'],
    ['not the current time', 'cron(0 10 * * ? *)', undefined, '2026-11-21T10:00'],
    ['a time after the weekend', 'cron(0 6 ? * MON-FRI *)', undefined, '2026-11-23T06:00'],
    ['the last day of the month', 'cron(0 6 L * ? *)', undefined, '2026-11-30T06:00'],
    ['a day years ahead is not searched for', 'cron(0 6 29 2 ? *)', undefined, undefined],
  ])('is known: %s', (_name, schedule, last, next) => {
    const msOf = (text: string) => Date.parse(`${text}Z`);
    const ms = nextStartMs(schedule, msOf(NOW), last === undefined ? undefined : msOf(last));
    expect(ms && new Date(ms).toISOString().slice(0, 16)).toBe(next);
  });
});

describe('a schedule with unknown gaps', () => {
  it.each<[name: string, schedule: string, allowed: RegExp]>([
    ['not a schedule', 'hourly', /^e\.g\. rate\(1 hour\)/],
    ['a rate of nothing', 'rate(0 hours)', /^e\.g\. rate\(1 hour\)/],
    ['a rate of weeks', 'rate(1 week)', /^e\.g\. rate\(1 hour\)/],
    ['the five fields of other crons', 'cron(5 6 * * *)', /^six fields: minutes, hours,/],
    ['30 February', 'cron(0 6 30 2 ? *)', /^a date that exists/],
    ['31 February', 'cron(0 0 31 2 ? *)', /^a date that exists/],
    ['a past year', 'cron(0 6 1 1 ? 2020)', /and \* as the year$/],
    ['a coming year', 'cron(0 6 1 1 ? 2199)', /and \* as the year$/],
    ['days by month and by week', 'cron(0 6 1 * MON *)', /^"\?" in one of/],
    ['days by neither field', 'cron(0 6 ? * ? *)', /^"\?" in one of/],
    ['two asterisks, which AWS refuses', 'cron(0 6 * * * *)', /^"\?" in one of/],
    ['a number of another notation', 'cron(0x5 6 * * ? *)', /in the field minutes/],
    ['minute 60', 'cron(60 6 * * ? *)', /^0 to 59 .* in the field minutes, which is "60"$/],
    ['hour 24', 'cron(0 24 * * ? *)', /^0 to 23 .* in the field hours, which is "24"$/],
    ['a step of nothing', 'cron(0/0 * * * ? *)', /in the field minutes/],
    ['hours over midnight', 'cron(0 22-2 * * ? *)', /in the field hours, which is "22-2"$/],
    ['days over the weekend', 'cron(0 6 ? * FRI-MON *)', /in the field day-of-week, which is "FRI-MON"$/],
    ['weekday 8', 'cron(0 6 ? * 8 *)', /^1 \(SUN\) to 7 \(SAT\)/],
    [
      'the second Tuesday',
      'cron(0 6 ? * TUE#2 *)',
      /^1 \(SUN\) to 7 \(SAT\) as \*, MON, .* which is "TUE#2"$/,
    ],
    ['the last Friday', 'cron(0 6 ? * FRIL *)', /in the field day-of-week, which is "FRIL"$/],
    ['a step of weekdays', 'cron(0 6 ? * 2/2 *)', /in the field day-of-week/],
    ['month 13', 'cron(0 6 1 13 ? *)', /^1 to 12 or JAN to DEC/],
    ['the weekday nearest to the 15th', 'cron(0 6 15W * ? *)', /in the field day-of-month, which is "15W"$/],
    ['three days before the end', 'cron(0 6 L-3 * ? *)', /in the field day-of-month, which is "L-3"$/],
  ])('is refused with the allowed forms: %s', (_name, schedule, allowed) => {
    expect(scheduleProblem(schedule)).toMatch(allowed);
    expect(() => maxGapMs(schedule)).toThrow(RangeError);
  });
});

describe('the default schedule of every report', () => {
  it.each(Object.values(reports).map(({ name, schedule }) => ({ name, schedule })))(
    'can be used: $name',
    ({ schedule }) => {
      expect(scheduleProblem(schedule)).toBeUndefined();
    },
  );
});

/**
 * The longest gap that begins within 400 days from 2024 on, or among the next 60 starts if these reach further; day by
 * day and minute by minute. `undefined` if ten years have no start.
 */
function longestGapMs(
  isOnDay: (day: Date) => boolean,
  isAtTime: (minute: number) => boolean,
): number | undefined {
  const firstMs = Date.UTC(2024, 0, 1);
  const starts: number[] = [];
  for (let day = firstMs; starts.length > 0 || day < firstMs + 3_653 * DAY; day += DAY) {
    const [start = day] = starts.slice(-1);
    if (start > firstMs + 400 * DAY && starts.length > 60) break;
    if (!isOnDay(new Date(day))) continue;
    for (let minute = 0; minute < 1440; minute += 1) if (isAtTime(minute)) starts.push(day + minute * MINUTE);
  }
  const gaps = starts.slice(1).map((start, before) => start - (starts[before] ?? 0));
  return starts.length === 0 ? undefined : gaps.reduce((longest, gap) => Math.max(longest, gap), 0);
}

interface Field {
  text: string;
  values: number[];
}

/** A field as a list, a range, a step or an asterisk, with the values that it has. */
function field(min: number, max: number): fc.Arbitrary<Field> {
  const value = fc.integer({ min, max });
  const all = Array.from({ length: max - min + 1 }, (_, index) => min + index);
  return fc.oneof(
    fc.constant({ text: '*', values: all }),
    fc.array(value, { minLength: 1, maxLength: 4 }).map((values) => ({ text: values.join(','), values })),
    fc.tuple(value, value).map(([a, b]) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      return { text: `${from}-${to}`, values: all.filter((each) => each >= from && each <= to) };
    }),
    fc.tuple(value, fc.integer({ min: 1, max })).map(([from, step]) => ({
      text: `${from}/${step}`,
      values: all.filter((each) => each >= from && (each - from) % step === 0),
    })),
  );
}

interface DayFields {
  /** Day of month, then day of week. */
  text: [string, string];
  isOnDay: (time: Date) => boolean;
}

const NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const dayFields: fc.Arbitrary<DayFields> = fc.oneof(
  field(1, 31).map(
    ({ text, values }): DayFields => ({
      text: [text, '?'],
      isOnDay: (time) => values.includes(time.getUTCDate()),
    }),
  ),
  fc.constant<DayFields>({
    text: ['L', '?'],
    isOnDay: (time) => new Date(time.getTime() + DAY).getUTCDate() === 1,
  }),
  fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 3 }).map(
    (days): DayFields => ({
      text: ['?', days.map((day) => NAMES[day]).join(',')],
      isOnDay: (time) => days.includes(time.getUTCDay()),
    }),
  ),
);

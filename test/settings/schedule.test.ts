import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { reports } from '../../shared/reports/index.ts';
import { maxGapMs, scheduleProblem } from '../../shared/settings/schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MINUTES_OF_A_DAY = Array.from({ length: 1440 }, (_, minute) => minute);

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
    ['the last day of the week', 'cron(5 6 ? * L *)', 7 * DAY],
    ['monthly on the 1st', 'cron(0 6 1 * ? *)', 31 * DAY],
    ['on the 1st and the 15th', 'cron(0 6 1,15 * ? *)', 17 * DAY],
    ['on the 31st', 'cron(0 6 31 * ? *)', 61 * DAY],
    ['the last day of the month', 'cron(0 6 L * ? *)', 31 * DAY],
    ['the weekday nearest to the 15th', 'cron(0 6 15W * ? *)', 32 * DAY],
    ['the second Tuesday', 'cron(0 6 ? * TUE#2 *)', 35 * DAY],
    ['the second Tuesday as a number', 'cron(0 6 ? * 3#2 *)', 35 * DAY],
    ['the last Friday', 'cron(0 6 ? * 6L *)', 35 * DAY],
    ['quarterly', 'cron(0 6 1 1/3 ? *)', 92 * DAY],
    ['in summer alone', 'cron(0 6 * JUN-AUG ? *)', 275 * DAY],
    ['yearly', 'cron(0 6 1 1 ? *)', 366 * DAY],
    ['29 February, which 2100 has not', 'cron(0 6 29 2 ? *)', 2921 * DAY],
  ])('is exact: %s', (_name, schedule, longestMs) => {
    expect(scheduleProblem(schedule)).toBeUndefined();
    expect(maxGapMs(schedule)).toBe(longestMs);
  });

  it('is that of a calendar that is searched day by day and minute by minute', () => {
    fc.assert(
      fc.property(field(0, 59), field(0, 23), dayFields, field(1, 12), (minutes, hours, days, months) => {
        const [dayOfMonth, dayOfWeek] = days.text;
        const schedule = `cron(${minutes.text} ${hours.text} ${dayOfMonth} ${months.text} ${dayOfWeek} *)`;
        const starts = MINUTES_OF_A_DAY.filter(
          (minute) => minutes.values.includes(minute % 60) && hours.values.includes(Math.floor(minute / 60)),
        );
        const selected = CALENDAR.filter((day) => months.values.includes(day.month) && days.isOnDay(day));
        const [first = 0, last = 0] = [starts[0], starts.at(-1)];
        const nights = selected.map(
          ({ index }, place) =>
            ((selected[place + 1] ?? afterCycle(selected))?.index ?? 0) * 1440 + first - index * 1440 - last,
        );
        const gaps = [
          ...starts.slice(1).map((start, place) => start - (starts[place] ?? 0)),
          ...new Set(nights),
        ];
        if (selected.length === 0) expect(scheduleProblem(schedule)).toMatch(/^a date that exists/);
        else
          expect({ schedule, longest: maxGapMs(schedule) }).toEqual({
            schedule,
            longest: Math.max(...gaps) * MINUTE,
          });
      }),
      { numRuns: 40 },
    );
  });
});

describe('a schedule whose gaps are not known', () => {
  it.each<[name: string, schedule: string, allowed: RegExp]>([
    ['not a schedule', 'hourly', /^e\.g\. rate\(1 hour\)/],
    ['a rate of nothing', 'rate(0 hours)', /^e\.g\. rate\(1 hour\)/],
    ['a rate of weeks', 'rate(1 week)', /^e\.g\. rate\(1 hour\)/],
    ['the five fields of other crons', 'cron(5 6 * * *)', /^six fields: minutes, hours,/],
    ['30 February', 'cron(0 6 30 2 ? *)', /^a date that exists/],
    ['a past year', 'cron(0 6 1 1 ? 2020)', /^\* in the field year/],
    ['a coming year', 'cron(0 6 1 1 ? 2199)', /^\* in the field year/],
    ['days by month and by week', 'cron(0 6 1 * MON *)', /^"\?" in one of/],
    ['days by neither', 'cron(0 6 ? * ? *)', /^"\?" in one of/],
    ['two asterisks, which AWS refuses', 'cron(0 6 * * * *)', /^"\?" in one of/],
    ['minute 60', 'cron(60 6 * * ? *)', /^0 to 59 .* in the field minutes, which is "60"$/],
    ['hour 24', 'cron(0 24 * * ? *)', /^0 to 23 .* in the field hours, which is "24"$/],
    ['a step of nothing', 'cron(0/0 * * * ? *)', /in the field minutes/],
    ['hours over midnight', 'cron(0 22-2 * * ? *)', /in the field hours, which is "22-2"$/],
    ['days over the weekend', 'cron(0 6 ? * FRI-MON *)', /in the field day-of-week, which is "FRI-MON"$/],
    ['weekday 8', 'cron(0 6 ? * 8 *)', /^1 \(Sunday\) to 7 or SUN to SAT/],
    ['a sixth Monday', 'cron(0 6 ? * MON#6 *)', /in the field day-of-week/],
    ['two weeks', 'cron(0 6 ? * MON#1,MON#3 *)', /in the field day-of-week/],
    ['a step of weekdays', 'cron(0 6 ? * 2/2 *)', /in the field day-of-week/],
    ['month 13', 'cron(0 6 1 13 ? *)', /^1 to 12 or JAN to DEC/],
    ['the weekday nearest to the 31st', 'cron(0 6 31W * ? *)', /^1W to 28W in the field day-of-month/],
    ['three days before the end', 'cron(0 6 L-3 * ? *)', /in the field day-of-month, which is "L-3"$/],
  ])('is refused with what is allowed: %s', (_name, schedule, allowed) => {
    expect(scheduleProblem(schedule)).toMatch(allowed);
    expect(() => maxGapMs(schedule)).toThrow(RangeError);
  });
});

describe('the schedule of every report by default', () => {
  it.each(Object.values(reports).map(({ name, schedule }) => ({ name, schedule })))(
    'can be used: $name',
    ({ schedule }) => {
      expect(scheduleProblem(schedule)).toBeUndefined();
    },
  );
});

interface CalendarDay {
  index: number;
  month: number;
  date: number;
  /** Sunday is 0. */
  weekday: number;
  length: number;
}

/** Every day of 400 years, by JavaScript's own calendar. */
const CALENDAR: CalendarDay[] = Array.from({ length: 146_097 }, (_, index) => {
  const day = new Date(Date.UTC(2024, 0, 1) + index * DAY);
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
  const length = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return { index, month: month + 1, date: day.getUTCDate(), weekday: day.getUTCDay(), length };
});

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
  isOnDay: (day: CalendarDay) => boolean;
}

const NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const weekday = fc.integer({ min: 0, max: 6 });

const dayFields: fc.Arbitrary<DayFields> = fc.oneof(
  field(1, 31).map(
    ({ text, values }): DayFields => ({
      text: [text, '?'],
      isOnDay: ({ date }) => values.includes(date),
    }),
  ),
  fc.constant<DayFields>({ text: ['L', '?'], isOnDay: ({ date, length }) => date === length }),
  fc.integer({ min: 1, max: 28 }).map(
    (near): DayFields => ({
      text: [`${near}W`, '?'],
      isOnDay: (day) => isNearestWorkday(day, near),
    }),
  ),
  fc.uniqueArray(weekday, { minLength: 1, maxLength: 3 }).map(
    (days): DayFields => ({
      text: ['?', days.map((day) => NAMES[day]).join(',')],
      isOnDay: (day) => days.includes(day.weekday),
    }),
  ),
  fc.tuple(weekday, fc.integer({ min: 1, max: 5 })).map(
    ([weekday, week]): DayFields => ({
      text: ['?', `${NAMES[weekday]}#${week}`],
      isOnDay: ({ date, weekday: found }) => found === weekday && Math.ceil(date / 7) === week,
    }),
  ),
  weekday.map(
    (weekday): DayFields => ({
      text: ['?', `${weekday + 1}L`],
      isOnDay: ({ date, weekday: found, length }) => found === weekday && date + 7 > length,
    }),
  ),
);

/** In its month, no other Monday to Friday is nearer. */
function isNearestWorkday({ date, weekday: found, length }: CalendarDay, near: number): boolean {
  if (Math.abs(date - near) > 2) return false;
  const workdays = Array.from({ length }, (_, index) => index + 1).filter(
    (other) => ![0, 6].includes((((found + other - date) % 7) + 7) % 7),
  );
  const distances = workdays.map((other) => Math.abs(other - near));
  return workdays.includes(date) && Math.abs(date - near) === Math.min(...distances);
}

/** The first of the days again, after 400 years. */
function afterCycle([first]: readonly CalendarDay[]): CalendarDay | undefined {
  return first && { ...first, index: first.index + CALENDAR.length };
}

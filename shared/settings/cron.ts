/*
 * A cron expression of EventBridge Scheduler, evaluated over the 400 years after which the calendar repeats: minutes,
 * hours, day of month, month, day of week, with `?`, `L`, `W`, `#` and names. Forms that AWS does not document, and
 * expressions that never run or that end, are refused with the forms that are allowed, so that every gap is exact.
 * No library does this: croner takes neither `0/15` nor AWS's numbers of weekdays, aws-cron-parser runs on 30 February.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../days.ts';

/**
 * The longest time from one start to the next, in milliseconds, of `minutes hours day-of-month month day-of-week year`.
 * @throws RangeError whose message says what is allowed instead
 */
export function longestCronGapMs(expression: string): number {
  const [minutes = '', hours = '', daysOfMonth = '', months = '', weekdays = '', years, ...rest] =
    expression.split(' ');
  if (years === undefined || rest.length > 0)
    throw new RangeError('six fields: minutes, hours, day-of-month, month, day-of-week, year');
  if (years !== '*') throw new RangeError('* in the field year, because the schedule of a report has no end');
  return longestGapMs(
    startsOfDay(minutes, hours),
    longestGapInDays(daySelector(daysOfMonth, weekdays), valuesOf(months, MONTHS)),
  );
}

/** @param starts within a day, in milliseconds, ascending @param days the longest gap between days that have starts */
function longestGapMs(starts: readonly number[], days: number): number {
  const within = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
  const overnightMs = (starts[0] ?? 0) - (starts.at(-1) ?? 0);
  return Math.max(...within, days * DAY_MS + overnightMs);
}

function startsOfDay(minutes: string, hours: string): number[] {
  const ofHour = valuesOf(minutes, MINUTES);
  return valuesOf(hours, HOURS).flatMap((hour) =>
    ofHour.map((minute) => hour * HOUR_MS + minute * MINUTE_MS),
  );
}

/** A field of a cron expression: its name and forms for messages, its values, and names for them from `min` on. */
interface Field {
  name: string;
  forms: string;
  min: number;
  max: number;
  names?: readonly string[];
}

const MINUTES: Field = { name: 'minutes', forms: '0 to 59 as *, 5, 5,35, 5-10 or 0/15', min: 0, max: 59 };
const HOURS: Field = { name: 'hours', forms: '0 to 23 as *, 6, 6,18, 8-20 or 0/6', min: 0, max: 23 };
const DAYS_OF_MONTH: Field = {
  name: 'day-of-month',
  forms: '1 to 31 as *, 1, 1,15, 1-7, 1/7, L or 15W',
  min: 1,
  max: 31,
};
const MONTHS: Field = {
  name: 'month',
  forms: '1 to 12 or JAN to DEC as *, 1, 1,7, JAN-MAR or 1/3',
  min: 1,
  max: 12,
  names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
};
const WEEKDAYS: Field = {
  name: 'day-of-week',
  forms: '1 (Sunday) to 7 or SUN to SAT as *, MON, MON,THU, MON-FRI, L, FRIL or TUE#2',
  min: 1,
  max: 7,
  names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
};

/**
 * The values of a list of numbers or names, ranges and steps: `*`, `5`, `1,15`, `MON-FRI`, `0/15`; ascending.
 * @throws RangeError that says what the field takes
 */
function valuesOf(text: string, field: Field): number[] {
  const values = text.split(',').flatMap((part) => {
    const [, from = '', to, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part) ?? [];
    const first = from === '*' ? field.min : numberOf(from, field);
    const last =
      to !== undefined ? numberOf(to, field) : from === '*' || step !== undefined ? field.max : first;
    const every = Number(step ?? 1);
    if (from === '*' && to !== undefined) throw valuesRefused(text, field);
    if (first === undefined || last === undefined || last < first) throw valuesRefused(text, field);
    if (every < 1 || every > field.max) throw valuesRefused(text, field);
    return Array.from(
      { length: Math.floor((last - first) / every) + 1 },
      (_, index) => first + index * every,
    );
  });
  return [...new Set(values)].sort((a, b) => a - b);
}

function valuesRefused(text: string, { name, forms }: Field): RangeError {
  return new RangeError(`${forms} in the field ${name}, which is "${text}"`);
}

function numberOf(text: string, { min, max, names }: Field): number | undefined {
  const named = names?.indexOf(text) ?? -1;
  const value = named >= 0 ? min + named : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

/** What the day of the week and the length of a month decide. */
interface MonthShape {
  days: number;
  /** Of its first day: Sunday is 1. */
  firstWeekday: number;
}

/** The days of such a month that an expression selects, ascending. */
type DaySelector = (month: MonthShape) => number[];

/** After 400 years, which are a whole number of weeks, all dates have the same days of the week again. */
const CYCLE_YEARS = 400;
const CYCLE_DAYS = 146_097;
/** Its first day was a Saturday. */
const CYCLE_START = 2000;

/** The longest gap between the days that have starts, in days. */
function longestGapInDays(select: DaySelector, months: readonly number[]): number {
  const selected = selectedInCycle(select, months);
  const [first] = selected;
  if (first === undefined) throw new RangeError('a date that exists: this one never comes');
  const distinct = [...new Set(selected.map(({ days }) => days))];
  const gaps = [
    ...distinct.flatMap((days) => days.slice(1).map((day, index) => day - (days[index] ?? 0))),
    ...selected.map(({ start, days }, index) => {
      const next = selected[index + 1] ?? { ...first, start: first.start + CYCLE_DAYS };
      return next.start + (next.days[0] ?? 0) - start - (days.at(-1) ?? 0);
    }),
  ];
  return Math.max(...gaps);
}

/** The months of the cycle that have selected days, with the day of the cycle that they start at. */
function selectedInCycle(
  select: DaySelector,
  months: readonly number[],
): { start: number; days: readonly number[] }[] {
  // Months of one shape share one list: there are 28 shapes, and 4,800 months.
  const byShape = new Map<number, number[]>();
  const daysOf = (shape: MonthShape) => {
    const key = shape.days * 7 + shape.firstWeekday;
    const days = byShape.get(key) ?? select(shape);
    byShape.set(key, days);
    return days;
  };
  return monthsOfCycle()
    .filter(({ month }) => months.includes(month))
    .map(({ start, shape }) => ({ start, days: daysOf(shape) }))
    .filter(({ days }) => days.length > 0);
}

function monthsOfCycle(): { month: number; start: number; shape: MonthShape }[] {
  let start = 0;
  return Array.from({ length: CYCLE_YEARS * 12 }, (_, index) => {
    const [year, month] = [CYCLE_START + Math.floor(index / 12), (index % 12) + 1];
    const shape = { days: daysInMonth(year, month), firstWeekday: ((start + 6) % 7) + 1 };
    const found = { month, start, shape };
    start += shape.days;
    return found;
  });
}

function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function daySelector(daysOfMonth: string, weekdays: string): DaySelector {
  if ((daysOfMonth === '?') === (weekdays === '?'))
    throw new RangeError('"?" in one of the fields day-of-month and day-of-week, and a value in the other');
  return weekdays === '?' ? byDayOfMonth(daysOfMonth) : byWeekday(weekdays);
}

function byDayOfMonth(text: string): DaySelector {
  if (text === 'L') return ({ days }) => [days];
  const [, weekdayNear] = /^(\d{1,2})W$/.exec(text) ?? [];
  if (weekdayNear === undefined) {
    const selected = valuesOf(text, DAYS_OF_MONTH);
    return ({ days }) => selected.filter((day) => day <= days);
  }
  const near = Number(weekdayNear);
  if (near < 1 || near > SHORTEST_MONTH)
    throw new RangeError(
      `1W to ${SHORTEST_MONTH}W in the field day-of-month, which is "${text}": days of every month`,
    );
  return (month) => [nearestWeekday(near, month)];
}

const SHORTEST_MONTH = 28;

/** The weekday (Monday to Friday) nearest to a day, in the same month. */
function nearestWeekday(day: number, month: MonthShape): number {
  const isWorkday = (candidate: number) => {
    const weekday = weekdayOf(candidate, month);
    return candidate >= 1 && candidate <= month.days && weekday > 1 && weekday < 7;
  };
  return [day, day - 1, day + 1, day - 2, day + 2].find(isWorkday) ?? day;
}

function byWeekday(text: string): DaySelector {
  // Alone, L is the last day of the week.
  if (text === 'L') return onWeekdays([7]);
  const [, weekday, week] = /^(\w+)#([1-5])$/.exec(text) ?? [];
  const [, lastWeekday] = /^(\w+)L$/.exec(text) ?? [];
  const only = numberOf(weekday ?? lastWeekday ?? '', WEEKDAYS);
  if (only !== undefined) return (month) => onWeekdays([only])(month).slice(...placeIn(week));
  if (text.includes('/')) throw valuesRefused(text, WEEKDAYS);
  return onWeekdays(valuesOf(text, WEEKDAYS));
}

/** The bounds of a slice: the week so many, or the last one. */
function placeIn(week: string | undefined): [from: number, to?: number] {
  return week === undefined ? [-1] : [Number(week) - 1, Number(week)];
}

function onWeekdays(weekdays: readonly number[]): DaySelector {
  return (month) =>
    Array.from({ length: month.days }, (_, index) => index + 1).filter((day) =>
      weekdays.includes(weekdayOf(day, month)),
    );
}

function weekdayOf(day: number, { firstWeekday }: MonthShape): number {
  return ((firstWeekday + day + 5) % 7) + 1;
}

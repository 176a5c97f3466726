/*
 * Computes the longest gap between the starts of a cron expression of EventBridge Scheduler, and its next start. The
 * gap serves as a grace period, which needs no exactness over centuries. So it is the longest gap that begins within
 * 400 days, or within 60 starts if those reach further. `W`, `#`, `FRIL` and years are refused, because no report needs
 * them.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../days.ts';

/** A fixed day, so that the same settings always have the same grace period. */
const FIRST_DAY_MS = Date.UTC(2024, 0, 1);
const SEARCHED_DAYS = 400;
const SEARCHED_STARTS = 60;
/**
 * Sixty times 29 February, which 2100 and 2200 do not have. An expression without a start before this day never starts.
 */
const LAST_DAY_MS = Date.UTC(2274, 0, 1);

const MONTHS = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC';
const WEEKDAYS = 'SUN MON TUE WED THU FRI SAT';
/** By field: its values, names for the values from `min` on, and the forms for messages. */
const FIELDS = {
  minutes: { min: 0, max: 59, names: '', forms: '0 to 59 as *, 5, 5,35, 5-10 or 0/15' },
  hours: { min: 0, max: 23, names: '', forms: '0 to 23 as *, 6, 6,18, 8-20 or 0/6' },
  'day-of-month': { min: 1, max: 31, names: '', forms: '1 to 31 as *, 1, 1,15, 1-7, 1/7 or L' },
  month: { min: 1, max: 12, names: MONTHS, forms: '1 to 12 or JAN to DEC as *, 1, 1,7, JAN-MAR or 1/3' },
  'day-of-week': {
    min: 1,
    max: 7,
    names: WEEKDAYS,
    forms: '1 (SUN) to 7 (SAT) as *, MON, MON,THU or MON-FRI',
  },
};

/**
 * The longest time from one start to the next, in milliseconds, of `minutes hours day-of-month month day-of-week *`.
 * @throws RangeError whose message lists what is allowed instead
 */
export function longestCronGapMs(expression: string): number {
  const { times, isDay } = startsOf(expression);
  const days: number[] = [];
  for (let day = FIRST_DAY_MS; day < LAST_DAY_MS; day += DAY_MS) {
    if (!isDay(new Date(day))) continue;
    days.push(day);
    if (day > FIRST_DAY_MS + SEARCHED_DAYS * DAY_MS && days.length * times.length > SEARCHED_STARTS) break;
  }
  if (days.length === 0) throw new RangeError('a date that exists: this one never comes');
  const overnightMs = (times[0] ?? 0) - (times.at(-1) ?? 0);
  return Math.max(...gapsOf(times), ...gapsOf(days).map((gap) => gap + overnightMs));
}

/**
 * The first start after a time, both as wall time in the zone of the schedule.
 * @param wallMs the wall time as if it were UTC, so that no clock change matters
 */
export function nextCronStart(expression: string, wallMs: number): number | undefined {
  const { times, isDay } = startsOf(expression);
  const today = wallMs - (wallMs % DAY_MS);
  for (let day = today; day < today + (SEARCHED_DAYS + 1) * DAY_MS; day += DAY_MS) {
    const time = isDay(new Date(day)) ? times.find((each) => day + each > wallMs) : undefined;
    if (time !== undefined) return day + time;
  }
  return undefined;
}

/** The times of a day at which an expression starts, in milliseconds and ascending, and the days, by their UTC date. */
function startsOf(expression: string): { times: number[]; isDay: (day: Date) => boolean } {
  const [minutes = '', hours = '', dates = '', months = '', weekdays = '', ...years] = expression.split(' ');
  if (years.join(' ') !== '*')
    throw new RangeError('six fields: minutes, hours, day-of-month, month, day-of-week, and * as the year');
  const minutesOfHour = valuesOf(minutes, 'minutes');
  const times = valuesOf(hours, 'hours').flatMap((hour) =>
    minutesOfHour.map((minute) => hour * HOUR_MS + minute * MINUTE_MS),
  );
  const inMonths = valuesOf(months, 'month');
  const isSelected = daySelector(dates, weekdays);
  return { times, isDay: (day) => inMonths.includes(day.getUTCMonth() + 1) && isSelected(day) };
}

function gapsOf(ascending: readonly number[]): number[] {
  return ascending.slice(1).map((each, before) => each - (ascending[before] ?? 0));
}

function daySelector(dates: string, weekdays: string): (day: Date) => boolean {
  if ((dates === '?') === (weekdays === '?'))
    throw new RangeError('"?" in one of the fields day-of-month and day-of-week, and a value in the other');
  if (dates === 'L') return (day) => new Date(day.getTime() + DAY_MS).getUTCDate() === 1;
  const selected = dates === '?' ? valuesOf(weekdays, 'day-of-week') : valuesOf(dates, 'day-of-month');
  return (day) => selected.includes(dates === '?' ? day.getUTCDay() + 1 : day.getUTCDate());
}

/** The values of a list of numbers or names, ranges and steps, ascending: `*`, `5`, `1,15`, `MON-FRI`, `0/15`. */
function valuesOf(text: string, field: keyof typeof FIELDS): number[] {
  const { min, max, names, forms } = FIELDS[field];
  const numberOf = (word: string) => {
    const place = names.split(' ').indexOf(word);
    return place === -1 ? Number(word) : min + place;
  };
  const values = text.split(',').flatMap((part) => {
    const [matched, from, to, step] =
      /^(?:\*|(\d\d?|[A-Z]{3})(?:-(\d\d?|[A-Z]{3}))?)(?:\/(\d+))?$/.exec(part) ?? [];
    const first = from === undefined ? min : numberOf(from);
    const isOpen = to === undefined && (from === undefined || step !== undefined);
    const last = isOpen ? max : numberOf(to ?? from ?? '');
    const every = Number(step ?? 1);
    const isStep = every >= 1 && every <= max && (step === undefined || field !== 'day-of-week');
    if (matched === undefined || !(min <= first && first <= last && last <= max) || !isStep)
      throw new RangeError(`${forms} in the field ${field}, which is "${text}"`);
    return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, nth) => first + nth * every);
  });
  return [...new Set(values)].sort((a, b) => a - b);
}

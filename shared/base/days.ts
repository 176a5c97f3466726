// Days and months are texts, `YYYY-MM-DD` and `YYYY-MM`; instants are milliseconds since 1970.

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** 24 hours; a calendar day of a time zone may have 23 or 25. */
export const DAY_MS = 24 * HOUR_MS;
const formats = new Map<string, Intl.DateTimeFormat>();

function format(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formats.set(timeZone, made);
  return made;
}

/** The instant's local time in the zone, as milliseconds of the same local time in UTC. */
function wallTime(instantMs: number, timeZone: string): number {
  // Loading Intl takes a tenth of a second, and most lakes need no other zone.
  if (timeZone === 'UTC') return instantMs;
  const parts = Object.fromEntries(
    format(timeZone)
      .formatToParts(instantMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

export function dayOf(instantMs: number, timeZone: string): string {
  return new Date(wallTime(instantMs, timeZone)).toISOString().slice(0, 10);
}

/** The starts of days by zone: Intl needs several microseconds for one, and plans and states use the same days often. */
const starts = new Map<string, Map<string, number>>();

/** The first instant with the day's date: midnight, or later if the zone skips midnight. */
export function startOfDay(day: string, timeZone: string): number {
  const ofZone = starts.get(timeZone) ?? new Map<string, number>();
  starts.set(timeZone, ofZone);
  const start = ofZone.get(day) ?? firstInstantOf(day, timeZone);
  ofZone.set(day, start);
  return start;
}

/** It is midnight by an offset from UTC that the zone has near the day; if midnight comes twice, the first one. */
function firstInstantOf(day: string, timeZone: string): number {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const near = [-1.5, -0.5, 0.5, 1.5].map((days) => midnight + days * DAY_MS);
  const candidates = near.map((ms) => midnight - (wallTime(ms, timeZone) - ms));
  return Math.min(...candidates.filter((ms) => dayOf(ms, timeZone) >= day));
}

/** The first instant after the day, in milliseconds: the start of the next day. */
export function endOfDay(day: string, timeZone: string): number {
  return startOfDay(addDays(day, 1), timeZone);
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS);
}

/** All days from `from` to `to`, both included; no days if `from` is after `to`. */
export function daysFrom(from: string, to: string): string[] {
  return Array.from({ length: Math.max(0, daysBetween(from, to) + 1) }, (_, index) => addDays(from, index));
}

export function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

export function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** The months of all days from `from` to `to`, ascending; no months if `from` is after `to`. */
export function monthsFrom(from: string, to: string): string[] {
  const months: string[] = [];
  if (from > to) return months;
  for (let month = monthOf(from); month <= monthOf(to); month = addMonths(month, 1)) months.push(month);
  return months;
}

export function later(a: string, b: string): string {
  return a > b ? a : b;
}

export function addMonths(month: string, months: number): string {
  const first = new Date(`${month}-01T00:00:00Z`);
  first.setUTCMonth(first.getUTCMonth() + months);
  return first.toISOString().slice(0, 7);
}

export function daysOfMonth(month: string): string[] {
  return daysFrom(`${month}-01`, addDays(`${addMonths(month, 1)}-01`, -1));
}

/** Months, both ends included; a missing end is open. */
export interface MonthSpan {
  from?: string | undefined;
  to?: string | undefined;
}

/** The last `count` months, the current one in UTC included. */
export function lastMonths(count: number, nowMs: number): MonthSpan {
  return { from: addMonths(monthOf(dayOf(nowMs, 'UTC')), 1 - count) };
}

export function isInSpan(month: string, { from, to }: MonthSpan): boolean {
  return (from === undefined || month >= from) && (to === undefined || month <= to);
}

export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const instant = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(text);
}

/** `run` is 0; otherwise e.g. `90 minutes`, `6 hours`, `1 day`, in milliseconds. */
export function intervalMs(every: string): number {
  if (every === 'run') return 0;
  const [, count, unit] = /^(\d+) (minute|hour|day)s?$/.exec(every) ?? [];
  const unitMs = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS }[unit ?? ''];
  if (count === undefined || unitMs === undefined)
    throw new RangeError(`"${every}" is not an interval: use "run" or e.g. "6 hours", "1 day"`);
  return Number(count) * unitMs;
}

/** An instant in ISO 8601 for people: `2026-02-05 06:12 UTC`. */
export function instantText(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`;
}

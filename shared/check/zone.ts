/**
 * A report that is requested by date returns the records of a calendar day, so a record with an instant shows what that day
 * contains. A zone is proven if all zones that fit have the same days all year: London in winter does not prove UTC.
 */
import { addDays, dayOf, startOfDay } from '../base/days.ts';
import { exactInstant } from '../base/exact-values.ts';
import type { JsonObject } from '../base/json.ts';

/** The records that the service returned for one day: their earliest and latest time, in milliseconds. */
export interface SeenDay {
  day: string;
  firstMs: number;
  lastMs: number;
  /** Whether the midnight that ends the day was requested too. */
  withNextMidnight: boolean;
}

/** From records that were requested by date. */
export interface ZoneInSample {
  report: string;
  field: string;
  seen: SeenDay[];
  records: number;
  /** The zones in which every record belongs to the day for which it was returned. */
  fits: readonly string[];
  /** Whether all these zones have the same days, from half a year ago to half a year ahead. */
  isProven: boolean;
}

export function zoneEvidence({ records, report, field }: ZoneInSample): string {
  return `${records} records of ${report}, by their ${field}`;
}

const HALF_A_YEAR_DAYS = 183;

/** @param zones the candidates @param nowMs the middle of the year in which zones are compared */
export function proveTimeZone(seen: readonly SeenDay[], nowMs: number, zones: readonly string[]) {
  const fits = zones.filter((zone) => contradiction(zone, seen) === undefined);
  const [first] = fits;
  return { fits, isProven: first !== undefined && fits.every((zone) => hasSameDays(first, zone, nowMs)) };
}

/** A record's time (ms) that is not within its day in the zone; `undefined` if the zone fits. */
export function contradiction(
  zone: string,
  seen: readonly SeenDay[],
): { day: string; atMs: number } | undefined {
  for (const one of seen) {
    const atMs = [one.firstMs, one.lastMs].find((ms) => !isOfDay(zone, one, ms));
    if (atMs !== undefined) return { day: one.day, atMs };
  }
}

function isOfDay(zone: string, { day, withNextMidnight }: SeenDay, atMs: number): boolean {
  return dayOf(atMs, zone) === day || (withNextMidnight && atMs === startOfDay(addDays(day, 1), zone));
}

function hasSameDays(one: string, other: string, nowMs: number): boolean {
  const today = dayOf(nowMs, 'UTC');
  const days = Array.from({ length: 2 * HALF_A_YEAR_DAYS + 1 }, (_, index) => index - HALF_A_YEAR_DAYS);
  return days.every((ago) => {
    const day = addDays(today, ago);
    const startMs = startOfDay(day, one);
    // Computing the start of the day in the other zone would take five times as long.
    return dayOf(startMs, other) === day && dayOf(startMs - 1, other) < day;
  });
}

/** The first day on which the zones do not all begin together: its records distinguish some of them. */
export function decisiveDay(zones: readonly string[], days: readonly string[]): string | undefined {
  return days.find((day) => new Set(zones.map((zone) => startOfDay(day, zone))).size > 1);
}

export function shownZones(zones: readonly string[], beside: string): string {
  const others = zones.filter((zone) => zone !== beside);
  const more = others.length > 3 ? ` and ${others.length - 3} more` : '';
  return `${others.slice(0, 3).join(', ')}${more}`;
}

/** The times of records in this field, ascending, in milliseconds. */
export function timesOf(records: readonly JsonObject[], field: string): number[] {
  const times = records.map((record) => exactInstant(record[field] ?? null)?.getTime());
  return times.filter((ms) => ms !== undefined).sort((a, b) => a - b);
}

/** Days whose records may distinguish zones: some recent days, then two a month, because of the seasons. */
export function daysToMeasure(yesterday: string, oldest: string): string[] {
  const ago = [0, 1, 2, 3, ...Array.from({ length: 24 }, (_, index) => 15 * (index + 1))];
  return ago.map((days) => addDays(yesterday, -days)).filter((day) => day >= oldest);
}

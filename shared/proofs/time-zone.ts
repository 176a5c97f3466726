/**
 * Proves the time zone of a brand from its records. A report that is requested by date returns the records of a calendar
 * day, so a record whose time is an instant shows what that day contains. A zone is proven if every zone of the world that
 * fits the records has the same days all year: in winter London's records alone do not prove UTC.
 */
import { addDays, dayOf, startOfDay } from '../days.ts';
import { exactInstant } from '../exact-values.ts';
import type { Json, JsonObject } from '../json.ts';

/** What the service returned for one day: the earliest and the latest time of its records, in milliseconds. */
export interface SeenDay {
  day: string;
  firstMs: number;
  lastMs: number;
  /** Whether the midnight that ends the day was requested too. */
  withNextMidnight: boolean;
}

export interface ZoneProof {
  /** The zones in which every record is of the day for which it was returned. */
  fits: readonly string[];
  /** Whether all of these have the same days, half a year back and ahead. */
  isProven: boolean;
}

const HALF_A_YEAR_DAYS = 183;

/** @param zones the candidates @param nowMs the middle of the year in which zones are compared */
export function proveTimeZone(seen: readonly SeenDay[], nowMs: number, zones: readonly string[]): ZoneProof {
  const fits = zones.filter((zone) => seen.every((one) => fitsIn(zone, one)));
  const [first] = fits;
  return { fits, isProven: first !== undefined && fits.every((zone) => hasSameDays(first, zone, nowMs)) };
}

/** All zones that Node has, and those that are named. */
export function zonesWith(...named: readonly string[]): string[] {
  return [...new Set([...named, 'UTC', ...Intl.supportedValuesOf('timeZone')])];
}

/** The time (ms) of a record that is not of the day in the zone; `undefined` if the zone fits. */
export function contradiction(
  zone: string,
  seen: readonly SeenDay[],
): { day: string; atMs: number } | undefined {
  for (const one of seen) {
    const atMs = [one.firstMs, one.lastMs].find((ms) => !isOfDay(zone, one, ms));
    if (atMs !== undefined) return { day: one.day, atMs };
  }
}

function fitsIn(zone: string, seen: SeenDay): boolean {
  return isOfDay(zone, seen, seen.firstMs) && isOfDay(zone, seen, seen.lastMs);
}

function isOfDay(zone: string, { day, withNextMidnight }: SeenDay, atMs: number): boolean {
  return dayOf(atMs, zone) === day || (withNextMidnight && atMs === startOfDay(addDays(day, 1), zone));
}

function hasSameDays(one: string, other: string, nowMs: number): boolean {
  const today = dayOf(nowMs, 'UTC');
  const days = Array.from({ length: 2 * HALF_A_YEAR_DAYS + 1 }, (_, index) => index - HALF_A_YEAR_DAYS);
  // From the ends on: seasons, in which most zones differ, show at once.
  days.sort((a, b) => (Math.abs(b) % 61) - (Math.abs(a) % 61));
  return days.every((ago) => {
    const day = addDays(today, ago);
    const startMs = startOfDay(day, one);
    // To compute the other start too would take five times as long.
    return dayOf(startMs, other) === day && dayOf(startMs - 1, other) < day;
  });
}

/** The first of the days on which the zones do not all begin together: its records tell some of them apart. */
export function decisiveDay(zones: readonly string[], days: readonly string[]): string | undefined {
  return days.find((day) => new Set(zones.map((zone) => startOfDay(day, zone))).size > 1);
}

/** Of zones with the same days, the name that people know. */
const USUAL = [
  'UTC',
  'Europe/London',
  'Europe/Berlin',
  'Europe/Athens',
  'Europe/Moscow',
  'Asia/Dubai',
  'Asia/Kolkata',
]
  .concat([
    'Asia/Shanghai',
    'Asia/Singapore',
    'Asia/Tokyo',
    'Australia/Sydney',
    'Australia/Brisbane',
    'America/New_York',
  ])
  .concat([
    'America/Chicago',
    'America/Denver',
    'America/Phoenix',
    'America/Los_Angeles',
    'America/Sao_Paulo',
  ]);

/** Of zones with the same days, one by its usual name. */
export function usualName(zones: readonly string[]): string | undefined {
  return USUAL.find((zone) => zones.includes(zone)) ?? zones[0];
}

/** Some of the zones beside one. */
export function shownZones(zones: readonly string[], beside: string): string {
  const others = zones.filter((zone) => zone !== beside);
  const more = others.length > 3 ? ` and ${others.length - 3} more` : '';
  return `${others.slice(0, 3).join(', ')}${more}`;
}

/** Names of fields with the time of an order, or else of the record, in lower case without separators; the first ones decide. */
const CREATED = [
  'ordertime',
  'orderedat',
  'ordercreatedat',
  'ordercreatedtime',
  'ordercreatetime',
  'orderdate',
  'purchasetime',
]
  .concat(['purchasedate', 'transactiontime', 'transtime', 'transactiondate'])
  .concat(['createdtime', 'createtime', 'createdat', 'created', 'creationtime', 'datecreated']);

/** The field that has the time of each record: of a known name, and an instant wherever it has a value. */
export function timeField(records: readonly JsonObject[]): string | undefined {
  const names = [...new Set(records.flatMap(Object.keys))];
  const known = CREATED.flatMap((known) => names.filter((name) => plain(name) === known));
  return known.find((name) => {
    const values = records.map((record) => record[name]).filter(hasValue);
    return values.length > 0 && values.every((value) => instantIn(value) !== undefined);
  });
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

function hasValue(value: Json | undefined): value is Json {
  return value !== undefined && value !== null && value !== '';
}

/** Midnight of a date is no instant, because it has no zone. */
function instantIn(value: Json): number | undefined {
  return exactInstant(value)?.getTime();
}

/** The times of records in this field, ascending, in milliseconds. */
export function timesOf(records: readonly JsonObject[], field: string): number[] {
  const times = records
    .map((record) => record[field])
    .filter(hasValue)
    .map(instantIn);
  return times.filter((ms) => ms !== undefined).sort((a, b) => a - b);
}

/** The days in reach whose records may tell zones apart: some recent ones, then two a month, because of the seasons. */
export function daysToMeasure(yesterday: string, oldest: string): string[] {
  const ago = [0, 1, 2, 3, ...Array.from({ length: 24 }, (_, index) => 15 * (index + 1))];
  return ago.map((days) => addDays(yesterday, -days)).filter((day) => day >= oldest);
}

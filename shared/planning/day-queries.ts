import { hash } from 'node:crypto';
import { MINUTE_MS, addDays, dayOf, endOfDay, startOfDay } from '../base/days.ts';
import type { Slice, SlicePart } from '../lake/progress.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { LakeBrandSettings, ReportSettings } from '../settings/settings.ts';

export interface DayQuery {
  role: SlicePart['role'];
  fields: Record<string, string | number>;
}

/** The part of a day to read, in milliseconds; `whole` if it begins with the day. */
export type Window = Pick<Slice, 'fromMs' | 'toMs' | 'whole'>;

/**
 * The queries of a part of a day. The interface does not document whether a range includes its end
 * (docs/explanation/interface.md, sections 4.1, 4.3, 4.4 and 4.5). Together the queries return exactly the day's
 * records in both cases (I1).
 */
export function dayQueries(
  report: ReportDefinition,
  brand: LakeBrandSettings,
  settings: ReportSettings,
  day: string,
  window: Window,
): DayQuery[] {
  const { filters } = settings;
  switch (report.day.by) {
    case 'upstream':
      return [{ role: 'include', fields: filters }];
    case 'created': {
      const fields = { ...filters, ...timestampFields(brand, window.fromMs, window.toMs) };
      return [{ role: 'include', fields }];
    }
    case 'timestamps':
      return timestampQueries(brand, day, window, filters);
    case 'dates':
      return dateQueries(brand, day, filters);
  }
}

function timestampQueries(
  brand: LakeBrandSettings,
  day: string,
  { fromMs, toMs }: Window,
  filters: DayQuery['fields'],
): DayQuery[] {
  const query = (role: DayQuery['role'], startMs: number, endMs: number): DayQuery => ({
    role,
    fields: { ...filters, ...timestampFields(brand, startMs, endMs) },
  });
  const whole = query('include', fromMs, toMs);
  if (toMs < endOfDay(day, brand.timeZone)) return [whole];
  if (brand.endTime === 'auto') return [whole, query('exclude', toMs, toMs)];
  // The service refuses a query of the end alone. Records of that instant are in both ranges that meet there. The range
  // across both restores records that are in each range only because they have equal content.
  const [before, after] = [toMs - unitMs(brand), toMs + unitMs(brand)];
  const ends = [query('exclude', before, toMs), query('exclude', toMs, after)];
  return [whole, ...ends, query('restore', before, after)];
}

function dateQueries(brand: LakeBrandSettings, day: string, filters: DayQuery['fields']): DayQuery[] {
  const next = addDays(day, 1);
  if (brand.endDate === 'whole_day')
    return [{ role: 'include', fields: { ...filters, ...dateFields(day, day) } }];
  return [
    { role: 'include', fields: { ...filters, ...dateFields(day, next) } },
    { role: 'exclude', fields: { ...filters, ...dateFields(next, next) } },
  ];
}

/** Days as the interface writes them: `YYYYMMDD`, both included. */
export function dateFields(from: string, to: string) {
  return { start_date: from.replaceAll('-', ''), end_date: to.replaceAll('-', '') };
}

/** Instants (ms) as the interface writes them, in the unit of the settings. */
export function timestampFields(brand: LakeBrandSettings, fromMs: number, toMs: number) {
  return { start_time: Math.floor(fromMs / unitMs(brand)), end_time: Math.floor(toMs / unitMs(brand)) };
}

function unitMs(brand: LakeBrandSettings): number {
  return brand.timestampUnit === 'seconds' ? 1000 : 1;
}

/**
 * The part of a day to read now: from `lateMinutes` before `sinceMs` on, or from the start of the day. If `sinceMs` is
 * in the future, a clock that was ahead recorded it, and the day is read from its start.
 */
export function windowToRead(
  brand: LakeBrandSettings,
  day: string,
  nowMs: number,
  sinceMs: number | undefined,
): Window {
  const startMs = startOfDay(day, brand.timeZone);
  const open = dayOf(nowMs, brand.timeZone) === day;
  const toMs = open ? nowMs : endOfDay(day, brand.timeZone);
  if (!open || sinceMs === undefined || sinceMs > nowMs) return { fromMs: startMs, toMs, whole: true };
  const fromMs = Math.max(startMs, sinceMs - brand.lateMinutes * MINUTE_MS);
  return { fromMs, toMs, whole: fromMs === startMs };
}

/** Fingerprint of the queries except the day. A day whose reading had another fingerprint is read again. */
export function queryFingerprint(
  report: ReportDefinition,
  brand: LakeBrandSettings,
  settings: ReportSettings,
): string {
  const byDay = {
    created: [brand.timestampUnit],
    timestamps: [brand.timestampUnit, brand.endTime, brand.firstPage],
    dates: [brand.endDate],
    upstream: [],
  }[report.day.by];
  const parts = [
    report.action,
    brand.timeZone,
    Object.entries(settings.filters).sort(([a], [b]) => (a < b ? -1 : 1)),
    byDay,
    settings.key ?? null,
  ];
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 16);
}

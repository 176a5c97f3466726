import { hash } from 'node:crypto';
import { addDays, dayOf, endOfDay, startOfDay } from '../days.ts';
import type { Slice } from '../lake/documents/progress.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';

/** The action's fields that ask for a part of a day, and whether its records are the day's or taken from it. */
export interface Ask {
  role: 'keep' | 'less';
  fields: Record<string, string | number>;
}

export type Window = Pick<Slice, 'fromMs' | 'toMs' | 'whole'>;

/**
 * What to ask for a window of a day, so that every reading of the open points of the interface gives exactly
 * the day's records (sections 4.1, 4.3, 4.4 and 4.5; the end of a range is not documented).
 */
export function asksFor(
  report: ReportDefinition,
  brand: BrandSettings,
  settings: ReportSettings,
  day: string,
  window: Window,
): Ask[] {
  const { filters } = settings;
  switch (report.day.by) {
    case 'parent':
      return [{ role: 'keep', fields: filters }];
    case 'created':
      return [{ role: 'keep', fields: { ...filters, ...timestamps(brand, window.fromMs, window.toMs) } }];
    case 'timestamps':
      return rangeAsks(brand, day, window, filters);
    case 'dates':
      return dateAsks(brand, day, filters);
  }
}

function rangeAsks(
  brand: BrandSettings,
  day: string,
  { fromMs, toMs }: Window,
  filters: Ask['fields'],
): Ask[] {
  const ends = toMs >= endOfDay(day, brand.timeZone);
  const lastMs = brand.endTime === 'inclusive' && ends ? toMs - unitMs(brand) : toMs;
  const asks: Ask[] = [{ role: 'keep', fields: { ...filters, ...timestamps(brand, fromMs, lastMs) } }];
  if (ends && brand.endTime === 'auto')
    asks.push({ role: 'less', fields: { ...filters, ...timestamps(brand, toMs, toMs) } });
  return asks;
}

function dateAsks(brand: BrandSettings, day: string, filters: Ask['fields']): Ask[] {
  const next = addDays(day, 1);
  if (brand.endDate === 'whole_day') return [{ role: 'keep', fields: { ...filters, ...dates(day, day) } }];
  return [
    { role: 'keep', fields: { ...filters, ...dates(day, next) } },
    { role: 'less', fields: { ...filters, ...dates(next, next) } },
  ];
}

export function dates(from: string, to: string): { start_date: string; end_date: string } {
  return { start_date: from.replaceAll('-', ''), end_date: to.replaceAll('-', '') };
}

export function timestamps(
  brand: BrandSettings,
  fromMs: number,
  toMs: number,
): { start_time: number; end_time: number } {
  return { start_time: Math.floor(fromMs / unitMs(brand)), end_time: Math.floor(toMs / unitMs(brand)) };
}

function unitMs(brand: BrandSettings): number {
  return brand.timestampUnit === 'seconds' ? 1000 : 1;
}

/** The window that a reading of the day covers now: what came since `sinceMs`, or the day from its beginning. */
export function windowOf(
  brand: BrandSettings,
  day: string,
  nowMs: number,
  sinceMs: number | undefined,
): Window {
  const startMs = startOfDay(day, brand.timeZone);
  const open = dayOf(nowMs, brand.timeZone) === day;
  const toMs = open ? nowMs : endOfDay(day, brand.timeZone);
  if (!open || sinceMs === undefined) return { fromMs: startMs, toMs, whole: true };
  const fromMs = Math.max(startMs, Math.min(sinceMs, nowMs) - brand.lateMinutes * 60_000);
  return { fromMs, toMs, whole: fromMs === startMs };
}

/** Fingerprint of what is asked, the day aside: a day read under another one is read again. */
export function askedFingerprint(
  report: ReportDefinition,
  brand: BrandSettings,
  settings: ReportSettings,
): string {
  const byDay = {
    created: [brand.timestampUnit],
    timestamps: [brand.timestampUnit, brand.endTime, brand.firstPage],
    dates: [brand.endDate],
    parent: [],
  }[report.day.by];
  const asked = [
    report.action,
    brand.timeZone,
    Object.entries(settings.filters).sort(([a], [b]) => (a < b ? -1 : 1)),
    byDay,
    settings.key ?? null,
  ];
  return hash('sha256', JSON.stringify(asked), 'hex').slice(0, 16);
}

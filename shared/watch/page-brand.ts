import { type MonthSpan, dayOf, isInSpan, monthOf } from '../base/days.ts';
import type { DayFacts } from '../day/day-facts.ts';
import { type SettingsNote, hashOfSettings } from '../lake/brand-settings.ts';
import type { Close } from '../lake/close.ts';
import type { Settings } from '../settings/settings.ts';
import { amountText, counted, exactNumber } from '../base/exact-number.ts';
import type { Problem } from './problems.ts';
import type { Controls } from './remedies.ts';
import type { TableStatus } from './table-statuses.ts';

export interface CalendarOptions {
  settings: Settings;
  nowMs: number;
  controls: Controls;
  /** The months of the calendar; problems are shown of all months. */
  span?: MonthSpan;
  /** Of all brands; missing: there are none. */
  closes?: readonly Close[];
  /** Where the lake has other settings; missing: nowhere. */
  notes?: readonly SettingsNote[];
}

export interface PageBrand {
  name: string;
  /** Missing if the settings do not have the brand. */
  zone: string | undefined;
  today: string;
  nowMs: number;
  tables: readonly TableStatus[];
  /** The hash of its settings. */
  settings: string | undefined;
  /** The newest first. */
  closes: readonly Close[];
  problems: readonly Problem[];
  notes: readonly string[];
  /** An instant as `2026-11-20 06:02` in the zone. */
  at: (iso: string) => string;
  /** The same for a due time, which may be in the past. */
  due: (iso: string) => string;
}

export function pageBrands(tables: readonly TableStatus[], options: CalendarOptions): PageBrand[] {
  const byBrand = [...Map.groupBy(tables, ({ brand }) => brand)];
  return byBrand.map(([name, own]) => pageBrand(name, own, options));
}

function pageBrand(
  name: string,
  tables: readonly TableStatus[],
  { settings, nowMs, span = {}, closes = [], notes = [] }: CalendarOptions,
): PageBrand {
  const zone = settings.brands[name]?.timeZone;
  const today = dayOf(nowMs, zone ?? 'UTC');
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone ?? 'UTC',
    dateStyle: 'short',
    timeStyle: 'short',
  });
  const at = (iso: string) => format.format(Date.parse(iso));
  const due = (iso: string) => (Date.parse(iso) <= nowMs ? 'at the next run' : at(iso));
  const own = closes.filter(({ brand }) => brand === name).toReversed();
  const noted = notes.flatMap(({ brand, text }) => (brand === name ? [text] : []));
  const problems = tables.flatMap((table) => table.problems);
  const shown = tables.map((table) => ({
    ...table,
    days: table.days.filter(({ dt }) => isInSpan(monthOf(dt), span)),
  }));
  const given = settings.brands[name];
  return {
    ...{ name, zone, today, nowMs, tables: shown, closes: own, problems, notes: noted, at, due },
    settings: given && hashOfSettings(given),
  };
}

/** The sums of a day, by role and currency: `commission EUR` → `12.50`. */
export function totalsOf({ totals = {} }: DayFacts): Map<string, string> {
  const byCurrency = Object.entries(totals).flatMap(([currency, sums]) =>
    Object.entries(sums).map(([role, total]) => [`${role} ${currency}`.trim(), total] as const),
  );
  return new Map(byCurrency);
}

/** Instead of sums of other fields than the settings name now. */
export const PENDING = 'after the next reading';

/** The page must not grow beyond 500 kB: the rest is in `coverage`. */
const MAX_DAY_TEXT = 320;

/** The facts of a day besides its state, one fact a line. */
export function dayLines(day: DayFacts, { at, due }: PageBrand): string[] {
  const { rows, readFrom, nextDue, failure, findings = [] } = day;
  const sums = day.totalsPending
    ? [`sums: ${PENDING}`]
    : [...totalsOf(day)].map(([of, sum]) => `${of} ${amountText(sum)}`);
  const lines = [
    ...(rows === null ? [] : [counted(rows, 'row'), ...sums]),
    ...changesText(day, at),
    ...findings.map(({ title, detail }) => `${title}: ${detail}`),
    ...(readFrom === null ? [] : [`last read ${at(readFrom)}`]),
    ...(failure
      ? [`${failure.since === undefined ? 'failed' : `failing since ${at(failure.since)}`}: ${failure.code}`]
      : []),
    ...(nextDue === null ? [] : [`next due ${due(nextDue)}`]),
  ];
  const text = lines.join('\n');
  return text.length <= MAX_DAY_TEXT ? lines : `${text.slice(0, MAX_DAY_TEXT)}…`.split('\n');
}

/** The changes since the day was closed, e.g. `changed 2 times, last 2026-11-10 01:02: 1 added, 3 altered of 12 rows`. */
function changesText({ changes }: DayFacts, at: (iso: string) => string): string[] {
  if (!changes) return [];
  const { times, last } = changes;
  const often = times === 1 ? 'changed once,' : `changed ${exactNumber(times)} times, last`;
  const parts = (['added', 'removed', 'altered'] as const).flatMap((what) =>
    last[what] === undefined || last[what] === 0 ? [] : [`${exactNumber(last[what])} ${what}`],
  );
  const what = parts.length === 0 ? '' : `: ${parts.join(', ')} of ${exactNumber(last.rowsBefore)}`;
  return [`${often} ${at(last.at)}${what}`];
}

/** Describes days for an assistant: which are missing from an answer, which are odd, which changed, and as of when. */
import { addDays, dayOf, daysFrom } from '../../shared/days.ts';
import { type DayFacts, dayFacts, reportDaysIn } from '../../shared/day-facts.ts';
import type { ReportLedgers } from '../../shared/lake/documents/read.ts';
import { DAY_STATES, isComplete } from '../../shared/planning/day-state.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { LOOKS, type Look, lookOf } from '../../shared/status/looks.ts';
import { dayRanges } from '../../shared/status/problems.ts';
import { tableStatuses } from '../../shared/status/table-statuses.ts';
import { counted, rangesText } from '../../shared/watcher/index.ts';
import { enumerated } from '../sql-versions.ts';

/** A day of a report that the lake has, or should have. */
export interface LakeDay extends DayFacts {
  brand: string;
  report: string;
  table: string;
  look: Look;
}

/**
 * Every day that the settings expect, and whatever else is in the lake. A report that the settings do not have is expected from
 * its first day to its last one, or to yesterday if there are no settings at all.
 */
export function lakeDays(
  ledgers: readonly ReportLedgers[],
  settings: Settings | undefined,
  nowMs: number,
): LakeDay[] {
  return tableStatuses(settings, reports, ledgers, nowMs).flatMap(
    ({ brand, report, table, days, schedule }) => {
      const today = dayOf(nowMs, settings?.brands[brand]?.timeZone ?? 'UTC');
      const [first = today, last = ''] = [days.at(0)?.dt, days.at(-1)?.dt];
      const { [report]: definition } = reports;
      const known = new Map(days.map((day) => [day.dt, day]));
      const to = settings ? last : ([last, addDays(today, -1)].sort().at(-1) ?? last);
      return (schedule === undefined ? daysFrom(first, to) : [...known.keys()]).flatMap((dt) => {
        if (!definition) return [];
        const of = reportDaysIn(ledgers, { brand, report: definition, policy: undefined });
        const facts = known.get(dt) ?? dayFacts(dt, of, nowMs);
        return [{ ...facts, brand, report, table, look: lookOf(facts, today) }];
      });
    },
  );
}

const MAX_GROUPS = 40;
const MAX_RANGES = 50;
const URGENCY: readonly string[] = [...Object.keys(DAY_STATES), 'to_come'];

/** Days of a table for which the same is true. */
export interface DayGroup {
  brand: string;
  table: string;
  what: string;
  days: number;
  ranges: { from: string; to: string }[];
  text: string;
}

/** The days by brand, table and what is said of them, as many groups as an answer may have. @param detailOf in brackets */
export function grouped<Day extends LakeDay>(
  days: readonly Day[],
  whatOf: (day: Day) => string,
  detailOf: (same: readonly Day[]) => string = () => '',
): DayGroup[] {
  const groups = Map.groupBy(days, (day) => JSON.stringify([day.brand, day.table, whatOf(day)]));
  return [...groups.values()].slice(0, MAX_GROUPS).flatMap((same) =>
    same.slice(0, 1).map((day) => {
      const { brand, table } = day;
      const [what, detail, ranges] = [whatOf(day), detailOf(same), dayRanges(same).slice(0, MAX_RANGES)];
      const text = `- ${brand} ${table}: ${what} on ${counted(same)}: ${rangesText(same)}${detail && ` (${detail})`}`;
      return { brand, table, what, days: same.length, ranges, text };
    }),
  );
}

/** The state of days by brand and table, the most urgent first. */
export function statesOf(days: readonly LakeDay[]): DayGroup[] {
  const urgent = days.toSorted((a, b) => URGENCY.indexOf(a.look) - URGENCY.indexOf(b.look));
  const messages = (same: readonly LakeDay[]) => [
    ...new Set(same.flatMap(({ failure }) => failure?.message ?? [])),
  ];
  return grouped(
    urgent,
    ({ look }) => LOOKS[look].name,
    (same) => enumerated(messages(same)),
  );
}

/** What an answer says of its days: lines of text, and the same as data. */
export function notesOf(days: readonly LakeDay[], nowMs: number) {
  const incomplete = statesOf(days.filter(({ look }) => look === 'to_come' || !isComplete(look)));
  const findings = grouped(
    days.flatMap((day) => (day.findings ?? []).map((finding) => ({ ...day, finding }))),
    ({ finding }) => finding.title,
    (same) => enumerated(same.map(({ dt, finding }) => `${dt}: ${finding.detail}`)),
  );
  const newestOf = (times: readonly (string | null | undefined)[]) =>
    times
      .flatMap((time) => time ?? [])
      .sort()
      .at(-1);
  const restated = grouped(
    days.filter(({ changes }) => changes !== undefined),
    () => 'changed after it was closed',
    (same) => `last change ${newestOf(same.map(({ changes }) => changes?.last.at))}`,
  );
  const state = days.length === 0 ? 'no_days' : incomplete.length > 0 ? 'incomplete' : 'complete';
  const [asOf, newestReading] = [
    new Date(nowMs).toISOString(),
    newestOf(days.map(({ readFrom }) => readFrom)),
  ];
  const section = (title: string, groups: readonly DayGroup[]) =>
    groups.length === 0 ? [] : [title, ...groups.map(({ text }) => text)];
  const lines = [
    ...(state === 'incomplete' ? [] : [HEADS[state]]),
    ...section('INCOMPLETE: days that this answer lacks, or has as they were earlier.', incomplete),
    ...section('FINDINGS: days that are odd.', findings),
    ...section('RESTATED: days that later readings changed.', restated),
    `AS OF ${asOf}.${newestReading ? ` The newest reading of these days began ${newestReading}.` : ''}`,
  ];
  return { lines, data: { state, asOf, newestReading, incomplete, findings, restated } };
}

const HEADS = {
  no_days: 'NO DAYS: this answer reads no day of a report.',
  complete: 'COMPLETE: each day that this answer reads was read whole after its end.',
};

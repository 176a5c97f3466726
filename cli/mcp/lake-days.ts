/** Describes days for an assistant: which are missing from an answer, which are odd, which changed, and as of when. */
import { type DayFacts, missingDay } from '../../shared/day-facts.ts';
import { addDays, dayOf, daysFrom } from '../../shared/days.ts';
import type { ReportLedgers } from '../../shared/lake/documents/read.ts';
import { DAY_STATES, isComplete } from '../../shared/planning/day-state.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { LOOKS, type Look, lookOf } from '../../shared/status/looks.ts';
import { dayRanges } from '../../shared/status/problems.ts';
import { tableStatuses } from '../../shared/status/table-statuses.ts';
import { counted, rangesText } from '../../shared/watcher/index.ts';
import { withRunnableCommands } from '../printed-command.ts';
import { enumerated } from '../sql-versions.ts';

/** A day of a report that the lake has, or should have. */
export type LakeDay = DayFacts & { brand: string; report: string; table: string; look: Look };

/**
 * Every day that the settings expect, and whatever else is in the lake. A report that the settings do not have is expected from
 * its first day to its last one, or to yesterday if there are no settings at all.
 */
export function lakeDays(lake: readonly ReportLedgers[], settings: Settings | undefined, nowMs: number) {
  return tableStatuses(settings, reports, lake, nowMs).flatMap(({ days, schedule, brand, report, table }) => {
    const today = dayOf(nowMs, settings?.brands[brand]?.timeZone ?? 'UTC');
    const known = new Map(days.map((day) => [day.dt, day]));
    const [first = today, last = ''] = [days.at(0)?.dt, days.at(-1)?.dt];
    const yesterday = addDays(today, -1);
    const to = settings || last > yesterday ? last : yesterday;
    const expected = schedule === undefined && last !== '' ? daysFrom(first, to) : [...known.keys()];
    return expected.map((dt): LakeDay => {
      const facts = known.get(dt) ?? missingDay(dt);
      return { ...facts, brand, report, table, look: lookOf(facts, today) };
    });
  });
}

/** An answer has so many groups of days of each kind, and so many ranges of each group. */
const MAX_GROUPS = 40;
const MAX_RANGES = 50;
const URGENCY: readonly string[] = [...Object.keys(DAY_STATES), 'to_come'];

/** What an answer says of its days: lines of text, and the same as data. */
export function notesOf(days: readonly LakeDay[], nowMs: number) {
  const urgent = days.toSorted((a, b) => URGENCY.indexOf(a.look) - URGENCY.indexOf(b.look));
  const incomplete = grouped(
    urgent.filter(({ look }) => look === 'to_come' || !isComplete(look)),
    ({ look }) => LOOKS[look].name,
    (same) =>
      enumerated([
        ...new Set(same.flatMap(({ failure }) => (failure ? withRunnableCommands(failure.message) : []))),
      ]),
  );
  const findings = grouped(
    days.flatMap((day) => (day.findings ?? []).map((finding) => ({ ...day, finding }))),
    ({ finding }) => finding.title,
    (same) => enumerated(same.map(({ dt, finding }) => `${dt}: ${finding.detail}`)),
  );
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
  const lines = [
    HEADS[state],
    ...incomplete.map(({ text }) => text),
    ...(findings.length > 0 ? ['FINDINGS: days that are odd.', ...findings.map(({ text }) => text)] : []),
    ...(restated.length > 0
      ? ['RESTATED: days that changed later.', ...restated.map(({ text }) => text)]
      : []),
    `AS OF ${asOf}.${newestReading ? ` The newest reading of these days began ${newestReading}.` : ''}`,
  ];
  return { lines, data: { state, asOf, newestReading, incomplete, findings, restated } };
}

const HEADS = {
  no_days: 'NO DAYS: this answer reads no day of a report.',
  incomplete: 'INCOMPLETE: days that this answer lacks, or has as they were earlier.',
  complete: 'COMPLETE: each day that this answer reads was read whole after its end.',
};

function newestOf(times: readonly (string | null | undefined)[]): string | undefined {
  return times
    .flatMap((time) => time ?? [])
    .reduce<string | undefined>((a = '', b) => (a > b ? a : b), undefined);
}

/** The days by brand, table and what is said of them. @param detailOf in brackets */
function grouped<Day extends LakeDay>(
  days: readonly Day[],
  whatOf: (day: Day) => string,
  detailOf: (same: readonly Day[]) => string,
) {
  const groups = [
    ...Map.groupBy(days, (day) => JSON.stringify([day.brand, day.table, whatOf(day)])).values(),
  ];
  const shown = groups.slice(0, MAX_GROUPS).flatMap((same) =>
    same.slice(0, 1).map((day) => {
      const [what, detail, ranges] = [whatOf(day), detailOf(same), dayRanges(same).slice(0, MAX_RANGES)];
      const text = `- ${day.brand} ${day.table}: ${what} on ${counted(same)}: ${rangesText(same)}${detail && ` (${detail})`}`;
      return { brand: day.brand, table: day.table, what, days: same.length, ranges, text };
    }),
  );
  const more = groups.length - shown.length;
  const text = `- and ${more} more of these groups: ask for one brand or table`;
  return more > 0 ? [...shown, { brand: '', table: '', what: 'more', days: 0, ranges: [], text }] : shown;
}

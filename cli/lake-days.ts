import { type DayFacts, missingDay } from '../shared/day/day-facts.ts';
import { addDays, dayOf, daysFrom } from '../shared/base/days.ts';
import { listed } from '../shared/findings/index.ts';
import type { ReportLedgers } from '../shared/lake/read.ts';
import { isComplete } from '../shared/planning/day-state.ts';
import { reports } from '../shared/reports/index.ts';
import type { LakeSettings } from '../shared/settings/settings.ts';
import { CELL_KINDS, type CellKind, cellKindOf } from '../shared/watch/cell-kinds.ts';
import { tableStatuses } from '../shared/watch/table-statuses.ts';
import { counted } from '../shared/base/exact-number.ts';
import { rangesText } from '../shared/watch/problems.ts';
import { withRunnableCommands } from './printed-command.ts';

export type LakeDay = DayFacts & { brand: string; report: string; table: string; kind: CellKind };

/** A report without settings is expected from its first to its last day, or to yesterday if there are no settings at all. */
export function lakeDays(lake: readonly ReportLedgers[], settings: LakeSettings | undefined, nowMs: number) {
  return tableStatuses(settings, reports, lake, nowMs).flatMap(({ days, every, ...of }) => {
    const { brand, report, table } = of;
    const today = dayOf(nowMs, settings?.brands[brand]?.timeZone ?? 'UTC');
    const known = new Map(days.map((day) => [day.dt, day]));
    const dts = [...known.keys(), ...(settings ? [] : [addDays(today, -1)])].sort();
    const expected = every === undefined ? daysFrom(dts[0] ?? today, dts.at(-1) ?? '') : dts;
    return expected.map((dt): LakeDay => {
      const facts = known.get(dt) ?? missingDay(dt);
      return { ...facts, brand, report, table, kind: cellKindOf(facts, today) };
    });
  });
}

const INCOMPLETE = 'INCOMPLETE: days that this answer lacks, or contains in an older state.';
const COMPLETE = 'COMPLETE: each day of this answer was read whole after its end.';

type Fact = readonly [day: LakeDay, what: string, detail: string | undefined];

/** The lines at the head of an answer that reads these days. */
export function notesOf(days: readonly LakeDay[], nowMs: number): string[] {
  const lacking = days.filter(({ kind }) => kind === 'to_come' || !isComplete(kind));
  const why = ({ failure }: LakeDay) => failure && withRunnableCommands(failure.message);
  const incomplete = linesOf(lacking.map((day): Fact => [day, CELL_KINDS[day.kind].name, why(day)]));
  const findings = days.flatMap((day) =>
    (day.findings ?? []).map(({ title, detail }): Fact => [day, title, `${day.dt}: ${detail}`]),
  );
  const restated = days.flatMap((day): Fact[] =>
    day.changes
      ? [[day, 'changed after it was closed', `${day.dt}: last change ${day.changes.last.at}`]]
      : [],
  );
  const read = days.length > 0 ? COMPLETE : 'NO DAYS: this answer uses no day of a report.';
  // A table has no days before its first day, so without the range a sum over such days would look whole.
  const tables = Map.groupBy(days, ({ brand, table }) => `${brand} ${table}`);
  const ranges = Map.groupBy(tables, ([, own]) => rangesText(own));
  const used = [...ranges].map(([range, of]) => `${range} of ${listed(of.map(([name]) => name))}`);
  const newest = days.flatMap(({ readFrom }) => readFrom ?? []).reduce((a, b) => (a > b ? a : b), '');
  return [
    ...(incomplete.length > 0 ? [INCOMPLETE, ...incomplete] : [read]),
    ...(used.length > 0 ? [`DAYS: ${listed(used)}`] : []),
    ...(findings.length > 0 ? ['FINDINGS: days with findings.', ...linesOf(findings)] : []),
    ...(restated.length > 0 ? ['RESTATED: days that changed later.', ...linesOf(restated)] : []),
    `AS OF ${new Date(nowMs).toISOString()}.${newest && ` The newest reading of these days began ${newest}.`}`,
  ];
}

function linesOf(facts: readonly Fact[]): string[] {
  const groups = Map.groupBy(facts, ([{ brand, table }, what]) => `- ${brand} ${table}: ${what}`);
  return [...groups].map(([head, same]) => {
    const days = same.map(([day]) => day);
    const details = listed([...new Set(same.flatMap(([, , detail]) => detail ?? []))]);
    return `${head} on ${counted(days.length, 'day')}: ${rangesText(days)}${details && ` (${details})`}`;
  });
}

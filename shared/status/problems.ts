import { addDays, earlier } from '../days.ts';
import type { DayFacts } from '../day-facts.ts';
import { PROBLEM_STATES, type ProblemState, isComplete } from '../planning/day-state.ts';
import { isToCome } from './cell-kinds.ts';
import type { TableStatus } from './table-statuses.ts';

export interface Problem {
  state: ProblemState;
  table: TableStatus;
  days: DayFacts[];
}

/** The problems of a brand's tables: by state, then by table, then by message. */
export function problemsOf(tables: readonly TableStatus[], today: string): Problem[] {
  return PROBLEM_STATES.flatMap((state) =>
    tables.flatMap((table) => {
      const days = table.days.filter((day) => day.state === state && !isToCome(day, today));
      const alike = Map.groupBy(days, ({ failure }) => failure?.message);
      return [...alike.values()].map((days) => ({ state, table, days }));
    }),
  );
}

/** The last day up to which every day of all the tables is complete; `undefined` if no such day exists. */
export function completeThrough(tables: readonly TableStatus[]): string | undefined {
  return tables
    .map(tableCompleteThrough)
    .reduce((a, b) => (a === undefined || b === undefined ? undefined : earlier(a, b)));
}

function tableCompleteThrough({ days }: TableStatus): string | undefined {
  const firstOther = days.findIndex(({ state }) => state !== 'erased' && !isComplete(state));
  return (firstOther === -1 ? days.at(-1) : days[firstOther - 1])?.dt;
}

/** `2 days` */
export function counted(days: readonly unknown[]): string {
  return days.length === 1 ? '1 day' : `${days.length} days`;
}

const MAX_RANGES = 4;

/** `2026-11-01 to 2026-11-03, 2026-11-07`. @param most so many ranges, and the number of the others */
export function rangesText(days: readonly Pick<DayFacts, 'dt'>[], most = MAX_RANGES): string {
  const ranges = dayRanges(days).map(rangeText);
  const rest = ranges.length - most;
  return [...ranges.slice(0, most), ...(rest > 0 ? [`${rest} more ranges`] : [])].join(', ');
}

interface DayRange {
  from: string;
  to: string;
}

export function rangeText({ from, to }: DayRange): string {
  return from === to ? from : `${from} to ${to}`;
}

export function dayRanges(days: readonly Pick<DayFacts, 'dt'>[]): DayRange[] {
  const ranges: DayRange[] = [];
  for (const { dt } of days) {
    const last = ranges.at(-1);
    if (last && addDays(last.to, 1) === dt) last.to = dt;
    else ranges.push({ from: dt, to: dt });
  }
  return ranges;
}

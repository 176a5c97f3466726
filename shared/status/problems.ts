import { addDays, earlier } from '../days.ts';
import type { DayStatus, StatusDay } from './day-status.ts';
import type { TableStatus } from './table-statuses.ts';

export type ProblemState = Extract<DayStatus, 'failed' | 'missing' | 'stale' | 'unproven' | 'in_progress'>;

/** Days of one table that need somebody, or time, for the same reason. */
export interface Problem {
  status: ProblemState;
  table: TableStatus;
  /** In order. */
  days: StatusDay[];
}

/** What needs somebody first comes first. */
const STATUSES: readonly ProblemState[] = ['failed', 'missing', 'stale', 'unproven', 'in_progress'];

/** What is the matter with a brand's tables. */
export function problemsOf(tables: readonly TableStatus[], today: string): Problem[] {
  return STATUSES.flatMap((status) =>
    tables.flatMap((table) => {
      const days = table.days.filter((day) => day.status === status && !isToCome(day, today));
      const alike = Map.groupBy(days, ({ failure }) => failure?.message);
      return [...alike.values()].map((days) => ({ status, table, days }));
    }),
  );
}

/** Whether the day's turn has not come, or is now: nobody has to do anything. */
export function isToCome({ dt, status }: StatusDay, today: string): boolean {
  return dt >= today && (status === 'missing' || status === 'in_progress');
}

/** The last day up to which all of the tables have all of their days, closed; `undefined` where there is none. */
export function completeThrough(tables: readonly TableStatus[]): string | undefined {
  return tables
    .map(throughOf)
    .reduce((a, b) => (a === undefined || b === undefined ? undefined : earlier(a, b)));
}

function throughOf({ days }: TableStatus): string | undefined {
  const broken = days.findIndex(({ status }) => status !== 'complete' && status !== 'settled');
  return (broken === -1 ? days.at(-1) : days[broken - 1])?.dt;
}

/** Days in order, as ranges without a gap. */
export function dayRanges(days: readonly StatusDay[]): { from: string; to: string }[] {
  const ranges: { from: string; to: string }[] = [];
  for (const { dt } of days) {
    const last = ranges.at(-1);
    if (last && addDays(last.to, 1) === dt) last.to = dt;
    else ranges.push({ from: dt, to: dt });
  }
  return ranges;
}

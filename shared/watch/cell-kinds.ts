import type { DayFacts } from '../day/day-facts.ts';
import type { DayState } from '../planning/day-state.ts';

export type CellKind = DayState | 'to_come';

/** The name and meaning of each kind of cell, from final to incomplete; then the kinds that need action. */
export const CELL_KINDS: Record<CellKind, { name: string; meaning: string }> = {
  settled: { name: 'settled', meaning: 'complete, and can change no more' },
  complete: { name: 'complete', meaning: 'read whole after the day ended' },
  open: { name: 'open', meaning: 'read up to now; the day is not over' },
  erased: { name: 'erased', meaning: 'a person has erased it; no run reads it' },
  in_progress: { name: 'in progress', meaning: 'a run has begun to read it' },
  to_come: { name: 'to come', meaning: 'today, not read yet' },
  overdue: { name: 'overdue', meaning: 'should have been read again by now' },
  unverified: { name: 'unverified', meaning: 'empty, and the report has never returned a record' },
  missing: { name: 'missing', meaning: 'not read' },
  failed: { name: 'failed', meaning: 'the last attempt failed' },
};

/** The kind of a day's cell. @param today in the brand's time zone */
export function cellKindOf(day: DayFacts, today: string): CellKind {
  return day.state === 'missing' && isToCome(day, today) ? 'to_come' : day.state;
}

/** Whether the day is not expected to have data yet: it is not over and has not been read. */
export function isToCome({ dt, state }: DayFacts, today: string): boolean {
  return dt >= today && (state === 'missing' || state === 'in_progress');
}

import type { DayState } from '../planning/day-state.ts';
import type { StatusDay } from './day-status.ts';

/** What a cell shows: the state of its day, or that there is nothing to expect of the day yet. */
export type Look = DayState | 'to_come';

/** What a reader sees of each look, from hardly there to there for good; then what needs somebody. */
export const LOOKS: Record<Look, { name: string; meaning: string }> = {
  settled: { name: 'settled', meaning: 'complete, and can change no more' },
  complete: { name: 'complete', meaning: 'read whole after the day ended' },
  open: { name: 'open', meaning: 'read up to now; the day is not over' },
  in_progress: { name: 'in progress', meaning: 'a run has begun to read it' },
  to_come: { name: 'to come', meaning: 'today, not read yet' },
  overdue: { name: 'overdue', meaning: 'should have been read again by now' },
  unverified: { name: 'unverified', meaning: 'empty, and the report has never returned a record' },
  missing: { name: 'missing', meaning: 'not read' },
  failed: { name: 'failed', meaning: 'the last attempt failed' },
};

export function lookOf(day: StatusDay, today: string): Look {
  return day.state === 'missing' && isToCome(day, today) ? 'to_come' : day.state;
}

/** Whether nobody has to do anything about the day: it has not been read yet, and it is not over. */
export function isToCome({ dt, state }: StatusDay, today: string): boolean {
  return dt >= today && (state === 'missing' || state === 'in_progress');
}

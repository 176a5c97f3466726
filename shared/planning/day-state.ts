/*
 * Without one place that decides the state of a day, Athena would call a day complete that the calendar calls overdue,
 * and the alarm would have a third opinion. These rules decide it from the ledger's entry, the policy and the time, and
 * `day-facts.ts` applies them. They build on `due.ts` (when a day is due). What a run did with a day is something else:
 * `DayOutcome.outcome`.
 */
import { startOfDay } from '../days.ts';
import type { Committed, DayEntry, Failure } from '../lake/documents/ledger.ts';
import { type Policy, type UpstreamState, dueAtMs } from './due.ts';

/**
 * Every state that a day can have, and what it means for the reader: the day needs action or time (`problem`), or it is
 * `complete`. Problems are in the order of urgency. The words are those of SQL, command line, page and alarms.
 */
export const DAY_STATES = {
  /** The last attempt failed, whatever was committed before it. */
  failed: 'problem',
  /** Nothing is committed, and no run has begun to read it. */
  missing: 'problem',
  /** Committed, but due again for longer than the grace period. */
  overdue: 'problem',
  /** Empty, and the report has never returned a record; or nobody knows since a repair whether it is whole. */
  unverified: 'problem',
  /** Nothing is committed yet; a run is reading the day, or will resume it. */
  in_progress: 'problem',
  /** A person has erased it; no run reads it. */
  erased: 'none',
  /** Read up to a time; the day was not over then. */
  open: 'none',
  /** Read whole after the day's end; its records may still be restated. */
  complete: 'complete',
  /** Complete, and its records can change no more. */
  settled: 'complete',
} as const;

/** One of the states above. */
export type DayState = keyof typeof DAY_STATES;

/** The states that need action, or time. */
export type ProblemState = {
  [State in DayState]: (typeof DAY_STATES)[State] extends 'problem' ? State : never;
}[DayState];

const ALL_STATES = Object.keys(DAY_STATES).filter(isDayState);
/** In the order of urgency. */
export const PROBLEM_STATES = ALL_STATES.filter(isProblem);
export const COMPLETE_STATES = ALL_STATES.filter(isComplete);

function isDayState(state: string): state is DayState {
  return Object.hasOwn(DAY_STATES, state);
}

function isProblem(state: DayState): state is ProblemState {
  return DAY_STATES[state] === 'problem';
}

/** A list of states for SQL. */
export function statesSql(states: readonly DayState[]): string {
  return states.map((state) => `'${state}'`).join(', ');
}

/** What a committed version is, whatever happened since. */
export type CommittedState = Extract<DayState, 'open' | 'complete' | 'settled' | 'unverified'>;

/** Whether a day of this state was read whole after its end, and nothing is wrong with it. */
export function isComplete(state: DayState | null): boolean {
  return state !== null && DAY_STATES[state] === 'complete';
}

/** What the state of a day follows from, in addition to the time. */
export interface KnownDay {
  /** `YYYY-MM-DD` */
  day: string;
  entry: DayEntry | undefined;
  /** Missing where the settings do not have the brand or report: then no day is due, and none is overdue. */
  policy: Policy | undefined;
  /** Whether the report has ever returned a record. */
  hasReturnedRecords: boolean;
  /** For a report with an upstream: what is committed of the same day of the upstream report. */
  upstream?: UpstreamState | undefined;
}

/**
 * Whether a version of the day is there, or is to be: no run reads a day before the start date. What the ledger says of a
 * day that has not begun comes from a clock that was ahead.
 */
export function isExpected(
  { day, entry, policy }: Pick<KnownDay, 'day' | 'entry' | 'policy'>,
  nowMs: number,
): boolean {
  if (!policy) return true;
  if (startOfDay(day, policy.timeZone) > nowMs) return false;
  return entry?.committed !== undefined || day >= policy.startDate;
}

/** Why the day failed. Of a day before the start date, what is committed is all there will be. */
export function failureOf({ day, entry, policy }: KnownDay): Failure | undefined {
  return policy && day < policy.startDate ? undefined : entry?.failure;
}

/**
 * What the committed snapshot holds, whatever happened since. A failed or overdue refresh does not change that a day was
 * read whole: "newest complete day" means the newest one whose committed state is complete.
 */
export function committedState(committed: Committed, hasReturnedRecords: boolean): CommittedState {
  const { state, timeZone, rows } = committed;
  if ((rows === 0 && !hasReturnedRecords) || (state === 'unconfirmed' && timeZone === undefined))
    return 'unverified';
  if (state === 'open' || state === 'settled') return state;
  return 'complete';
}

/**
 * When the day becomes overdue unless it is read before, in milliseconds; `null` for never: it can change no more, or
 * its state already says what is wrong with it (`missing`, `in_progress`, `failed`, `unverified`).
 */
export function overdueAtMs(
  { day, entry, policy, hasReturnedRecords, upstream }: KnownDay,
  nowMs: number,
): number | null {
  if (!policy || !entry?.committed || entry.failure) return null;
  if (committedState(entry.committed, hasReturnedRecords) === 'unverified') return null;
  // A claim makes a day due immediately, but does not say for how long it has been due. Nor does a reading that another
  // one has to confirm: after a backfill that is every day.
  const { committed, disregarded } = entry;
  const idle: DayEntry = {
    ...(disregarded && { disregarded }),
    committed: committed.state === 'unconfirmed' ? { ...committed, state: 'closed' } : committed,
  };
  const dueMs = dueAtMs(day, idle, policy, nowMs, upstream);
  if (dueMs === null) return null;
  const { readFrom, upstreamDigest, committedAt } = committed;
  const changedAtMs = upstream && upstream.digest !== upstreamDigest ? Date.parse(upstream.readFrom) : 0;
  // A reading may have begun long before the run that went on with it and committed it.
  const committedMs = Date.parse(committedAt ?? readFrom);
  const newestMs = Math.max(Date.parse(readFrom), committedMs > nowMs ? 0 : committedMs);
  return Math.max(dueMs, newestMs, changedAtMs) + gracePeriodMs(policy);
}

const GRACE_INTERVALS = 2;

/** How long after it is due a day becomes overdue: two intervals of the schedule, so that one run may fail. */
export function gracePeriodMs({ maxGapMs }: Pick<Policy, 'maxGapMs'>): number {
  return GRACE_INTERVALS * maxGapMs;
}

/*
 * Decides the state of a day from its ledger entry, the policy and the time. `day-facts.ts` applies these rules to all
 * days, and they build on `due.ts` (when a day is due). If Athena, the status page and the alarms had rules of their
 * own, the same day could be complete in one of them and overdue in another. What a run did with a day is another
 * value, `DayOutcome.outcome`.
 */
import { startOfDay } from '../base/days.ts';
import type { Committed, DayEntry, Failure } from '../lake/ledger.ts';
import { type Policy, type UpstreamState, dueAtMs } from './due.ts';

/**
 * Every state that a day can have, and its meaning: the day needs action or time (`problem`), it is `complete`, or
 * neither (`none`). Problems are in the order of urgency. SQL, command line, status page and alarms use the same words.
 */
export const DAY_STATES = {
  /** The last attempt failed, even if an earlier one was committed. */
  failed: 'problem',
  /** Nothing is committed, and no run has begun to read it. */
  missing: 'problem',
  /** Committed, but due again for longer than the grace period. */
  overdue: 'problem',
  /** Empty, and the report has never returned a record; or its ledger was made from snapshots, which do not prove that the day is whole. */
  unverified: 'problem',
  /** Nothing is committed yet; a run is reading the day, or will resume it. */
  in_progress: 'problem',
  /** A person has erased it; no run reads it. */
  erased: 'none',
  /** Read before the day was over, up to a stated time. */
  open: 'none',
  /** Read whole after the day's end; its records may still be restated. */
  complete: 'complete',
  /** Complete, and its records can no longer change. */
  settled: 'complete',
} as const;

export type DayState = keyof typeof DAY_STATES;

export type ProblemState = {
  [State in DayState]: (typeof DAY_STATES)[State] extends 'problem' ? State : never;
}[DayState];

const ALL_STATES = Object.keys(DAY_STATES).filter(isDayState);
export const PROBLEM_STATES = ALL_STATES.filter(isProblem);
export const COMPLETE_STATES = ALL_STATES.filter(isComplete);

function isDayState(state: string): state is DayState {
  return Object.hasOwn(DAY_STATES, state);
}

function isProblem(state: DayState): state is ProblemState {
  return DAY_STATES[state] === 'problem';
}

export function statesSql(states: readonly DayState[]): string {
  return states.map((state) => `'${state}'`).join(', ');
}

export type CommittedState = Extract<DayState, 'open' | 'complete' | 'settled' | 'unverified'>;

/** Read whole after the day's end, and nothing is wrong with it. */
export function isComplete(state: DayState | null): boolean {
  return state !== null && DAY_STATES[state] === 'complete';
}

export interface KnownDay {
  day: string;
  entry: DayEntry | undefined;
  /** Missing if the settings do not have the brand or report: then no day is due or overdue. */
  policy: Policy | undefined;
  hasReturnedRecords: boolean;
  upstream?: UpstreamState | undefined;
}

/**
 * Whether the day has a version or should have one: no run reads a day before the start date, and an empty version from
 * before the service's first record is not a complete day. If the ledger has an entry of a day that has not begun, a
 * clock that was ahead wrote it.
 */
export function isExpected(
  { day, entry, policy }: Pick<KnownDay, 'day' | 'entry' | 'policy'>,
  nowMs: number,
): boolean {
  if (!policy) return true;
  if (startOfDay(day, policy.timeZone) > nowMs) return false;
  return (entry?.committed?.rows ?? 0) > 0 || day >= policy.startDate;
}

/** Why the day failed. No run reads a day before the start date again, so a failure of such a day does not count. */
export function failureOf({ day, entry, policy }: KnownDay): Failure | undefined {
  return policy && day < policy.startDate ? undefined : entry?.failure;
}

/**
 * The state of the committed version, whatever happened to the day since. A day that was read whole stays complete even
 * if a refresh fails or is overdue: the "newest complete day" is the newest day whose committed state is complete.
 */
export function committedState(committed: Committed, hasReturnedRecords: boolean): CommittedState {
  const { state, timeZone, rows } = committed;
  if ((rows === 0 && !hasReturnedRecords) || (state === 'unconfirmed' && timeZone === undefined))
    return 'unverified';
  if (state === 'open' || state === 'settled') return state;
  return 'complete';
}

/**
 * When the day becomes overdue unless a run reads it before, in milliseconds. `null` for never: the day can no longer
 * change, or its state already names the problem (`missing`, `in_progress`, `failed`, `unverified`).
 */
export function overdueAtMs(
  { day, entry, policy, hasReturnedRecords, upstream }: KnownDay,
  nowMs: number,
): number | null {
  if (!policy || !entry?.committed || entry.failure) return null;
  if (committedState(entry.committed, hasReturnedRecords) === 'unverified') return null;
  // A claim, or a reading that another one has to confirm, makes a day due immediately but does not show for how long
  // the day has been due. After a backfill every day waits for such a confirmation.
  const { committed, disregarded } = entry;
  const idle: DayEntry = {
    ...(disregarded && { disregarded }),
    committed: committed.state === 'unconfirmed' ? { ...committed, state: 'closed' } : committed,
  };
  const dueMs = dueAtMs(day, idle, policy, nowMs, upstream);
  if (dueMs === null) return null;
  const { readFrom, upstreamDigest, committedAt } = committed;
  const changedAtMs = upstream && upstream.digest !== upstreamDigest ? Date.parse(upstream.readFrom) : 0;
  // A reading may have begun long before the run that resumed and committed it.
  const committedMs = Date.parse(committedAt ?? readFrom);
  const newestMs = Math.max(Date.parse(readFrom), committedMs > nowMs ? 0 : committedMs);
  return Math.max(dueMs, newestMs, changedAtMs) + gracePeriodMs(policy);
}

const GRACE_INTERVALS = 2;

/** A day becomes overdue this long after it is due: two intervals of the schedule, so that one run may fail. */
export function gracePeriodMs({ maxGapMs }: Pick<Policy, 'maxGapMs'>): number {
  return GRACE_INTERVALS * maxGapMs;
}

/*
 * Decides from the ledger entry and the policy when a day is due, when it may be closed (I2) and which reading is its
 * last one. The refresh policy is a promise (I11): a day is re-read as often as `refresh` requires for its age, and
 * after `refresh` ends every 14 days while a record can still change. A settled day is never due, whatever the settings
 * are. Everything is pure.
 */
import {
  MINUTE_MS,
  addDays,
  dayOf,
  daysBetween,
  daysOfMonth,
  endOfDay,
  intervalMs,
  startOfDay,
} from '../base/days.ts';
import {
  type Committed,
  type DayEntry,
  type Failure,
  type Ledger,
  isClosedForLookups,
} from '../lake/ledger.ts';
import { type StateRules, mayChange } from './states.ts';
import type { RefreshTier } from '../reports/definition.ts';

export interface Policy extends StateRules {
  timeZone: string;
  startDate: string;
  lateMinutes: number;
  refresh: readonly RefreshTier[];
  queryFingerprint: string;
  /** The least time between two readings of a day, the setting `every`; 0: every run reads the due days. */
  everyMs: number;
  /** The longest time between two readings that the schedule and `every` allow: a day that waits longer has a problem. */
  maxGapMs: number;
}

/** The committed version of a day of the upstream report. */
export interface UpstreamState {
  digest: string;
  closed: boolean;
  readFrom: string;
}

/** Returns the state by day; `undefined` if the upstream report has no version of the day. */
export type UpstreamDay = (day: string) => UpstreamState | undefined;

export function upstreamState(entry: DayEntry | undefined): UpstreamState | undefined {
  const { committed } = entry ?? {};
  if (!committed) return undefined;
  return {
    digest: committed.digest,
    closed: isClosedForLookups(committed),
    readFrom: committed.readFrom,
  };
}

/** A day is due a little early: otherwise an hourly schedule would read a daily day an hour later each day. */
function slackMs(everyMs: number): number {
  return Math.min(everyMs / 10, 30 * MINUTE_MS);
}

/** I2: when an ended day may be closed: a reading that begins at this time or later includes the late records. */
export function closesAtMs(day: string, policy: Policy): number {
  return endOfDay(day, policy.timeZone) + policy.lateMinutes * MINUTE_MS;
}

/** When the day is next due, in milliseconds; `null` if it is settled, erased or before the start date. */
export function dueAtMs(
  day: string,
  entry: DayEntry | undefined,
  policy: Policy,
  nowMs: number,
  upstream?: UpstreamState,
): number | null {
  if (day < policy.startDate || entry?.erasedAt !== undefined) return null;
  const startedMs = startOfDay(day, policy.timeZone);
  if (entry?.failure) return Math.max(startedMs, retryAtMs(entry.failure, policy, nowMs));
  const readMs = readDueAtMs({ day, startedMs }, entry ?? {}, policy, nowMs, upstream);
  const lookupMs = entry?.claim?.attempt !== undefined ? null : refusedDueAtMs(entry?.committed);
  return readMs === null || lookupMs === null ? (readMs ?? lookupMs) : Math.min(readMs, lookupMs);
}

function refusedDueAtMs(committed: Committed | undefined): number | null {
  const { retryAt } = committed?.refusedLookups ?? {};
  return retryAt === undefined ? null : Date.parse(retryAt);
}

/** When the day, or the next slice of an open day, is due. Refused lookups and failures do not count here. */
function readDueAtMs(
  { day, startedMs }: { day: string; startedMs: number },
  { committed, claim, disregarded }: DayEntry,
  policy: Policy,
  nowMs: number,
  upstream?: UpstreamState,
): number | null {
  if (!committed || claim?.attempt !== undefined) return startedMs;
  const last = lastRequested(committed, disregarded);
  if (upstream && upstream.digest !== last.upstreamDigest) return startedMs;
  const requestedAtMs = Date.parse(last.at);
  const { everyMs } = policy;
  const byPolicyMs = () => {
    if (last.queryFingerprint !== policy.queryFingerprint) return startedMs;
    const age = daysBetween(day, dayOf(nowMs, policy.timeZone));
    return refreshAtMs(day, requestedAtMs, policy, tiersOf(policy, committed), age);
  };
  switch (committed.state) {
    case 'settled':
      return null;
    case 'open':
      if (upstream && !upstream.closed) return null;
      // A reading of the whole day had fewer records.
      if (disregarded && requestedAtMs >= closesAtMs(day, policy)) return byPolicyMs();
      if (everyMs === 0) return startedMs;
      // `every` does not delay the reading that closes the day.
      return Math.max(
        startedMs,
        Math.min(requestedAtMs + everyMs - slackMs(everyMs), closesAtMs(day, policy)),
      );
    case 'unconfirmed':
      // I11: the next run reads it again, whatever its age.
      return requestedAtMs;
    case 'closed':
      // A day with refused lookups is not re-read because of them: they are repeated at times of their own.
      if (committed.refusedLookups?.retryAt && isLast(day, policy, requestedAtMs, committed)) return null;
      return byPolicyMs();
  }
}

export function lastRequested(
  { readFrom: at, queryFingerprint, upstreamDigest }: Committed,
  disregarded: DayEntry['disregarded'],
): { at: string; queryFingerprint: string; upstreamDigest?: string | undefined } {
  return disregarded ?? { at, queryFingerprint, upstreamDigest };
}

type StateCounts = Pick<Committed, 'rows' | 'values'>;

/** After `refresh` ends, a day with a record that can still change is re-read this often. */
const WATCHED_EVERY = '14 days';
/** Disputes and payments of an order end within a year. A longer one is no reason to read its day forever. */
export const WATCHED_UNTIL_AGE_DAYS = 400;

function tiersOf(policy: Policy, counts: StateCounts): readonly RefreshTier[] {
  const { refresh } = policy;
  if (!mayChange(counts, policy) || WATCHED_UNTIL_AGE_DAYS <= daysOf(refresh)) return refresh;
  const last = refresh.at(-1)?.every ?? 'run';
  const every = intervalMs(last) > intervalMs(WATCHED_EVERY) ? last : WATCHED_EVERY;
  return [...refresh, { untilAgeDays: WATCHED_UNTIL_AGE_DAYS, every }];
}

function daysOf(tiers: readonly RefreshTier[]): number {
  return tiers.at(-1)?.untilAgeDays ?? 0;
}

/** When a failed day's backoff ends: immediately if the settings have changed the queries since the failure. */
function retryAtMs(failure: Failure, policy: Policy, nowMs: number): number {
  const { retryAt, queryFingerprint } = failure;
  const isCorrected = queryFingerprint !== undefined && queryFingerprint !== policy.queryFingerprint;
  return isCorrected ? nowMs : Date.parse(retryAt);
}

/** When the day is due by the first tier that applies from `age` on. After the last tier, one more reading is due. */
function refreshAtMs(
  day: string,
  readFromMs: number,
  policy: Policy,
  tiers: readonly RefreshTier[],
  age: number,
): number {
  const dueAfter = (every: string) => {
    const everyMs = Math.max(intervalMs(every), policy.everyMs);
    return readFromMs + everyMs - slackMs(everyMs);
  };
  const lastMs = lastCallMs(day, policy, tiers);
  let fromMs = readFromMs;
  for (const { untilAgeDays, every } of tiers.filter((tier) => tier.untilAgeDays >= age)) {
    const endMs = startOfDay(addDays(day, untilAgeDays + 1), policy.timeZone);
    const dueMs = Math.max(fromMs, dueAfter(every));
    if (dueMs < endMs) return dueMs;
    fromMs = endMs;
  }
  return readFromMs < lastMs ? lastMs : dueAfter(tiers.at(-1)?.every ?? 'run');
}

function lastCallMs(day: string, { timeZone }: Policy, tiers: readonly RefreshTier[]): number {
  return startOfDay(addDays(day, daysOf(tiers) + 1), timeZone);
}

/** I11: whether a reading that begins at this time and finds these rows is the last one that the policy requires. */
export function isLast(day: string, policy: Policy, readFromMs: number, counts: StateCounts): boolean {
  return readFromMs >= Math.max(lastCallMs(day, policy, tiersOf(policy, counts)), closesAtMs(day, policy));
}

/** Whether `refresh` has ended for the age of the day, whatever the states of its records. */
export function isAfterRefresh(day: string, policy: Policy, readFromMs: number): boolean {
  return readFromMs >= Math.max(lastCallMs(day, policy, policy.refresh), closesAtMs(day, policy));
}

/**
 * The earliest time at which a day of the month is due; `null` if no day will be due.
 * @param upstream for a report with an upstream: the upstream report's ledger of the month; only its committed days can
 * be due
 */
export function monthDueAtMs(
  month: string,
  ledger: Pick<Ledger, 'days'>,
  policy: Policy,
  nowMs: number,
  upstream?: Pick<Ledger, 'days'>,
): number | null {
  const due = daysOfMonth(month)
    .filter((day) => !upstream || upstream.days[day]?.committed)
    .map((day) => dueAtMs(day, ledger.days[day], policy, nowMs, upstreamState(upstream?.days[day])))
    .filter((at) => at !== null);
  return due.length > 0 ? Math.min(...due) : null;
}

/*
 * Without due times a day would be read again for ever, or only once. This file decides from the ledger's entry and the
 * policy when a day is due, when it may be closed (I2) and which reading is its last one. The refresh policy is a promise:
 * a day is read again as often as `refresh` says for its age, and while a record can still change every 14 days after it
 * (I11). A settled day is never due, whatever the settings are. Everything is pure; `plan.ts` orders what is due,
 * `transitions.ts` says what a reading makes of a day, and `day-state.ts` says what has been due for too long.
 */
import {
  DAY_MS,
  MINUTE_MS,
  addDays,
  dayOf,
  daysBetween,
  daysOfMonth,
  endOfDay,
  intervalMs,
  startOfDay,
} from '../days.ts';
import { isFuture } from '../lake/documents/cas-document.ts';
import {
  type Committed,
  type DayEntry,
  type Failure,
  type Ledger,
  isClosedForLookups,
} from '../lake/documents/ledger.ts';
import type { RoleFields } from '../roles/index.ts';
import type { RefreshTier } from '../reports/definition.ts';

/** What decides when a day of a report is due, and when it is overdue. */
export interface Policy {
  timeZone: string;
  startDate: string;
  lateMinutes: number;
  refresh: readonly RefreshTier[];
  /** Fingerprint of the states in which a record changes no more; missing where records have none. */
  statesFingerprint?: string;
  /** Up to which age a day is read again while a record of it can still change, where that is longer than `refresh`. */
  watchUnsettledDays: number;
  /** Fingerprint of the queries that the settings now lead to. */
  queryFingerprint: string;
  pagesAreSnapshot: boolean;
  /** The longest time between two starts of the schedule: what is due waits no longer, unless something is wrong. */
  maxGapMs: number;
  /** By how many percent rows or their sum may fall from one reading of a day to the next, before people are told. */
  fallPercent: number;
  /** The setting `fields`: by role its field. */
  fields: RoleFields;
  /** By a word of the service, the state that it stands for. */
  words: Readonly<Record<string, string>>;
}

/** What is committed of a day of the upstream report. */
export interface UpstreamState {
  digest: string;
  closed: boolean;
  /** When it was read, ISO 8601. */
  readFrom: string;
}

/** The same by day; `undefined` where that report has nothing of the day. */
export type UpstreamDay = (day: string) => UpstreamState | undefined;

/** What a lookup needs to know of the ledger entry of its upstream day. */
export function upstreamState(entry: DayEntry | undefined): UpstreamState | undefined {
  const { committed } = entry ?? {};
  if (!committed || isFuture(committed)) return undefined;
  return {
    digest: committed.digest,
    closed: isClosedForLookups(committed),
    readFrom: committed.readFrom,
  };
}

/** Due a little early: otherwise an hourly schedule reads a day that is due "every day" an hour later each day. */
function slackMs(everyMs: number): number {
  return Math.min(everyMs / 10, 30 * MINUTE_MS);
}

/** I2: when an ended day may be closed: a pass that begins from then on has the late records as well. */
export function closesAtMs(day: string, policy: Policy): number {
  return endOfDay(day, policy.timeZone) + policy.lateMinutes * MINUTE_MS;
}

/**
 * When the day is next due, in milliseconds; `null` if it is settled, or lies before the start date. It depends only on the ledger's entry, the policy and the time. A reading that a clock ahead has dated in the
 * future counts as missing.
 */
export function dueAtMs(
  day: string,
  entry: DayEntry | undefined,
  policy: Policy,
  nowMs: number,
  upstream?: UpstreamState,
): number | null {
  if (day < policy.startDate || entry?.erasedAt !== undefined) return null;
  if (entry?.failure)
    return Math.max(startOfDay(day, policy.timeZone), retryAtMs(entry.failure, policy, nowMs));
  const passMs = passDueAtMs(day, entry ?? {}, policy, nowMs, upstream);
  const lookupMs = entry?.claim?.attempt !== undefined ? null : refusedDueAtMs(entry?.committed);
  return passMs === null || lookupMs === null ? (passMs ?? lookupMs) : Math.min(passMs, lookupMs);
}

/** Whether nothing of the day is due but lookups that the service refused, even if the last try of them failed. */
export function onlyRefusedDue(
  day: string,
  { committed }: DayEntry,
  policy: Policy,
  nowMs: number,
  upstream?: UpstreamState,
): boolean {
  const lookupMs = refusedDueAtMs(committed);
  if (!committed || lookupMs === null || lookupMs > nowMs) return false;
  const passMs = passDueAtMs(day, { committed }, policy, nowMs, upstream);
  return passMs === null || passMs > nowMs;
}

/** When the first lookup without a record is repeated: at once if a clock that was ahead began its wait. */
function refusedDueAtMs(committed: Committed | undefined): number | null {
  const { readFrom, refusedLookups } = committed ?? {};
  if (readFrom === undefined || refusedLookups?.retryAt === undefined) return null;
  return Date.parse(isFuture(refusedLookups) ? readFrom : refusedLookups.retryAt);
}

/** When the whole day is due, or what came since; refused lookups and failures aside. */
function passDueAtMs(
  day: string,
  { committed, claim, disregarded }: DayEntry,
  policy: Policy,
  nowMs: number,
  upstream?: UpstreamState,
): number | null {
  const started = startOfDay(day, policy.timeZone);
  if (!committed || isFuture(committed) || claim?.attempt !== undefined) return started;
  const asked = lastRequested(committed, disregarded);
  if (upstream && upstream.digest !== asked.upstreamDigest) return started;
  const requestedAtMs = Date.parse(committed.readFrom);
  switch (committed.state) {
    case 'settled':
      return null;
    case 'open':
      if (upstream && !upstream.closed) return null;
      // A reading that was disregarded lacked its records: the next one may not.
      return disregarded ? Date.parse(disregarded.at) + DAY_MS : started;
    case 'unconfirmed':
      // I11: the next run reads it again, whatever its age.
      return requestedAtMs;
    case 'closed': {
      // Nothing is read for the sake of lookups that are tried again by their own times.
      if (committed.refusedLookups?.retryAt && isLast(day, policy, requestedAtMs, committed)) return null;
      if (asked.queryFingerprint !== policy.queryFingerprint) return started;
      const age = daysBetween(day, dayOf(nowMs, policy.timeZone));
      return refreshAtMs(day, Date.parse(asked.at), policy, tiersOf(policy, committed), age);
    }
  }
}

/** When the service was asked last, and for what: a reading that was disregarded counts as well. */
export function lastRequested(
  { readFrom: at, queryFingerprint, upstreamDigest }: Committed,
  disregarded: DayEntry['disregarded'],
): { at: string; queryFingerprint: string; upstreamDigest?: string | undefined } {
  return disregarded ?? { at, queryFingerprint, upstreamDigest };
}

/** How many rows of the day are in which state, as its last reading counted them. */
type StateCounts = Partial<Pick<Committed, 'rows' | 'unsettled'>>;

/** Whether a record may still change, by its state: also where the rows were counted by other states. */
function isUnsettled({ rows = 0, unsettled }: StateCounts, policy: Policy): boolean {
  if (policy.statesFingerprint === undefined) return false;
  return unsettled?.states === policy.statesFingerprint ? rows > 0 && unsettled.rows > 0 : true;
}

/** After `refresh` a day with a record that can still change is read so often, up to `watchUnsettledDays`. */
const WATCHED_EVERY = '14 days';

/** How often the day is read again: as the refresh policy says, and more seldom after it while records can change. */
function tiersOf(policy: Policy, counts: StateCounts): readonly RefreshTier[] {
  const { refresh, watchUnsettledDays } = policy;
  if (!isUnsettled(counts, policy) || watchUnsettledDays <= daysOf(refresh)) return refresh;
  const last = refresh.at(-1)?.every ?? 'run';
  const every = intervalMs(last) > intervalMs(WATCHED_EVERY) ? last : WATCHED_EVERY;
  return [...refresh, { untilAgeDays: watchUnsettledDays, every }];
}

/** The age, in days, up to which the tiers have a day read again. */
function daysOf(tiers: readonly RefreshTier[]): number {
  return tiers.at(-1)?.untilAgeDays ?? 0;
}

/** When a failed day's backoff ends. It does not hold where the settings lead to other queries since. */
function retryAtMs(failure: Failure, policy: Policy, nowMs: number): number {
  const { retryAt, queryFingerprint } = failure;
  const isCorrected = queryFingerprint !== undefined && queryFingerprint !== policy.queryFingerprint;
  return isCorrected || isFuture(failure) ? nowMs : Date.parse(retryAt);
}

/**
 * When the first of the tiers that apply from `age` on makes the day due again; after the last tier one
 * more read is due, which must begin after that tier's end.
 */
function refreshAtMs(
  day: string,
  readFromMs: number,
  policy: Policy,
  tiers: readonly RefreshTier[],
  age: number,
): number {
  const dueAfter = (every: string) => readFromMs + intervalMs(every) - slackMs(intervalMs(every));
  let fromMs = readFromMs;
  for (const { untilAgeDays, every } of tiers.filter((tier) => tier.untilAgeDays >= age)) {
    const endMs = startOfDay(addDays(day, untilAgeDays + 1), policy.timeZone);
    const dueMs = Math.max(fromMs, dueAfter(every));
    if (dueMs < endMs) return dueMs;
    fromMs = endMs;
  }
  const lastMs = lastCallMs(day, policy, tiers);
  return readFromMs < lastMs ? lastMs : dueAfter(tiers.at(-1)?.every ?? 'run');
}

/** When the last tier ends: after that one last read is due, and no more. */
function lastCallMs(day: string, { timeZone }: Policy, tiers: readonly RefreshTier[]): number {
  return startOfDay(addDays(day, daysOf(tiers) + 1), timeZone);
}

/** I11: whether the policy asks for no reading after one that begins at this time and finds so many rows in each state. */
export function isLast(day: string, policy: Policy, readFromMs: number, counts: StateCounts): boolean {
  return readFromMs >= Math.max(lastCallMs(day, policy, tiersOf(policy, counts)), closesAtMs(day, policy));
}

/** Whether `refresh` has ended for the age of the day, whatever the states of its records. */
export function isAfterRefresh(day: string, policy: Policy, readFromMs: number): boolean {
  return readFromMs >= Math.max(lastCallMs(day, policy, policy.refresh), closesAtMs(day, policy));
}

/**
 * The earliest time at which a day of the month is due; `null` where all its days are settled.
 * @param upstream of a report with an upstream: that report's ledger of the month; only its committed days can be due
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

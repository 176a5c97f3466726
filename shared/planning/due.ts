/*
 * Without due times a day would be read again for ever, or only once. This file decides from the
 * ledger's entry and the policy when a day is due, when it may be closed (I2) and when it is settled, so that a restated
 * day is read again as long as it can change and not after (I11): a day without a record in a state that can change
 * settles from the day after its close on, and one with such a record is watched beyond the policy. Everything is pure; `plan.ts` orders
 * what is due, and `day-state.ts` says what has been due for too long.
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
import type { Committed, DayEntry, Failure, Ledger } from '../lake/documents/ledger.ts';
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
    closed: committed.state === 'closed',
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
 * When the day is next due, in milliseconds; `null` where its records can change no more, or it lies before the start
 * date. It depends only on the ledger's entry, the policy and the time. A reading that a clock ahead has dated in the
 * future counts as missing.
 */
export function dueAtMs(
  day: string,
  entry: DayEntry | undefined,
  policy: Policy,
  nowMs: number,
  upstream?: UpstreamState,
): number | null {
  if (day < policy.startDate) return null;
  if (entry?.failure)
    return Math.max(startOfDay(day, policy.timeZone), retryAtMs(entry.failure, policy, nowMs));
  const passMs = passDueAtMs(day, entry, policy, nowMs, upstream);
  const lookupMs = entry?.claim ? null : refusedDueAtMs(entry?.committed);
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

/** When the first refused lookup is tried again. */
function refusedDueAtMs(committed: Committed | undefined): number | null {
  const retryAt = committed?.refusedLookups?.retryAt;
  return retryAt === undefined ? null : Date.parse(retryAt);
}

/** When the whole day is due, or what came since; refused lookups and failures aside. */
function passDueAtMs(
  day: string,
  entry: DayEntry | undefined,
  policy: Policy,
  nowMs: number,
  upstream?: UpstreamState,
): number | null {
  const { committed, claim } = entry ?? {};
  const started = startOfDay(day, policy.timeZone);
  if (!committed || isFuture(committed) || claim || isAskedAnew(committed, policy)) return started;
  if (upstream && upstream.digest !== committed.upstreamDigest) return started;
  if (committed.state === 'open') return upstream && !upstream.closed ? null : started;
  const readFromMs = Date.parse(committed.readFrom);
  // A last pass that is believed settles the day as soon as no lookup is left to be tried again.
  const isLast = committed.confirmed && settles(day, policy, readFromMs, committed);
  if (isLast && committed.refusedLookups?.retryAt) return null;
  if (committed.settled && staysSettled(committed, policy)) return null;
  // I11: the next run reads it again, whatever its age.
  if (!committed.confirmed) return readFromMs;
  const age = daysBetween(day, dayOf(nowMs, policy.timeZone));
  const refreshMs = refreshAtMs(day, readFromMs, policy, tiersOf(policy, committed), age);
  return isToBeProven(day, policy, readFromMs, committed)
    ? Math.min(refreshMs, readFromMs + PROOF_MS - slackMs(PROOF_MS))
    : refreshMs;
}

/** Whether the settings lead to other queries. A settled day stays in the time zone in which it was read. */
function isAskedAnew({ settled, timeZone, queryFingerprint }: Committed, policy: Policy): boolean {
  const isElsewhere = timeZone !== undefined && timeZone !== policy.timeZone;
  return queryFingerprint !== policy.queryFingerprint && !(settled && isElsewhere);
}

/**
 * When a day whose records are all final is read a second time, at the latest, and how long behind its close it settles, at the
 * earliest. It costs no more than an hour later, and shows what was booked late.
 */
const PROOF_MS = DAY_MS;

/** Whether one more pass that agrees would settle the day before the policy does. */
function isToBeProven(day: string, policy: Policy, readFromMs: number, committed: Committed): boolean {
  return isFinal(committed, policy) && readFromMs < lastCallMs(day, policy, policy.refresh);
}

/** How many rows of the day are in which state, as its last reading counted them. */
type StateCounts = Partial<Pick<Committed, 'rows' | 'unsettled' | 'statesFingerprint'>>;

/** Whether no record of the day can change, by the states of today's settings. An empty day may still get records. */
function isFinal({ rows = 0, unsettled, statesFingerprint }: StateCounts, policy: Policy): boolean {
  const isCounted = policy.statesFingerprint !== undefined && statesFingerprint === policy.statesFingerprint;
  return isCounted && rows > 0 && unsettled === 0;
}

/** Whether a record may still change, by its state: also where the rows were counted by other states. */
function isUnsettled({ rows = 0, unsettled, statesFingerprint }: StateCounts, policy: Policy): boolean {
  if (policy.statesFingerprint === undefined) return false;
  return statesFingerprint === policy.statesFingerprint ? rows > 0 && unsettled !== 0 : true;
}

/** Behind the refresh policy a record that can still change is read every week up to this age, and every month after it. */
const WEEKLY_UNTIL_AGE_DAYS = 180;

/** How often the day is read again: as the refresh policy says, and more seldom behind it while records can change. */
function tiersOf(policy: Policy, counts: StateCounts): readonly RefreshTier[] {
  if (!isUnsettled(counts, policy)) return policy.refresh;
  const { refresh, watchUnsettledDays } = policy;
  const last = refresh.at(-1)?.every ?? 'run';
  const noShorter = (every: string) => (intervalMs(last) > intervalMs(every) ? last : every);
  const watched: RefreshTier[] = [
    { untilAgeDays: Math.min(WEEKLY_UNTIL_AGE_DAYS, watchUnsettledDays), every: noShorter('7 days') },
    { untilAgeDays: watchUnsettledDays, every: noShorter('30 days') },
  ];
  const isLater = ({ untilAgeDays }: RefreshTier, index: number) =>
    untilAgeDays > Math.max(daysOf(refresh), watched[index - 1]?.untilAgeDays ?? 0);
  return [...refresh, ...watched.filter(isLater)];
}

/** Whether a settled day still is, by today's states and policy. */
function staysSettled(committed: Committed, policy: Policy): boolean {
  const { watchedDays } = committed;
  if (watchedDays === undefined || isFinal(committed, policy)) return true;
  return watchedDays >= daysOf(tiersOf(policy, committed));
}

/** The age, in days, up to which the tiers have a day read again. */
function daysOf(tiers: readonly RefreshTier[]): number {
  return tiers.at(-1)?.untilAgeDays ?? 0;
}

/** The age, in days, up to which the policy has a day read again, whatever the states of its records. */
export function daysWatched(policy: Policy): number {
  return daysOf(tiersOf(policy, {}));
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

/**
 * I11: whether a pass that began at `readFromMs`, with the passes before it that agree, is the last needed. Two that found
 * no record which can change are, from the day after the close on: within minutes they would agree on what is still to be
 * booked.
 */
export function settles(
  day: string,
  policy: Policy,
  readFromMs: number,
  pass: Pick<Committed, 'identicalPasses' | 'resumed'> & StateCounts,
): boolean {
  const closesMs = closesAtMs(day, policy);
  if (readFromMs < closesMs) return false;
  const isProven = readFromMs >= closesMs + PROOF_MS - slackMs(PROOF_MS);
  if (isFinal(pass, policy) && pass.identicalPasses >= 2 && isProven) return true;
  const isLast = readFromMs >= lastCallMs(day, policy, tiersOf(policy, pass));
  const isProofAlone = policy.pagesAreSnapshot && !pass.resumed;
  return isLast && pass.identicalPasses >= (isProofAlone ? 1 : 2);
}

/** Of a day that settled with a reading that began at this time: up to which age it was watched. */
export function watchedDays(day: string, { timeZone }: Policy, readFromMs: number): number {
  return daysBetween(day, dayOf(readFromMs, timeZone)) - 1;
}

/** Whether the refresh policy asks for no reading behind one that begins at this time, whatever the states of the records. */
export function isBehindPolicy(day: string, policy: Policy, readFromMs: number): boolean {
  return readFromMs >= Math.max(lastCallMs(day, policy, policy.refresh), closesAtMs(day, policy));
}

const MAX_CONTRADICTIONS = 3;

/** What another reading has to say of one before it is believed. */
export interface Doubt {
  /** Whether it is believed; otherwise the next run reads the day again. */
  confirmed: boolean;
  /** How many readings in a row were to confirm the one before, and differed; missing for none. */
  contradictions?: number;
  /** Whether the reading may be the last one of its day. */
  mayBeLast: boolean;
}

/**
 * I11: whether another reading has to agree with this one. Where pages are no snapshot, a record that leaves a page while
 * the next one is read makes another one fall through between them; and whatever the pages are, one answer that lacks
 * records must not be the last word. Where readings contradict each other again and again, a field is never the same:
 * then the next one waits as the policy says, until one agrees or lacks records.
 * @param reading `unchanged`: it agrees with the one before
 */
export function doubtOf(
  policy: Policy,
  reading: { unchanged: boolean; recordPages: number; rows: number },
  before: Pick<Committed, 'rows' | 'state' | 'confirmed' | 'contradictions'> | undefined,
): Doubt {
  const hasLost = before !== undefined && reading.rows < before.rows;
  const mayLack = hasLost || reading.rows === 0 || (reading.recordPages > 1 && !policy.pagesAreSnapshot);
  if (reading.unchanged || !mayLack) return { confirmed: true, mayBeLast: true };
  const contradictions = contradictionsAfter(before, hasLost);
  return {
    confirmed: contradictions >= MAX_CONTRADICTIONS,
    ...(contradictions > 0 && { contradictions }),
    mayBeLast: false,
  };
}

function contradictionsAfter(
  before: Pick<Committed, 'state' | 'confirmed' | 'contradictions'> | undefined,
  hasLost: boolean,
): number {
  if (before?.state !== 'closed') return 0;
  const { confirmed, contradictions = 0 } = before;
  if (!confirmed) return contradictions + 1;
  return hasLost ? 0 : contradictions;
}

/** How many readings in a row, this one the last, differed from the one before while the policy needs no more than one that agrees. */
export function disagreementsAfter(
  day: string,
  policy: Policy,
  reading: StateCounts & { unchanged: boolean; readFromMs: number },
  before: Pick<Committed, 'state' | 'queryFingerprint' | 'disagreements'> | undefined,
): number {
  const lastMs = Math.max(lastCallMs(day, policy, tiersOf(policy, reading)), closesAtMs(day, policy));
  const isComparable = before?.state === 'closed' && before.queryFingerprint === policy.queryFingerprint;
  if (reading.unchanged || reading.readFromMs < lastMs || !isComparable) return 0;
  return (before.disagreements ?? 0) + 1;
}

/**
 * I11: whether no further reading is needed of a day whose readings never agree: a field differs in every answer. One that
 * lacks records is not the last word.
 */
export function neverAgrees(
  reading: { disagreements: number; confirmed: boolean; rows: number },
  before: Pick<Committed, 'rows'> | undefined,
): boolean {
  const hasLost = before !== undefined && reading.rows < before.rows;
  return reading.disagreements >= MAX_CONTRADICTIONS && reading.confirmed && !hasLost;
}

/**
 * Whether a reading lacks what a day had when it was read at an age at which no record can change any more: then the
 * service keeps the records no longer. Of a repaired day nobody knows when it was read, and it may have been settled:
 * at that age a reading with fewer records empties it too.
 */
export function isEmptied(
  day: string,
  policy: Policy,
  reading: { rows: number; readFromMs: number },
  before: Pick<Committed, 'rows' | 'readFrom' | 'queryFingerprint'> | undefined,
): boolean {
  if (!before || isFuture(before) || reading.rows >= before.rows) return false;
  const isRepaired = before.queryFingerprint === '';
  if (reading.rows > 0 && !isRepaired) return false;
  const saidMs = isRepaired ? reading.readFromMs : Date.parse(before.readFrom);
  return saidMs >= lastCallMs(day, policy, policy.refresh);
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

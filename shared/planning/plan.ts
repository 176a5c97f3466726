import {
  addDays,
  daysBetween,
  daysFrom,
  dayOf,
  daysOfMonth,
  endOfDay,
  intervalMs,
  monthOf,
  startOfDay,
  earlier,
} from '../days.ts';
import type { DayEntry, Ledger } from '../lake/documents/ledger.ts';
import type { RefreshTier } from '../reports/definition.ts';

/** What decides when a day of a report is due. */
export interface Policy {
  timeZone: string;
  startDate: string;
  lateMinutes: number;
  refresh: readonly RefreshTier[];
  /** Fingerprint of what would be asked now. */
  queryFingerprint: string;
  pagesAreSnapshot: boolean;
}

/** Of a report about another report's records: what is published of that one. */
export type UpstreamDay = (day: string) => { digest: string; closed: boolean } | undefined;

export interface DueDay {
  day: string;
  reason: 'open' | 'yesterday' | 'in_progress' | 'never_read' | 'refresh' | 'requested' | 'retry' | 'failing';
}

/** Why days are read: those due, or those of a range whatever the policy says; each once under the id. */
export interface Continuation {
  id: string;
  /** `since`: what was read from then on, by whichever run, is not read again. */
  range?: { from: string; to: string; since?: string };
}

/** A slack, so that a day due "every day" is not read an hour later each day by an hourly schedule. */
function slackMs(everyMs: number): number {
  return Math.min(everyMs / 10, 1_800_000);
}

/** When a day that has ended may be closed: from then on a whole pass holds the late records as well. */
export function closesAtMs(day: string, policy: Policy): number {
  return endOfDay(day, policy.timeZone) + policy.lateMinutes * 60_000;
}

/**
 * When the day is next due, in milliseconds; `null` where its records can change no more. Pure: it rests on the
 * ledger's entry, the policy and the day that it is (`today`).
 */
export function dueAtMs(
  day: string,
  entry: DayEntry | undefined,
  policy: Policy,
  today: string,
  source?: { digest: string; closed: boolean },
): number | null {
  const started = startOfDay(day, policy.timeZone);
  const published = entry?.committed;
  if (!published || entry.claim || entry.failure || published.queryFingerprint !== policy.queryFingerprint)
    return started;
  if (source && source.digest !== published.upstreamDigest) return started;
  if (published.state === 'open') return source && !source.closed ? null : started;
  const readFromMs = Date.parse(published.readFrom);
  // A reading by a clock that was ahead says nothing of the present.
  if (dayOf(readFromMs, policy.timeZone) > today) return started;
  if (published.settled) return null;
  return refreshAtMs(day, readFromMs, policy, daysBetween(day, today));
}

/**
 * When the first of the tiers that hold from `age` on asks for the day again; behind the last one, one more reading
 * that began after it is due.
 */
function refreshAtMs(day: string, readFromMs: number, policy: Policy, age: number): number {
  const dueAfter = (every: string) => readFromMs + intervalMs(every) - slackMs(intervalMs(every));
  let fromMs = readFromMs;
  for (const { untilAgeDays, every } of policy.refresh.filter((tier) => tier.untilAgeDays >= age)) {
    const endMs = startOfDay(addDays(day, untilAgeDays + 1), policy.timeZone);
    const dueMs = Math.max(fromMs, dueAfter(every));
    if (dueMs < endMs) return dueMs;
    fromMs = endMs;
  }
  const lastMs = lastCallMs(day, policy);
  return readFromMs < lastMs ? lastMs : dueAfter(policy.refresh.at(-1)?.every ?? 'run');
}

/** From when on the policy leaves the day alone, but for a last reading. */
function lastCallMs(day: string, { refresh, timeZone }: Policy): number {
  return startOfDay(addDays(day, (refresh.at(-1)?.untilAgeDays ?? 0) + 1), timeZone);
}

/** Whether a pass that began at `readFromMs` and agrees with `identicalPasses - 1` before it is the day's last word. */
export function settles(day: string, policy: Policy, readFromMs: number, identicalPasses: number): boolean {
  const isLast = readFromMs >= Math.max(lastCallMs(day, policy), closesAtMs(day, policy));
  return isLast && (policy.pagesAreSnapshot || identicalPasses >= 2);
}

/**
 * The days due, in the order in which they are read: open day, yesterday, days in progress, days never read
 * (newest first), refreshes; days that failed come last, and after all others until their backoff ends.
 */
export function plan(
  ledgers: ReadonlyMap<string, Ledger>,
  policy: Policy,
  nowMs: number,
  { continuation, upstream }: { continuation?: Continuation; upstream?: UpstreamDay } = {},
): DueDay[] {
  const today = dayOf(nowMs, policy.timeZone);
  const range = continuation?.range;
  const candidates = range
    ? daysFrom(range.from, earlier(range.to, today))
    : daysFrom(policy.startDate, today).filter((day) => ledgers.has(monthOf(day)));
  return candidates
    .filter((day) => nowMs >= startOfDay(day, policy.timeZone) + 1000)
    .filter((day) => !upstream || upstream(day))
    .flatMap((day) => {
      const entry = ledgers.get(monthOf(day))?.days[day];
      if (continuation && wasRead(entry, continuation, policy, upstream?.(day))) return [];
      const dueMs = dueAtMs(day, entry, policy, today, upstream?.(day));
      if (!range && (dueMs === null || dueMs > nowMs)) return [];
      return [{ day, reason: reasonFor(day, entry, today, nowMs, range !== undefined) }];
    })
    .sort((a, b) => rank(a) - rank(b) || (a.day < b.day ? 1 : -1));
}

/** Whether the request, or whoever read it since, has read the day already, and as it would be read now. */
function wasRead(
  entry: DayEntry | undefined,
  continuation: Continuation,
  policy: Policy,
  source: { digest: string } | undefined,
): boolean {
  if (!entry?.committed || entry.claim || entry.failure) return false;
  const { since } = continuation.range ?? {};
  const isRecent = since !== undefined && Date.parse(entry.committed.readFrom) >= Date.parse(since);
  if (entry.continuation !== continuation.id && !isRecent) return false;
  return (
    entry.committed.queryFingerprint === policy.queryFingerprint &&
    entry.committed.upstreamDigest === source?.digest
  );
}

function reasonFor(
  day: string,
  entry: DayEntry | undefined,
  today: string,
  nowMs: number,
  requested: boolean,
): DueDay['reason'] {
  if (entry?.failure && Date.parse(entry.failure.retryAt) > nowMs) return 'failing';
  if (entry?.claim) return day === today ? 'open' : 'in_progress';
  if (day === today) return 'open';
  if (day === addDays(today, -1)) return 'yesterday';
  if (entry?.failure) return 'retry';
  if (!entry?.committed) return 'never_read';
  return requested ? 'requested' : 'refresh';
}

const ORDER: readonly DueDay['reason'][] = [
  'open',
  'yesterday',
  'in_progress',
  'never_read',
  'requested',
  'refresh',
  'retry',
  'failing',
];

function rank({ reason }: DueDay): number {
  return ORDER.indexOf(reason);
}

/** The earliest time at which a day of the month is due; `null` where all of it is settled. */
export function monthDueAtMs(month: string, ledger: Ledger, policy: Policy, nowMs: number): number | null {
  const today = dayOf(nowMs, policy.timeZone);
  const due = daysOfMonth(month)
    .filter((day) => day >= policy.startDate)
    .map((day) => dueAtMs(day, ledger.days[day], policy, today))
    .filter((at) => at !== null);
  return due.length > 0 ? Math.min(...due) : null;
}

import { addDays, daysFrom, dayOf, monthOf, startOfDay, earlier } from '../days.ts';
import type { DayEntry, Ledger } from '../lake/documents/ledger.ts';
import { type Policy, type UpstreamDay, dueAtMs } from './due.ts';

/** A day to read, and the reason. */
export interface DueDay {
  day: string;
  /** Why the day is planned; its state is something else (`dayState`). */
  reason: 'open' | 'yesterday' | 'in_progress' | 'never_read' | 'refresh' | 'requested' | 'retry' | 'failing';
}

/** What consecutive runs read until it is done: the days that are due, or a range of days. */
export interface Continuation {
  id: string;
  /** Days to read whatever the policy says; `since`: without those that any run has read from then on. */
  range?: { from: string; to: string; since?: string };
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

/** Whether the day was read already under this continuation, or since, with the queries of today's settings. */
function wasRead(
  entry: DayEntry | undefined,
  continuation: Continuation,
  policy: Policy,
  upstream: { digest: string } | undefined,
): boolean {
  if (!entry?.committed || entry.claim || entry.failure) return false;
  const { since } = continuation.range ?? {};
  const isRecent = since !== undefined && Date.parse(entry.committed.readFrom) >= Date.parse(since);
  if (entry.continuation !== continuation.id && !isRecent) return false;
  return (
    entry.committed.queryFingerprint === policy.queryFingerprint &&
    entry.committed.upstreamDigest === upstream?.digest
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

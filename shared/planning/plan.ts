import { addDays, dayOf, daysOfMonth, monthOf, startOfDay, earlier } from '../base/days.ts';
import { type DayEntry, type Ledger, isWhole } from '../lake/ledger.ts';
import { type Policy, type UpstreamDay, closesAtMs, dueAtMs, lastRequested } from './due.ts';

export interface DueDay {
  day: string;
  /** Why the day is planned, which is not its state (`dayState`). */
  reason: 'open' | 'yesterday' | 'in_progress' | 'never_read' | 'refresh' | 'retry' | 'failing';
  /** The lowest first: its turn among the days of all reports, then its place among the days of its own report. */
  order: readonly [turn: number, reason: number, waitsSinceMs: number];
}

export interface Continuation {
  id: string;
  range?: { from: string; to: string };
}

export interface PlanOptions {
  continuation?: Continuation;
  upstream?: UpstreamDay | undefined;
  only?: string;
}

/**
 * The due days, in the order in which they are read: open day and yesterday, days in progress, days never read (newest
 * first), re-reads, days that failed before. A failed day is not due before its backoff ends, unless it is read with
 * `--from` and `--to`.
 */
export function plan(
  ledgers: ReadonlyMap<string, Ledger>,
  policy: Policy,
  nowMs: number,
  { continuation, upstream, only }: PlanOptions = {},
): DueDay[] {
  const today = dayOf(nowMs, policy.timeZone);
  const range = continuation?.range;
  const { from, to } = range ?? { from: policy.startDate, to: today };
  const last = earlier(to, today);
  return (only === undefined ? [...ledgers.keys()].flatMap(daysOfMonth) : [only])
    .filter((day) => from <= day && day <= last)
    .filter((day) => nowMs >= startOfDay(day, policy.timeZone) + 1000)
    .filter((day) => !upstream || upstream(day))
    .flatMap((day): DueDay[] => {
      const entry = ledgers.get(monthOf(day))?.days[day] ?? {};
      if (continuation && wasRead(entry, continuation, policy, upstream?.(day))) return [];
      if (entry.erasedAt !== undefined || isAheadOf(day, entry, policy, nowMs)) return [];
      const dueMs = dueAtMs(day, entry, policy, nowMs, upstream?.(day));
      if (!range && (dueMs === null || dueMs > nowMs)) return [];
      const reason = reasonFor(day, entry, today, nowMs);
      return [{ day, reason, order: [...ORDER[reason], longestWaiting(reason, entry)] }];
    })
    .sort(byOrder);
}

/** When the last reading of these months began, in milliseconds; 0 if no day has been read. */
export function lastReadMs(ledgers: ReadonlyMap<string, Ledger>): number {
  const entries = [...ledgers.values()].flatMap(({ days }) => Object.values(days));
  return Math.max(0, ...entries.map(({ committed }) => Date.parse(committed?.readFrom ?? '') || 0));
}

/**
 * Among days of equal rank, the day that has waited longest comes first. Otherwise runs with time for one day would
 * read the open day each time and never yesterday, and a few days that always fail would block the retries of the
 * others.
 */
function longestWaiting(reason: DueDay['reason'], entry: DayEntry): number {
  const since = entry.failure?.retryAt ?? entry.committed?.readFrom ?? '';
  return isUrgent({ reason }) || reason === 'retry' ? Date.parse(since) || 0 : 0;
}

export function byOrder(a: DueDay, b: DueDay): number {
  const difference = a.order.map((value, index) => value - (b.order[index] ?? 0)).find((each) => each !== 0);
  return difference ?? (a.day < b.day ? 1 : -1);
}

/** The newest first: failed days whose backoff has not ended; with a range, days that a run with a later clock has read. */
export function waitingDays(
  ledgers: ReadonlyMap<string, Ledger>,
  policy: Policy,
  nowMs: number,
  range?: Continuation['range'],
): string[] {
  const today = dayOf(nowMs, policy.timeZone);
  const waits = ([day, entry]: [string, DayEntry]) =>
    range
      ? range.from <= day && day <= range.to && isAheadOf(day, entry, policy, nowMs)
      : day <= today && entry.failure && (dueAtMs(day, entry, policy, nowMs) ?? 0) > nowMs;
  return [...ledgers.values()]
    .flatMap(({ days }) => Object.entries(days))
    .filter(waits)
    .map(([day]) => day)
    .sort()
    .reverse();
}

/**
 * I2: whether the committed version is newer than anything that a run with this time can read. A run whose time is
 * behind would replace a complete day with a part of it.
 */
function isAheadOf(day: string, entry: DayEntry, policy: Policy, nowMs: number): boolean {
  if (!entry.committed) return false;
  const { readFrom } = entry.committed;
  return Date.parse(readFrom) > nowMs || (isWhole(entry.committed) && nowMs < closesAtMs(day, policy));
}

function wasRead(
  entry: DayEntry,
  continuation: Continuation,
  policy: Policy,
  upstream: { digest: string } | undefined,
): boolean {
  if (!entry.committed || entry.claim || entry.failure) return false;
  if (entry.continuation !== continuation.id) return false;
  const { queryFingerprint, upstreamDigest } = lastRequested(entry.committed, entry.disregarded);
  return queryFingerprint === policy.queryFingerprint && upstreamDigest === upstream?.digest;
}

function reasonFor(day: string, entry: DayEntry, today: string, nowMs: number): DueDay['reason'] {
  if (entry.failure && Date.parse(entry.failure.retryAt) > nowMs) return 'failing';
  if (day === today) return 'open';
  if (day === addDays(today, -1)) return 'yesterday';
  if (entry.failure) return 'retry';
  if (entry.claim) return 'in_progress';
  return entry.committed ? 'refresh' : 'never_read';
}

const ORDER: Readonly<Record<DueDay['reason'], readonly [turn: number, reason: number]>> = {
  open: [0, 0],
  yesterday: [0, 0],
  in_progress: [1, 1],
  never_read: [1, 2],
  refresh: [1, 3],
  retry: [2, 0],
  failing: [2, 1],
};

/** A day that is read again in this run, because other days now have records that it lacked in its last reading. */
export function readAgain(day: string): DueDay {
  return { day, reason: 'refresh', order: [...ORDER.refresh, 0] };
}

/** Whether the day is the open day or yesterday. The urgent days of all reports come before all other days. */
export function isUrgent({ reason }: Pick<DueDay, 'reason'>): boolean {
  return reason === 'open' || reason === 'yesterday';
}

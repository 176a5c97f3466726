import { type MonthSpan, dayOf, daysFrom, isInSpan, monthOf } from '../days.ts';
import type { DayEntry, Failure } from '../lake/documents/ledger.ts';
import type { ReportLedgers } from '../lake/documents/read.ts';
import { stateOf } from '../catalog/coverage.ts';
import { type Policy, type UpstreamState, closesAtMs, dueAtMs } from '../planning/due.ts';
import { maxGapMs } from '../settings/schedule.ts';

/** What is the matter with a day. `stale`: it is there, but should have been read again by now. */
export type DayStatus =
  | 'settled'
  | 'complete'
  | 'open'
  | 'unproven'
  | 'stale'
  | 'in_progress'
  | 'failed'
  | 'missing';

/** When days are due, and when the schedule has its turns. */
export interface Expected {
  policy: Policy;
  schedule: string;
}

export interface StatusDay {
  dt: string;
  status: DayStatus;
  rows: number | null;
  /** When the last reading began, ISO 8601. */
  readFrom: string | null;
  /** Up to when everything is known. */
  readTo: string | null;
  /** When the policy asks for the day (again), past where it is due; `null` where that is never or unknown. */
  nextDue: string | null;
  failure?: Pick<Failure, 'since' | 'times' | 'kind' | 'code' | 'message' | 'retryAt'>;
}

/** What is due is late only after the schedule had its turn, twice. */
const GRACE_INTERVALS = 2;

/**
 * The days that should be there by the policy, and those that are. A brand that the settings do not know has no
 * policy: its days are neither missing nor stale.
 * @param parent of a report about another report's records: that one
 * @param span only the days of these months
 */
export function statusDays(
  of: Pick<ReportLedgers, 'ledgers' | 'index'> | undefined,
  expected: Expected | undefined,
  nowMs: number,
  parent?: ReportLedgers,
  span: MonthSpan = {},
): StatusDay[] {
  const { policy } = expected ?? {};
  const today = dayOf(nowMs, policy?.timeZone ?? 'UTC');
  const entries = Object.assign({}, ...[...(of?.ledgers.values() ?? [])].map(({ days }) => days)) as Record<
    string,
    DayEntry
  >;
  const days = new Set([...Object.keys(entries), ...(policy ? daysFrom(policy.startDate, today) : [])]);
  const shown = [...days].filter((day) => isInSpan(monthOf(day), span));
  return shown.sort().map((dt) => {
    const entry = entries[dt];
    const source = sourceOf(parent?.ledgers.get(monthOf(dt))?.days[dt]?.committed);
    const overdue =
      expected !== undefined && entry !== undefined && isOverdue(dt, entry, expected, today, nowMs, source);
    const dueMs = policy ? dueAtMs(dt, entry, policy, today, source) : null;
    return {
      dt,
      status: entry ? statusOf(entry, of?.index.hasReturnedRecords ?? false, overdue) : 'missing',
      rows: entry?.committed?.rows ?? null,
      readFrom: entry?.committed?.readFrom ?? null,
      readTo: entry?.committed?.readTo ?? null,
      nextDue: dueMs === null ? null : new Date(dueMs).toISOString(),
      ...(entry?.failure && { failure: failureSummary(entry.failure) }),
    };
  });
}

function statusOf(entry: DayEntry, proven: boolean, overdue: boolean): DayStatus {
  const state = stateOf(entry, proven);
  if (state === 'partial') return entry.claim ? 'in_progress' : 'missing';
  return overdue && state !== 'failed' && state !== 'unproven' ? 'stale' : state;
}

function isOverdue(
  dt: string,
  entry: DayEntry,
  { policy, schedule }: Expected,
  today: string,
  nowMs: number,
  source: UpstreamState | undefined,
): boolean {
  const { committed } = entry;
  if (!committed) return false;
  const patienceMs = gracePeriodMs(schedule);
  const isRightlyAsked =
    committed.queryFingerprint === policy.queryFingerprint &&
    !(source && source.digest !== committed.upstreamDigest);
  if (committed.state === 'open' && isRightlyAsked) {
    const dueMs = dt >= today ? Date.parse(committed.readTo) : closesAtMs(dt, policy);
    return nowMs > dueMs + patienceMs;
  }
  const { claim: _claim, ...idle } = entry;
  const dueMs = dueAtMs(dt, idle, policy, today, source);
  return dueMs !== null && nowMs > Math.max(dueMs, Date.parse(committed.readFrom)) + patienceMs;
}

function sourceOf(published: DayEntry['committed']): UpstreamState | undefined {
  return published && { digest: published.digest, closed: published.state === 'closed' };
}

/** How long after it is due something is late, in milliseconds. */
export function gracePeriodMs(schedule: string): number {
  return GRACE_INTERVALS * maxGapMs(schedule);
}

function failureSummary({ since, times, kind, code, message, retryAt }: Failure): StatusDay['failure'] {
  return { since, times, kind, code, message, retryAt };
}

import { dayOf, daysFrom, intervalMs, monthOf } from '../shared/days.ts';
import type { DayEntry, Failure } from '../shared/lake/ledger.ts';
import { stateOf } from '../shared/pipeline/coverage.ts';
import { type Policy, closesAtMs, dueAtMs } from '../shared/pipeline/plan.ts';
import type { ReportLedgers } from './ledgers.ts';

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

export interface StatusDay {
  dt: string;
  status: DayStatus;
  rows: number | null;
  readTo: string | null;
  failure?: Pick<Failure, 'since' | 'times' | 'kind' | 'code' | 'message' | 'retryAt'>;
}

/** A day that is due is stale only after the schedule had its turn, twice. */
const TURNS = 2;
const DAY_MS = 86_400_000;

/**
 * The days that should be there by the policy, and those that are. A brand that the settings do not know has no
 * policy: its days are neither missing nor stale.
 * @param parent of a report about another report's records: that one
 */
export function statusDays(
  of: Pick<ReportLedgers, 'ledgers' | 'index'> | undefined,
  expected: { policy: Policy; schedule: string } | undefined,
  nowMs: number,
  parent?: ReportLedgers,
): StatusDay[] {
  const { policy } = expected ?? {};
  const today = dayOf(nowMs, policy?.timeZone ?? 'UTC');
  const entries = Object.assign({}, ...[...(of?.ledgers.values() ?? [])].map(({ days }) => days)) as Record<
    string,
    DayEntry
  >;
  const days = new Set([...Object.keys(entries), ...(policy ? daysFrom(policy.startDate, today) : [])]);
  return [...days].sort().map((dt) => {
    const entry = entries[dt];
    const source = parent?.ledgers.get(monthOf(dt))?.days[dt]?.published;
    const overdue =
      expected !== undefined && entry !== undefined && isOverdue(dt, entry, expected, today, nowMs, source);
    return {
      dt,
      status: entry ? statusOf(entry, of?.index.proven ?? false, overdue) : 'missing',
      rows: entry?.published?.rows ?? null,
      readTo: entry?.published?.readTo ?? null,
      ...(entry?.failure && { failure: told(entry.failure) }),
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
  { policy, schedule }: { policy: Policy; schedule: string },
  today: string,
  nowMs: number,
  source: DayEntry['published'],
): boolean {
  const { published } = entry;
  if (!published) return false;
  const patienceMs = TURNS * turnMs(schedule);
  const isRightlyAsked = published.asked === policy.asked && !(source && source.digest !== published.source);
  if (published.state === 'open' && isRightlyAsked) {
    const dueMs = dt >= today ? Date.parse(published.readTo) : closesAtMs(dt, policy);
    return nowMs > dueMs + patienceMs;
  }
  const { claim: _claim, ...idle } = entry;
  const dueMs = dueAtMs(
    dt,
    idle,
    policy,
    today,
    source && { digest: source.digest, closed: source.state === 'closed' },
  );
  return dueMs !== null && nowMs > Math.max(dueMs, Date.parse(published.readFrom)) + patienceMs;
}

/** How long the schedule waits from one turn to the next; a cron expression is taken for a daily one. */
function turnMs(schedule: string): number {
  const [, rate] = /^rate\((.+)\)$/.exec(schedule) ?? [];
  return rate === undefined ? DAY_MS : intervalMs(rate);
}

function told({ since, times, kind, code, message, retryAt }: Failure): StatusDay['failure'] {
  return { since, times, kind, code, message, retryAt };
}

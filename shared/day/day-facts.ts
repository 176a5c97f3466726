/*
 * `dayFacts` collects everything that people see of a day. `coverage` (SQL), `status`, the status page and the watcher
 * select from this value and format it. If each of them derived its facts from the ledger, two of them would sooner or
 * later contradict each other.
 */
import type { Committed, DayEntry, DayHistory, Failure } from '../lake/ledger.ts';
import { type CurrencyTotals, totalsOf } from '../lake/totals.ts';
import { rolesOf } from '../lake/brand-settings.ts';
import type { ReportLedgers } from '../lake/read.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import {
  type CommittedState,
  type DayState,
  type KnownDay,
  committedState,
  failureOf,
  overdueAtMs,
} from '../planning/day-state.ts';
import { type Policy, dueAtMs, upstreamState } from '../planning/due.ts';
import { fieldsIn } from '../reports/roles.ts';
import { type Finding, type FindingFacts, entriesIn, findingsOf } from '../findings/index.ts';

/** The facts of a day, as `status --json` prints them; instants are ISO 8601. */
export interface DayFacts {
  dt: string;
  state: DayState;
  /** `null`, like the next seven fields, while nothing is committed. */
  committedState: CommittedState | null;
  rows: number | null;
  pages: number | null;
  refusedLookups: number | null;
  digest: string | null;
  /** When the last committed attempt began. */
  readFrom: string | null;
  /** Up to when all records are known. */
  readTo: string | null;
  /** The brand's time zone when the day was read; `null` if nothing is committed, or if the ledger was made from snapshots. */
  timeZone: string | null;
  /** By currency (an empty text if there is none); missing if the report has no `amount` or `commission`. */
  totals?: CurrencyTotals;
  /** The settings now name other fields for these sums, so they are missing until the next reading. */
  totalsPending?: true;
  /** How often the day changed since it was closed, and the newest change; missing if it never changed. */
  changes?: { times: number } & Required<Pick<DayHistory, 'last'>>;
  /** When the day is due (again); in the past if it is due now; `null` for never or unknown. */
  nextDue: string | null;
  /** When the day becomes overdue unless it is read before; `null` for never or unknown. */
  overdueAt: string | null;
  /** The failure of a damaged ledger has no times. */
  failure?: Pick<Failure, 'kind' | 'code' | 'message'> &
    Partial<Pick<Failure, 'since' | 'times' | 'retryAt'>>;
  findings?: Finding[];
}

export interface ReportDays
  extends Pick<KnownDay, 'policy' | 'hasReturnedRecords'>,
    Pick<FindingFacts, 'report' | 'entryOn' | 'newColumns' | 'columns' | 'roles'> {
  upstreamOn?: ((day: string) => DayEntry | undefined) | undefined;
}

export function reportDaysIn(
  lake: readonly ReportLedgers[],
  { brand, report, policy }: { brand: string; report: ReportDefinition; policy: Policy | undefined },
): ReportDays {
  const stored = (name: string) => lake.find((each) => each.brand === brand && each.report.name === name);
  const own = stored(report.name);
  const upstream = report.day.by === 'upstream' ? stored(report.day.report) : undefined;
  return {
    report,
    policy,
    hasReturnedRecords: own?.state.hasReturnedRecords ?? false,
    entryOn: entriesIn(own?.ledgers ?? new Map()),
    columns: own?.columns,
    roles:
      own?.columns && fieldsIn(own.columns, policy?.fields ?? rolesOf(own.inLake?.settings, report).fields),
    newColumns: own?.newColumns,
    upstreamOn: upstream && entriesIn(upstream.ledgers),
  };
}

export function dayFacts(day: string, of: ReportDays, nowMs: number): DayFacts {
  const entry = of.entryOn(day);
  const looked = of.upstreamOn?.(day);
  // No run looks up records of an erased day, so what the day has stays as it is.
  const policy = looked?.erasedAt === undefined ? of.policy : undefined;
  const upstream = upstreamState(looked);
  const known = { ...of, policy, day, entry, upstream };
  const failure = failureOf(known);
  const overdueMs = overdueAtMs(known, nowMs);
  const findings = findingsOf(known);
  const committed = entry?.committed ? committedFacts(entry.committed, of) : NOTHING_COMMITTED;
  const without = (entry?.erasedAt ?? looked?.erasedAt) === undefined ? 'missing' : 'erased';
  const state = failure ? 'failed' : (committed.committedState ?? (entry?.claim ? 'in_progress' : without));
  return {
    dt: day,
    state: !failure && overdueMs !== null && nowMs >= overdueMs ? 'overdue' : state,
    ...committed,
    nextDue: isoTime(policy ? dueAtMs(day, entry, policy, nowMs, upstream) : null),
    overdueAt: isoTime(overdueMs),
    ...(failure && { failure: shownFailure(failure) }),
    ...(findings.length > 0 && { findings }),
  };
}

export function missingDay(day: string): DayFacts {
  return { dt: day, state: 'missing', ...NOTHING_COMMITTED, nextDue: null, overdueAt: null };
}

export function damagedDay(day: string, message: string): DayFacts {
  const failure = { kind: 'config', code: 'damaged_document', message } as const;
  return { ...missingDay(day), state: 'failed', failure };
}

const NOTHING_COMMITTED = {
  committedState: null,
  rows: null,
  pages: null,
  refusedLookups: null,
  digest: null,
  readFrom: null,
  readTo: null,
  timeZone: null,
};

function committedFacts(committed: Committed, { hasReturnedRecords, roles }: ReportDays) {
  const { rows, pages, digest, readFrom, readTo, refusedLookups, history, timeZone = null } = committed;
  const totals = totalsOf(committed, roles);
  return {
    committedState: committedState(committed, hasReturnedRecords),
    ...{ rows, pages, refusedLookups: refusedLookups?.count ?? 0, digest, readFrom, readTo, timeZone },
    ...(totals === 'pending' ? { totalsPending: true as const } : totals && { totals }),
    ...(history?.last && { changes: { times: history.place, last: history.last } }),
  };
}

function shownFailure({ since, times, kind, code, message, retryAt }: Failure): DayFacts['failure'] {
  return { since, times, kind, code, message, retryAt };
}

function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

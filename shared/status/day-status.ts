import { type MonthSpan, dayOf, daysFrom, isInSpan, monthOf } from '../days.ts';
import type { DayChanges, DayEntry, Failure } from '../lake/documents/ledger.ts';
import { type DayFacts, type DayState, dayState, failureOf } from '../planning/day-state.ts';
import { dueAtMs, upstreamState } from '../planning/due.ts';
import { type Finding, type FindingFacts, findingsOf } from '../planning/findings.ts';

/** A day as `status` and the calendar show it; `status --json` prints it as it is. */
export interface StatusDay {
  /** `YYYY-MM-DD` */
  dt: string;
  state: DayState;
  /** `null` where nothing is committed. */
  rows: number | null;
  /** The sum of the report's `measure`, as a decimal number with all its digits; missing where there is none. */
  sum?: string;
  /** How often the day changed since it was closed, and what changed last; missing where nothing did. */
  changes?: Pick<DayChanges, 'times' | 'last'>;
  /** When the last committed attempt began, ISO 8601. */
  readFrom: string | null;
  /** Up to when all records are known, ISO 8601. */
  readTo: string | null;
  /** When the day is due (again), ISO 8601, in the past where it is due now; `null` for never or unknown. */
  nextDue: string | null;
  /** Of a month whose ledger is damaged nothing says since when. */
  failure?: Pick<Failure, 'kind' | 'code' | 'message'> &
    Partial<Pick<Failure, 'since' | 'times' | 'retryAt'>>;
  /** What is odd about what was read, if anything. */
  findings?: Finding[];
}

/** The days of one report of one brand in its ledgers. */
export type DayEntries = ReadonlyMap<string, DayEntry>;

/** What the states of a report's days follow from, in addition to the time. */
export interface ReportFacts
  extends Pick<DayFacts, 'policy' | 'hasReturnedRecords'>,
    Pick<FindingFacts, 'report'> {
  entries: DayEntries;
  /** For a report with an upstream: the days of the upstream report. */
  upstream: DayEntries | undefined;
  /** By month: what is wrong with its ledger. */
  damagedMonths: ReadonlyMap<string, string>;
}

/**
 * The days that the ledgers have, and those that the policy expects, in order.
 * @param span only the days of these months
 */
export function statusDays(facts: ReportFacts, nowMs: number, span: MonthSpan): StatusDay[] {
  const { entries, policy, hasReturnedRecords, upstream, damagedMonths } = facts;
  const committedOn = (day: string) => entries.get(day)?.committed;
  const today = dayOf(nowMs, policy?.timeZone ?? 'UTC');
  const expected = policy ? daysFrom(policy.startDate, today) : [];
  return [...new Set([...entries.keys(), ...expected])]
    .filter((day) => isInSpan(monthOf(day), span))
    .sort()
    .map((day) => {
      const damage = damagedMonths.get(monthOf(day));
      if (damage !== undefined) return dayOfDamagedMonth(day, damage);
      const entry = entries.get(day);
      const state = statusDay(
        { day, entry, policy, hasReturnedRecords, upstream: upstreamState(upstream?.get(day)) },
        facts.report.measure,
        nowMs,
      );
      const findings = findingsOf({ report: facts.report, policy, day, committedOn });
      return findings.length > 0 ? { ...state, findings } : state;
    });
}

function dayOfDamagedMonth(dt: string, message: string): StatusDay {
  const failure = { kind: 'config', code: 'damaged_document', message } as const;
  return { dt, state: 'failed', rows: null, readFrom: null, readTo: null, nextDue: null, failure };
}

function statusDay(facts: DayFacts, measure: string | undefined, nowMs: number): StatusDay {
  const { day, entry, policy, upstream } = facts;
  const { committed } = entry ?? {};
  const failure = failureOf(facts);
  const sum = measure === undefined ? undefined : committed?.sums?.[measure];
  const { changes } = committed ?? {};
  const dueMs = policy ? dueAtMs(day, entry, policy, nowMs, upstream) : null;
  return {
    dt: day,
    state: dayState(facts, nowMs),
    rows: committed?.rows ?? null,
    ...(sum !== undefined && { sum }),
    ...(changes && { changes: { times: changes.times, last: changes.last } }),
    readFrom: committed?.readFrom ?? null,
    readTo: committed?.readTo ?? null,
    nextDue: dueMs === null ? null : new Date(dueMs).toISOString(),
    ...(failure && { failure: failureSummary(failure) }),
  };
}

function failureSummary({ since, times, kind, code, message, retryAt }: Failure): StatusDay['failure'] {
  return { since, times, kind, code, message, retryAt };
}

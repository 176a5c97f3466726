/*
 * Without `coverage`, a query of a sum in Athena cannot know which of its days are present. It has one row per day, made
 * from the ledgers alone (`ledger-tables.ts`). The state of a day is decided in `planning/day-state.ts`. A row is as old
 * as the run that wrote it: what must hold when the pipeline is dead compares `overdue_at` with the current time
 * (`STATE_NOW_SQL`).
 */
import type { Column } from '../column-types.ts';
import { rethrowBugs } from '../errors.ts';
import type { Row } from '../lake/table/columns.ts';
import type { Ledger } from '../lake/documents/ledger.ts';
import { COVERAGE_TABLE, MONTH_PARTITION_KEYS } from '../lake/paths.ts';
import type { TableShape } from '../ports.ts';
import { type DayFacts, committedState, dayState, failureOf, overdueAtMs } from '../planning/day-state.ts';
import { type UpstreamDay, dueAtMs, upstreamState } from '../planning/due.ts';
import type { BrandReport } from '../pipeline/context.ts';
import { findingFacts } from '../pipeline/reconcile.ts';
import { type FindingFacts, findingsOf, findingsText } from '../planning/findings.ts';
import { NOW_SQL } from '../reports/views/view-sql.ts';
import { writeLedgerTable } from './ledger-tables.ts';

const COLUMNS: readonly Column[] = [
  { name: 'dt', type: 'string' },
  { name: 'state', type: 'string' },
  { name: 'committed_state', type: 'string' },
  { name: 'rows', type: 'bigint' },
  { name: 'pages', type: 'bigint' },
  { name: 'refused_lookups', type: 'bigint' },
  { name: 'digest', type: 'string' },
  { name: 'read_from', type: 'timestamp' },
  { name: 'read_to', type: 'timestamp' },
  { name: 'failed_since', type: 'timestamp' },
  { name: 'failure', type: 'string' },
  { name: 'next_due', type: 'timestamp' },
  { name: 'overdue_at', type: 'timestamp' },
  { name: 'findings', type: 'string' },
  { name: 'time_zone', type: 'string' },
];

export const coverageTable: TableShape = {
  name: COVERAGE_TABLE,
  description:
    'A row for each brand, report and day: its state, its version, when it is next due, and why it failed',
  partitionKeys: MONTH_PARTITION_KEYS,
  columns: COLUMNS,
};

/** The state of a day now, in SQL: a row is as old as the last run, which may have been days ago. */
export const STATE_NOW_SQL = `CASE WHEN overdue_at <= ${NOW_SQL} THEN 'overdue' ELSE state END`;

/** What a report's coverage follows from, in addition to its ledgers and the time. */
export interface CoverageFacts
  extends Pick<DayFacts, 'policy' | 'hasReturnedRecords'>,
    Pick<FindingFacts, 'report' | 'committedOn'> {
  upstream?: UpstreamDay | undefined;
}

/**
 * The rows of a month's coverage. Without a policy no day is due.
 * @returns a row for each day of the ledger, in order, with the columns of `coverageTable`
 */
export function coverageRows(ledger: Ledger, facts: CoverageFacts, nowMs: number): Row[] {
  const { policy, hasReturnedRecords, upstream } = facts;
  return Object.entries(ledger.days)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([day, entry]) => {
      const { committed } = entry;
      const dayFacts: DayFacts = { day, entry, policy, hasReturnedRecords, upstream: upstream?.(day) };
      const failure = failureOf(dayFacts);
      return {
        dt: day,
        state: dayState(dayFacts, nowMs),
        committed_state: committed ? committedState(committed, hasReturnedRecords) : null,
        rows: committed ? BigInt(committed.rows) : null,
        pages: committed ? BigInt(committed.pages) : null,
        refused_lookups: committed ? BigInt(committed.refusedLookups?.count ?? 0) : null,
        digest: committed?.digest ?? null,
        read_from: timestamp(committed?.readFrom),
        read_to: timestamp(committed?.readTo),
        failed_since: timestamp(failure?.since),
        failure: failure ? `${failure.kind}: ${failure.message}` : null,
        next_due: timestamp(policy ? dueAtMs(day, entry, policy, nowMs, dayFacts.upstream) : null),
        overdue_at: timestamp(overdueAtMs(dayFacts, nowMs)),
        findings: findingsText(findingsOf({ ...facts, day })),
        time_zone: committed?.timeZone ?? null,
      };
    });
}

function timestamp(instant: string | number | null | undefined): Date | null {
  return instant === undefined || instant === null ? null : new Date(instant);
}

/** Updates the coverage of these months from their ledgers. */
export async function writeCoverage(
  run: BrandReport,
  months: readonly string[],
  hasReturnedRecords: boolean,
): Promise<void> {
  const rowsOf = async (month: string) => {
    const ledger = await run.ledger(month).cached();
    const upstream = await upstreamDays(run, month);
    const facts = { ...(await findingFacts(run, month)), policy: run.policy, hasReturnedRecords, upstream };
    return coverageRows(ledger, facts, run.clock.now().getTime());
  };
  const table = { shape: coverageTable, ledgersOf: (month: string) => [month], rowsOf };
  await writeLedgerTable(run, table, months);
}

/** An unreadable ledger of the upstream report is that report's failure and does not stop the coverage of this one. */
async function upstreamDays({ upstream }: BrandReport, month: string): Promise<UpstreamDay | undefined> {
  try {
    const ledger = await upstream?.ledger(month).cached();
    return ledger && ((day) => upstreamState(ledger.days[day]));
  } catch (thrown) {
    rethrowBugs(thrown);
    return undefined;
  }
}

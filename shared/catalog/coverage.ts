/*
 * Without `coverage`, a query of a sum in Athena cannot know which of its days are present. It has one row per day, made
 * from the ledgers alone and published like any partition, so it can be rebuilt at any time and keeps no state of
 * its own. The state of a day is decided in `planning/day-state.ts`. A row is as old as the run that wrote it: what
 * must hold when the pipeline is dead compares `overdue_at` with the current time (`STATE_NOW_SQL`).
 */
import { hash } from 'node:crypto';
import type { Column } from '../column-types.ts';
import { rethrowBugs } from '../errors.ts';
import type { Row } from '../lake/table/columns.ts';
import type { Ledger } from '../lake/documents/ledger.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import {
  COVERAGE_PARTITION_KEYS,
  COVERAGE_TABLE,
  coveragePartition,
  partitionPath,
  snapshotKey,
} from '../lake/paths.ts';
import type { Partition, TableShape } from '../ports.ts';
import { type DayFacts, committedState, dayState, failureOf, overdueAtMs } from '../planning/day-state.ts';
import { type UpstreamDay, dueAtMs, upstreamState } from '../planning/due.ts';
import type { BrandReport } from '../pipeline/context.ts';
import { findingFacts } from '../pipeline/reconcile.ts';
import { type FindingFacts, findingsOf, findingsText } from '../planning/findings.ts';

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
];

/** One row for each day that a ledger has: its state, what is committed, and why it failed. */
export const coverageTable: TableShape = {
  name: COVERAGE_TABLE,
  partitionKeys: COVERAGE_PARTITION_KEYS,
  columns: COLUMNS,
};

/** The current time in UTC, in SQL that DuckDB and Trino share. */
export const NOW_SQL = "CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)";

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
      };
    });
}

function timestamp(instant: string | number | null | undefined): Date | null {
  return instant === undefined || instant === null ? null : new Date(instant);
}

/** Updates the coverage of these months from their ledgers, and publishes it like any partition. */
export async function writeCoverage(
  run: BrandReport,
  months: readonly string[],
  hasReturnedRecords: boolean,
): Promise<void> {
  const { catalog } = run.lake;
  if (!catalog || months.length === 0) return;
  await catalog.ensureTable(coverageTable);
  const leading = coveragePartition(run.brand, run.report.name);
  const [from = '', ...later] = months.toSorted();
  const within = { from, to: later.at(-1) ?? from };
  const published = await catalog.snapshotsByPartition(coverageTable.name, leading, within);
  for (const month of months) {
    const partition = coveragePartition(run.brand, run.report.name, month);
    let snapshots = published.get(partitionPath(partition)) ?? [];
    for (;;) {
      const ledger = await run.ledger(month).cached();
      const upstream = await upstreamDays(run, month);
      const facts = { ...(await findingFacts(run, month)), policy: run.policy, hasReturnedRecords, upstream };
      const rows = coverageRows(ledger, facts, run.clock.now().getTime());
      const content = contentId(rows);
      if (rows.length === 0 || (snapshots.length === 1 && snapshots[0]?.startsWith(`${content}-`))) break;
      const snapshot = `${content}-${run.newId()}`;
      await writeRows(run, partition, snapshot, rows);
      await catalog.setSnapshot(coverageTable, partition, snapshot);
      snapshots = [snapshot];
      // Another run may have committed since, and its coverage, older or newer, was replaced by this one.
      await run.ledger(month).refresh();
    }
  }
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

function contentId(rows: readonly Row[]): string {
  const content = JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  return hash('sha256', content, 'hex').slice(0, 16);
}

async function writeRows(
  { lake }: BrandReport,
  partition: Partition,
  snapshot: string,
  rows: readonly Row[],
): Promise<void> {
  const key = snapshotKey(coverageTable.name, partition, snapshot);
  const { writeParquet } = await loadParquet();
  const parquet = writeParquet(lake.store.create(key), COLUMNS);
  for (const row of rows) await parquet.append(row);
  await parquet.finish();
}

import { hash } from 'node:crypto';
import type { Column } from '../column-types.ts';
import { dayOf } from '../days.ts';
import type { Row } from '../lake/table/columns.ts';
import type { DayEntry, Ledger } from '../lake/documents/ledger.ts';
import { writeParquet } from '../lake/table/parquet.ts';
import { partitionPath, snapshotKey } from '../lake/paths.ts';
import type { Partition, TableShape } from '../ports.ts';
import { type Policy, dueAtMs } from '../planning/due.ts';
import type { BrandReport } from '../pipeline/context.ts';

const COLUMNS: readonly Column[] = [
  { name: 'dt', type: 'string' },
  { name: 'state', type: 'string' },
  { name: 'rows', type: 'bigint' },
  { name: 'pages', type: 'bigint' },
  { name: 'digest', type: 'string' },
  { name: 'read_from', type: 'timestamp' },
  { name: 'read_to', type: 'timestamp' },
  { name: 'failed_since', type: 'timestamp' },
  { name: 'failure', type: 'string' },
  { name: 'next_due', type: 'timestamp' },
];

/** One row a day: is it in, since when, and if not, why. */
export const coverageTable: TableShape = {
  name: 'coverage',
  partitionKeys: ['brand', 'report', 'month'],
  columns: COLUMNS,
};

export type DayState = 'complete' | 'settled' | 'open' | 'unproven' | 'partial' | 'failed';

/** A report that never returned a record is unproven: it may as well be asked in the wrong unit or zone. */
export function stateOf({ committed, failure }: DayEntry, proven: boolean): DayState {
  if (failure) return 'failed';
  if (!committed) return 'partial';
  if (!proven && committed.rows === 0) return 'unproven';
  if (committed.settled) return 'settled';
  return committed.state === 'closed' ? 'complete' : 'open';
}

/** The rows of a month's coverage: they follow from its ledger alone. Without a policy no day is due. */
export function coverageRows(
  ledger: Ledger,
  policy: Policy | undefined,
  nowMs: number,
  proven: boolean,
): Row[] {
  const today = dayOf(nowMs, policy?.timeZone ?? 'UTC');
  const date = (iso: string | undefined) => (iso === undefined ? null : new Date(iso));
  return Object.entries(ledger.days)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([dt, entry]) => {
      const { committed, failure } = entry;
      const due = policy ? dueAtMs(dt, entry, policy, today) : null;
      return {
        dt,
        state: stateOf(entry, proven),
        rows: committed ? BigInt(committed.rows) : null,
        pages: committed ? BigInt(committed.pages) : null,
        digest: committed?.digest ?? null,
        read_from: date(committed?.readFrom),
        read_to: date(committed?.readTo),
        failed_since: date(failure?.since),
        failure: failure ? `${failure.kind}: ${failure.message}` : null,
        next_due: due === null ? null : new Date(due),
      };
    });
}

/** Brings the coverage of these months to what their ledgers say, and switches it like any partition. */
export async function writeCoverage(
  run: BrandReport,
  months: readonly string[],
  proven: boolean,
): Promise<void> {
  const { catalog } = run.lake;
  if (!catalog || months.length === 0) return;
  await catalog.ensureTable(coverageTable);
  const leading: Partition = [
    ['brand', run.brand],
    ['report', run.report.name],
  ];
  const pointers = await catalog.snapshotsByPartition(coverageTable.name, leading);
  for (const month of months) {
    const partition: Partition = [...leading, ['month', month]];
    let pointed = pointers.get(partitionPath(partition)) ?? [];
    for (;;) {
      const rows = coverageRows(
        await run.ledger(month).cached(),
        run.policy,
        run.clock.now().getTime(),
        proven,
      );
      const content = contentId(rows);
      if (rows.length === 0 || (pointed.length === 1 && pointed[0]?.startsWith(`${content}-`))) break;
      const snapshot = `${content}-${run.newId()}`;
      await writeRows(run, partition, snapshot, rows);
      await catalog.setSnapshot(coverageTable, partition, snapshot);
      pointed = [snapshot];
      await run.ledger(month).refresh();
    }
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
  const parquet = writeParquet(lake.store.create(key), COLUMNS);
  for (const row of rows) await parquet.append(row);
  await parquet.finish();
}

/*
 * Tables that are made from ledgers alone, a partition for each brand, report and month. They keep no state of their own,
 * so they can be made again at any time, and are published like any partition. The id of a snapshot begins with a hash
 * of its rows: rows that are published already are not written again.
 */
import { hash } from 'node:crypto';
import { refreshUndamaged } from '../lake/documents/cas-document.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import type { Row } from '../lake/table/columns.ts';
import { monthPartition, partitionPath, snapshotKey } from '../lake/paths.ts';
import type { BrandReport } from '../context/context.ts';
import type { Partition, TableShape } from '../ports.ts';

/** A table that is made from ledgers. */
export interface LedgerTable {
  shape: TableShape;
  /** The months whose ledgers the rows of a month follow from. */
  ledgersOf: (month: string) => readonly string[];
  /** The rows of a month, by these ledgers as they are cached; `undefined` where one is damaged: then what is published stays. */
  rowsOf: (month: string) => Promise<Row[] | undefined>;
}

/** Brings these months of a table to what the ledgers say. */
export async function writeLedgerTable(
  run: BrandReport,
  { shape, ledgersOf, rowsOf }: LedgerTable,
  months: readonly string[],
): Promise<void> {
  const { catalog } = run.lake;
  if (!catalog || months.length === 0) return;
  await catalog.ensureTable(shape);
  const leading = monthPartition(run.brand, run.report.name);
  const [from = '', ...later] = months.toSorted();
  const within = { from, to: later.at(-1) ?? from };
  const published = await catalog.snapshotsByPartition(shape.name, leading, within);
  for (const month of months) {
    const partition = monthPartition(run.brand, run.report.name, month);
    let snapshots = published.get(partitionPath(partition)) ?? [];
    for (;;) {
      const rows = await rowsOf(month);
      if (!rows) break;
      const content = contentId(rows);
      const isPublished = snapshots.length === 1 && snapshots[0]?.startsWith(`${content}-`);
      // A month without rows has no partition, unless it had some before.
      if (isPublished || (rows.length === 0 && snapshots.length === 0)) break;
      const snapshot = `${content}-${run.newId()}`;
      await writeRows(run, shape, partition, snapshot, rows);
      await catalog.setSnapshot(shape, partition, snapshot);
      snapshots = [snapshot];
      // Another run may have committed since, and its rows, older or newer, were replaced by these.
      await Promise.all(ledgersOf(month).map((each) => refreshUndamaged(run.ledger(each))));
    }
  }
}

function contentId(rows: readonly Row[]): string {
  const content = JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  return hash('sha256', content, 'hex').slice(0, 16);
}

async function writeRows(
  { lake }: BrandReport,
  { name, columns }: TableShape,
  partition: Partition,
  snapshot: string,
  rows: readonly Row[],
): Promise<void> {
  const { writeParquet } = await loadParquet();
  const parquet = writeParquet(lake.store.create(snapshotKey(name, partition, snapshot)), columns);
  for (const row of rows) await parquet.append(row);
  await parquet.finish();
}

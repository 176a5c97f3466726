/*
 * Writes tables from ledgers alone, with a partition for each brand, report and month. They keep no state of their own,
 * so they can be rebuilt at any time, and are published like any partition. The id of a snapshot begins with a hash of
 * everything that its rows depend on, so rows that are already published are not written again.
 */
import { hash } from 'node:crypto';
import { undamaged } from '../lake/documents/cas-document.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import type { Row } from '../lake/table/columns.ts';
import { monthPartition, partitionPath, partitionPrefix, snapshotKey } from '../lake/paths.ts';
import type { BrandReport } from '../context/context.ts';
import type { TableShape } from '../ports.ts';

export interface LedgerTable {
  shape: TableShape;
  rowsOf: (month: string) => readonly Row[] | Promise<readonly Row[]>;
}

/** @param checksObjects whether a month whose object is lost is written again; this costs one more listing */
export async function writeLedgerTable(
  run: BrandReport,
  { shape, rowsOf }: LedgerTable,
  months: readonly string[],
  checksObjects: boolean,
): Promise<void> {
  const { catalog } = run.lake;
  if (!catalog || months.length === 0) return;
  await catalog.ensureTable(shape);
  const leading = monthPartition(run.brand, run.report.name);
  const [from = '', ...later] = months.toSorted();
  const within = { from, to: later.at(-1) ?? from };
  const published = await catalog.snapshotsByPartition(shape.name, leading, within);
  const stored = checksObjects
    ? new Set(
        await Array.fromAsync(run.lake.store.list(partitionPrefix(shape.name, leading)), ({ key }) => key),
      )
    : undefined;
  for (const month of months) {
    const partition = monthPartition(run.brand, run.report.name, month);
    let snapshots = published.get(partitionPath(partition)) ?? [];
    for (;;) {
      const rows = await rowsOf(month);
      const id = hashOf(rows);
      const [only = '', ...others] = snapshots;
      const isThere = stored?.has(snapshotKey(shape.name, partition, only)) ?? true;
      const isPublished = others.length === 0 && only.startsWith(`${id}-`) && isThere;
      // A month without rows has no partition, unless it had rows before.
      if (isPublished || (rows.length === 0 && snapshots.length === 0)) break;
      const snapshot = `${id}-${run.newId()}`;
      await writeSnapshot(run, shape, snapshotKey(shape.name, partition, snapshot), rows);
      stored?.add(snapshotKey(shape.name, partition, snapshot));
      await catalog.setSnapshot(shape, partition, snapshot);
      snapshots = [snapshot];
      // Another run may have committed meanwhile, and these rows may have replaced its rows, older or newer.
      await undamaged(run.ledger(month).refresh());
    }
  }
}

function hashOf(rows: readonly Row[]): string {
  const content = JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
  return hash('sha256', content, 'hex').slice(0, 16);
}

async function writeSnapshot(
  { lake }: BrandReport,
  { columns }: TableShape,
  key: string,
  rows: readonly Row[],
): Promise<void> {
  const { writeParquet } = await loadParquet();
  const parquet = writeParquet(lake.store.create(key), columns);
  try {
    for (const row of rows) await parquet.append(row);
    await parquet.finish();
  } catch (thrown) {
    await parquet.abort();
    throw thrown;
  }
}

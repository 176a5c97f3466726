import type { ReportName } from '../../sample/brand.ts';
import { changesPartition, partitionPath, snapshotKey } from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { ledgerEntry, rowsOf } from './lake-contents.ts';
import { BRAND, type SampleLake } from './sample-lake.ts';

/**
 * The rows of `changes` of a day; `[]` where the ledger names none. NULLs are left out.
 * @throws where the catalog does not point at what the ledger names
 */
export async function changesOf(lake: SampleLake, report: ReportName, day: string): Promise<Row[]> {
  const { committed } = await ledgerEntry(lake, report, day);
  const partition = changesPartition(BRAND, report, day);
  const pointer = lake.catalog.pointers.get(`changes/${partitionPath(partition)}`);
  const snapshot = committed?.changes?.snapshot;
  if (pointer !== snapshot) throw new Error(`the catalog points at ${pointer}, the ledger at ${snapshot}`);
  if (snapshot === undefined) return [];
  const rows = await rowsOf(lake, snapshotKey('changes', partition, snapshot));
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined)),
  );
}

/** Those that sum up a change each, the oldest first. */
export function sumsOfChanges(rows: readonly Row[]): Row[] {
  return rows.filter(({ what }) => what === 'day');
}

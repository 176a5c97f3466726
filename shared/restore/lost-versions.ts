import { mapConcurrent } from '../concurrency.ts';
import {
  type DayOfLedger,
  type ReportLedgers,
  daysOfLedgers,
  snapshotKeyOf,
} from '../lake/documents/read.ts';
import { brandPartitions, partitionPrefix } from '../lake/paths.ts';
import type { ObjectStore } from '../ports.ts';

export interface LostVersion {
  day: DayOfLedger;
  snapshot: string;
  key: string;
  problem: 'is missing' | 'is cut off';
}

const PARALLEL_READS = 8;
const PARQUET_END = 'PAR1';

/** How many older versions the ledgers name, and which of them are lost; versions that a restore has already noted are left out. */
export async function lostVersions(
  store: ObjectStore,
  of: ReportLedgers,
  isWanted: (day: DayOfLedger) => boolean,
): Promise<{ count: number; lost: LostVersion[] }> {
  const versions = daysOfLedgers([of]).filter(isWanted).flatMap(olderVersions);
  if (versions.length === 0) return { count: 0, lost: [] };
  const sizes = new Map<string, number>();
  // The vacuum deletes a version a day after its ledger has forgotten it, so a version that is named here must be there.
  for await (const { key, bytes } of store.list(partitionPrefix(of.report.table, brandPartitions(of.brand))))
    sizes.set(key, bytes);
  const lost = await mapConcurrent(versions, PARALLEL_READS, async (version): Promise<LostVersion[]> => {
    const bytes = sizes.get(version.key);
    const end = bytes && (await store.range(version.key, Math.max(0, bytes - PARQUET_END.length), bytes));
    if (end && Buffer.from(end).toString('latin1') === PARQUET_END) return [];
    return [{ ...version, problem: bytes === undefined ? 'is missing' : 'is cut off' }];
  });
  return { count: versions.length, lost: lost.flat() };
}

function olderVersions(day: DayOfLedger): Omit<LostVersion, 'problem'>[] {
  const { superseded = [], committed } = day.entry;
  const ids = new Set(superseded.flatMap(({ snapshot, isLost }) => (isLost ? [] : [snapshot])));
  ids.delete(committed?.snapshot ?? '');
  return [...ids].map((snapshot) => ({ day, snapshot, key: snapshotKeyOf(day, snapshot) }));
}

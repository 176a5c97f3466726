import { coveragePartition, partitionPrefix, snapshotOfKey } from '../lake/paths.ts';
import type { RunContext } from '../pipeline/context.ts';
import { SNAPSHOT_GRACE_MS } from '../pipeline/vacuum.ts';
import { coverageTable } from './coverage.ts';

/** Removes old snapshots of coverage that the catalog does not point at: its rows follow from the ledgers alone. */
export async function vacuumCoverage({ brand, report, lake, clock }: RunContext): Promise<void> {
  if (!lake.catalog) return;
  const leading = coveragePartition(brand, report.name);
  const byPartition = await lake.catalog.snapshotsByPartition(coverageTable.name, leading);
  const published = new Set([...byPartition.values()].flat());
  const keys: string[] = [];
  const prefix = partitionPrefix(coverageTable.name, leading);
  for await (const { key, modifiedAt } of lake.store.list(prefix)) {
    const id = snapshotOfKey(key);
    if (id === undefined || published.has(id)) continue;
    if (clock.wallMs() - modifiedAt.getTime() >= SNAPSHOT_GRACE_MS) keys.push(key);
  }
  if (keys.length > 0) await lake.store.delete(keys);
}

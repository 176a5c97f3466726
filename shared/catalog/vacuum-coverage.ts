import { partitionPath } from '../lake/paths.ts';
import type { RunContext } from '../pipeline/context.ts';
import { SNAPSHOT_GRACE_MS } from '../pipeline/vacuum.ts';
import type { Partition } from '../ports.ts';
import { coverageTable } from './coverage.ts';

/** Removes old snapshots of coverage that the catalog does not point at: its rows follow from the ledgers alone. */
export async function vacuumCoverage({ brand, report, lake, clock }: RunContext): Promise<void> {
  if (!lake.catalog) return;
  const leading: Partition = [
    ['brand', brand],
    ['report', report.name],
  ];
  const byPartition = await lake.catalog.snapshotsByPartition(coverageTable.name, leading);
  const published = new Set([...byPartition.values()].flat());
  const keys: string[] = [];
  const prefix = `snapshots/${coverageTable.name}/${partitionPath(leading)}/`;
  for await (const { key, modifiedAt } of lake.store.list(prefix)) {
    const id = key.split('/').at(-2) ?? '';
    if (!published.has(id) && clock.wallMs() - modifiedAt.getTime() >= SNAPSHOT_GRACE_MS) keys.push(key);
  }
  if (keys.length > 0) await lake.store.delete(keys);
}

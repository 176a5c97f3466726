import { monthPartition, LEDGER_TABLES, partitionPrefix, snapshotOfKey } from '../lake/paths.ts';
import type { RunContext } from '../context/context.ts';
import { SNAPSHOT_GRACE_MS } from './vacuum.ts';
import type { ListedObject } from '../ports.ts';

/**
 * Removes snapshots of the tables made from ledgers that the catalog does not point at: their rows follow from the ledgers
 * alone. No document says when one was replaced, so the next newer one tells it (I3). The newest of a month may be one
 * that a run is about to publish; if it is as old as that, the run died before.
 */
export async function vacuumLedgerTables(ctx: RunContext): Promise<void> {
  for (const table of LEDGER_TABLES) await vacuumTable(ctx, table);
}

async function vacuumTable({ brand, report, lake, clock }: RunContext, table: string): Promise<void> {
  if (!lake.catalog) return;
  const leading = monthPartition(brand, report.name);
  const byPartition = await lake.catalog.snapshotsByPartition(table, leading);
  const published = new Set([...byPartition.values()].flat());
  const listed = await Array.fromAsync(lake.store.list(partitionPrefix(table, leading)));
  const snapshots = listed.flatMap((object) => {
    const id = snapshotOfKey(object.key);
    return id === undefined ? [] : [{ ...object, id }];
  });
  const keys = [...Map.groupBy(snapshots, partitionOf).values()].flatMap((ofMonth) => {
    const oldestFirst = ofMonth.toSorted((a, b) => a.modifiedAt.getTime() - b.modifiedAt.getTime());
    return oldestFirst.flatMap((snapshot, index) => {
      const replacement = oldestFirst[index + 1];
      const isInUse = ageMs(replacement ?? snapshot) < SNAPSHOT_GRACE_MS;
      return published.has(snapshot.id) || isInUse ? [] : [snapshot.key];
    });
  });
  if (keys.length > 0) await lake.store.delete(keys);

  function ageMs({ modifiedAt }: ListedObject): number {
    return clock.earlierMs() - modifiedAt.getTime();
  }
}

function partitionOf({ key }: ListedObject): string {
  return key.split('/').slice(0, -2).join('/');
}

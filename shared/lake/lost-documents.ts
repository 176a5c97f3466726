/**
 * Shows whether a missing ledger was lost or never written. A run writes the ledger of a month before its first snapshot, so
 * snapshots without a ledger prove damage. If such a month counted as unread, the vacuum would delete its snapshots, also of
 * days that the service no longer has.
 */
import { monthOf } from '../base/days.ts';
import type { ObjectStore } from '../ports.ts';
import { brandPartitions, parseSnapshotKey, partitionPrefix, tablePrefix } from './paths.ts';

export async function snapshotMonths(
  store: ObjectStore,
  table: string,
  brand?: string,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>();
  const prefix = brand === undefined ? tablePrefix(table) : partitionPrefix(table, brandPartitions(brand));
  for await (const { key } of store.list(prefix)) {
    const of = parseSnapshotKey(table, key);
    if (of) found.set(of.brand, (found.get(of.brand) ?? new Set()).add(monthOf(of.day)));
  }
  return found;
}

export function lostLedger(month: string): string {
  return `it is missing, but the lake has snapshots of ${month}`;
}

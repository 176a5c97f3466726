import type { DayEntry } from '../../../shared/lake/ledger.ts';

/** The snapshot of a day that queries found at `atMs`; `undefined`: none yet. */
export function versionAt(
  { committed, superseded = [], firstCommittedAt = '9999' }: DayEntry,
  atMs: number,
): string | undefined {
  if (atMs < Date.parse(firstCommittedAt)) return undefined;
  const found = superseded.find(({ at }) => at === null || atMs < Date.parse(at)) ?? committed;
  return found?.snapshot;
}

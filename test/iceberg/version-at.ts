import { versionsOf } from '../../shared/history/versions.ts';
import type { DayEntry } from '../../shared/lake/documents/ledger.ts';

/** The snapshot of a day that queries found at `atMs`; `undefined`: none, or it is no longer kept. */
export function versionAt(entry: DayEntry, atMs: number): string | undefined {
  const { fromMs = Number.POSITIVE_INFINITY, snapshot } =
    versionsOf(entry).find(({ toMs = Number.POSITIVE_INFINITY }) => atMs < toMs) ?? {};
  return fromMs <= atMs ? snapshot : undefined;
}

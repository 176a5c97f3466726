import { undamaged } from '../lake/documents/cas-document.ts';
import { type DayChanges, type Ledger, restoreChanges } from '../lake/documents/ledger.ts';
import { changesKey, changesPrefix } from '../lake/paths.ts';
import type { BrandReport } from '../context/context.ts';
import { appendChanges, changesTable, rewriteChanges } from '../history/index.ts';
import { type MonthContent, writeLedgerTable } from './ledger-tables.ts';

export async function writeChanges(
  run: BrandReport,
  months: readonly string[],
  checksObjects = false,
): Promise<void> {
  if (checksObjects) await restoreMissing(run, months);
  /**
   * Ids of objects that cannot be read and have no copy. The identity of the month leaves them out, so each later run
   * tries again.
   */
  const lost = new Set<string>();
  const contentOf = async (month: string): Promise<MonthContent | undefined> => {
    const ledger = await undamaged(run.ledger(month).cached());
    if (!ledger) return undefined;
    const days = changedDays(ledger).filter(({ changes }) => !lost.has(changes.snapshot));
    return {
      identity: days.map(({ day, changes }) => [day, changes.snapshot]),
      async write(file) {
        for (const { day, changes } of days) {
          if ((await appendChanges(file, run, day, changes)) === undefined) continue;
          if (!(await restored(run, month, day, changes))) lost.add(changes.snapshot);
          return false;
        }
        return true;
      },
    };
  };
  await writeLedgerTable(run, { shape: changesTable, contentOf }, months, checksObjects);
}

function changedDays({ days }: Ledger): { day: string; changes: DayChanges }[] {
  const changed = Object.entries(days).flatMap(([day, { committed }]) =>
    committed?.changes ? [{ day, changes: committed.changes }] : [],
  );
  return changed.sort((a, b) => (a.day < b.day ? -1 : 1));
}

/** Rewrites objects of days that are missing or have another size, from the rows that the table still has. */
async function restoreMissing(run: BrandReport, months: readonly string[]): Promise<void> {
  const { brand, report, lake } = run;
  const sizes = new Map<string, number>();
  for await (const { key, bytes } of lake.store.list(changesPrefix(brand, report.name)))
    sizes.set(key, bytes);
  for (const month of months) {
    const ledger = await undamaged(run.ledger(month).cached());
    for (const { day, changes } of ledger ? changedDays(ledger) : []) {
      const bytes = sizes.get(changesKey(brand, report.name, day, changes.snapshot));
      if (bytes !== changes.bytes) await restored(run, month, day, changes);
    }
  }
}

/** @returns whether the ledger now references an object with the day's changes */
async function restored(run: BrandReport, month: string, day: string, lost: DayChanges): Promise<boolean> {
  const changes = await rewriteChanges(run, day, lost);
  if (!changes) return false;
  await run.ledger(month).update((ledger) => restoreChanges(ledger, day, lost.snapshot, changes));
  return true;
}

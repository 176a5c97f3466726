/*
 * Replaces the version of a day that the caller has claimed and whose new version is written. Readings, rollbacks
 * and rebuilds all use it:
 * 1. It records the change and the lifecycle rows of the new version.
 * 2. One transition of the ledger commits all of it (I4).
 * When each of them had code of its own, a step was forgotten: the claim that protects the version from the vacuum, the
 * change, or the check that no other run was faster (I5).
 */
import type { BrandReport } from '../context/context.ts';
import { type OpenDay, changeDay } from '../context/open-day.ts';
import { logChange, recordChange } from '../history/index.ts';
import { type LifecycleContext, recordLifecycle } from '../lifecycle/index.ts';
import { type Committed, type DayCommit, commitDay, isWhole } from '../lake/documents/ledger.ts';
import type { RowHashes } from '../lake/table/digest.ts';

export interface Replacement extends Pick<DayCommit, 'runId' | 'reading'> {
  /** What the ledger records from then on. Findings of data checks may be copied from the version before. */
  next: (before: Committed | undefined) => Omit<Committed, 'changes' | 'lifecycle'>;
  hashes?: RowHashes | undefined;
  /** When the reading that replaces the version ended, by the service's time; missing: now. */
  endedMs?: number;
  cause: 'reading' | 'rollback' | 'rebuild';
}

/** @throws BrandReportsError `conflict` if another run has taken the day over; then nothing has changed */
export async function replaceVersion(
  ctx: BrandReport & Pick<LifecycleContext, 'settings'>,
  open: OpenDay,
  { runId, next, hashes, reading, endedMs, cause }: Replacement,
): Promise<OpenDay> {
  const { day, committed: replaced } = open;
  const after = next(replaced);
  const changes = replaced && (await changesOf());
  const lifecycle = await recordLifecycle(ctx, day, { before: replaced, after, cause, endedMs });
  const isOther = lifecycle?.snapshot !== replaced?.lifecycle?.snapshot;
  const wallMs = ctx.clock.wallMs();
  const replacing = await changeDay(ctx, open, (ledger) => {
    const recorded = next(ledger.days[day]?.committed);
    const committed = {
      ...{ ...recorded, published: recorded.published && (!isOther || ctx.lake.catalog === undefined) },
      ...(changes && { changes }),
      ...(lifecycle && { lifecycle }),
    };
    return commitDay(ledger, day, { runId, committed, wallMs, ...(reading && { reading }) });
  });
  if (changes && changes !== replaced.changes) logChange(ctx, day, after.rows, changes);
  return replacing;

  async function changesOf() {
    if (!replaced) return undefined;
    // If a day whose ledger was made from snapshots is not over, its new version shows only that the day has grown.
    if (after.state === 'open' && !isWhole(replaced)) return replaced.changes;
    const afterHashes = hashes && { afterHashes: hashes };
    return recordChange(ctx, day, { before: replaced, after, ...afterHashes, cause });
  }
}

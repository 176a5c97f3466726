/*
 * The one way in which the version of a day is replaced, by a reading, a rollback or a rebuild: the day is claimed, the
 * version is there, its change and what became of its records are recorded, and one transition of the ledger commits all
 * of it (I4). Each way of its own used to
 * forget a part of it: a claim that keeps the version from the vacuum, a change, or the check that nobody was faster (I5).
 */
import type { BrandReport } from '../context/context.ts';
import { type OpenDay, changeDay } from '../context/open-day.ts';
import { logChange, recordChange } from '../history/index.ts';
import { type LifecycleContext, recordLifecycle } from '../lifecycle/index.ts';
import { type Committed, type DayCommit, commitDay, isWhole } from '../lake/documents/ledger.ts';
import type { RowHashes } from '../lake/table/digest.ts';

/** A version of a day that the run has claimed. */
export interface Replacement extends Pick<DayCommit, 'runId' | 'reading'> {
  /** What the ledger says from then on; what checks found meanwhile may be taken over. */
  next: (before: Committed | undefined) => Omit<Committed, 'changes' | 'lifecycle'>;
  /** The hashes of its rows, where they are known. */
  hashes?: RowHashes | undefined;
  /** When the reading ended that replaces the version, by the service's time; missing: now. */
  endedMs?: number;
  /** Of an erasure no change is recorded: it would have what was erased. */
  cause: 'reading' | 'rollback' | 'rebuild' | 'erasure';
}

/** @throws BrandReportsError `conflict` where another run has taken the day over; then nothing was changed */
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
    const said = next(ledger.days[day]?.committed);
    const committed = {
      ...{ ...said, published: said.published && (!isOther || ctx.lake.catalog === undefined) },
      ...(changes && { changes }),
      ...(lifecycle && { lifecycle }),
    };
    const { sendsOpenDay } = ctx;
    return commitDay(ledger, day, { runId, committed, wallMs, sendsOpenDay, ...(reading && { reading }) });
  });
  if (changes && changes !== replaced.changes) logChange(ctx, day, after.rows, changes);
  return replacing;

  async function changesOf() {
    if (!replaced || cause === 'erasure') return undefined;
    // Of a repaired day that is not over nobody knows more than that it has grown.
    if (after.state === 'open' && !isWhole(replaced)) return replaced.changes;
    const afterHashes = hashes && { afterHashes: hashes };
    return recordChange(ctx, day, { before: replaced, after, ...afterHashes, cause });
  }
}

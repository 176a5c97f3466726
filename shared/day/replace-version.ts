/*
 * Replaces the version of a day that the caller has claimed. One transition of the ledger commits the version and what
 * it changes (I4). Readings, rollbacks and rebuilds all use it. When each had code of its own, a step was forgotten: the
 * claim that protects the version from the vacuum, the change, or the check that no other run was faster (I5).
 */
import type { BrandReport } from '../context/context.ts';
import { type OpenDay, changeDay } from '../context/open-day.ts';
import { type HistoryContext, type Replaced, historyAfter } from '../history/index.ts';
import { type Committed, type DayCommit, commitDay } from '../lake/ledger.ts';

export interface Replacement
  extends Pick<DayCommit, 'runId' | 'reading'>,
    Pick<Replaced, 'hashes' | 'noted' | 'cause'> {
  /** What the ledger records from then on. Findings of data checks may be copied from the version before. */
  next: (before: Committed | undefined) => Omit<Committed, 'history'>;
  /** When the reading that replaces the version ended, by the service's time; missing: now. */
  endedMs?: number;
}

export async function replaceVersion(
  ctx: BrandReport & HistoryContext,
  open: OpenDay,
  { runId, next, reading, ...replacing }: Replacement,
): Promise<OpenDay> {
  const { day, entry, committed: replaced } = open;
  const after = next(replaced);
  const history = await historyAfter(ctx, day, entry, { ...replacing, before: replaced, after });
  const wallMs = ctx.clock.wallMs();
  const changed = await changeDay(ctx, open, (ledger) => {
    const committed = { ...next(ledger.days[day]?.committed), history };
    return commitDay(ledger, day, { runId, committed, wallMs, ...(reading && { reading }) });
  });
  const { history: before } = replaced ?? {};
  if (before && history?.last && history.place !== before.place) {
    const { rowsBefore, added, removed, altered } = history.last;
    ctx.log({ event: 'day_changed', day, rowsBefore, rows: after.rows, added, removed, altered });
  }
  return changed;
}

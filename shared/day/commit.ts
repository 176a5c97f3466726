import { type Committed, type DayCommit, commitDay, laterReading } from '../lake/ledger.ts';
import { comparedWith } from '../findings/index.ts';
import { type HistoryContext, type Replaced, haveMoved, historyAfter } from '../history/index.ts';
import { isAfterRefresh, isLast } from '../planning/due.ts';
import { readingOf } from '../planning/reading.ts';
import { afterReading } from '../planning/transitions.ts';
import type { BuiltSnapshot } from './build.ts';
import type { Attempt } from './claim.ts';
import type { BrandReport, RunContext } from '../context/context.ts';
import { type OpenDay, changeDay } from '../context/open-day.ts';

/**
 * Records a reading in the ledger (I4). If the reading is believed, its version is committed; if not, the ledger
 * records that the version before stays (I11). The commit checks the claim: without it, a process that wakes up after
 * an hour would overwrite newer data.
 * @returns `isKept`: whether the version before stays although the reading differs
 */
export async function commit(
  ctx: RunContext,
  attempt: Attempt,
  { unchanged, ...snapshot }: BuiltSnapshot,
  { continuation, isAccepted }: { continuation: string; isAccepted: boolean },
): Promise<{ open: OpenDay; isKept: boolean }> {
  const { policy, runId } = ctx;
  const { day, id, progress, committed: replaced } = attempt;
  const { slices } = await progress.cached();
  const nowMs = ctx.clock.now().getTime();
  const { startedMs, endedMs, closed, mayHaveGap, isSplit, recorded } = readingOf(day, policy, slices, nowMs);
  const { hasReturnedRecords } = await ctx.reportState.cached();
  const { queryFingerprint } = policy;
  // Looked-up records belong to the day as their upstream records were read.
  const timeZone = attempt.upstream?.committed?.timeZone ?? policy.timeZone;
  // If the service has never returned a record, the address or the credentials may be another brand's.
  const isVerified = hasReturnedRecords || snapshot.rows > 0;
  const nextOf = (counts: Pick<Committed, 'rows' | 'values'>, acceptsFewer = isAccepted) => {
    const last = isLast(day, policy, startedMs, counts) && isVerified && !recorded.refusedLookups?.retryAt;
    return afterReading(
      replaced,
      {
        ...{ kind: closed ? 'whole' : 'open', rows: snapshot.rows, digest: snapshot.digest },
        // I11: no later reading would correct the last one.
        ...{ queryFingerprint, isAlone: !mayHaveGap && !(last && isSplit), isAccepted: acceptsFewer },
      },
      { last, past: isAfterRefresh(day, policy, startedMs) },
    );
  };
  let read = nextOf(snapshot);
  if (read?.outcome.keeps && replaced && snapshot.rows < replaced.rows) {
    const reading = { ...snapshot, upstreamDigest: recorded.upstreamDigest };
    if (await haveMoved(ctx, day, replaced, reading)) read = nextOf(snapshot, true);
  }
  // If the version stays, its records decide whether the policy requires further readings.
  const next = read?.outcome.keeps && replaced ? nextOf(replaced) : read;
  if (!next) throw laterReading(day, replaced);
  const keeps = next.outcome.keeps ? replaced : undefined;
  const { upstreamDigest } = recorded;
  const disregarded = {
    ...{ at: recorded.readFrom, rows: snapshot.rows, queryFingerprint },
    ...(upstreamDigest !== undefined && { upstreamDigest }),
  };
  const content = { ...snapshot, unchanged, at: recorded.readFrom, queryFingerprint };
  const open = await replaceVersion(ctx, attempt, {
    runId,
    reading: { continuation, ...(keeps && { disregarded }) },
    endedMs,
    cause: 'reading',
    next: (before): Committed => {
      if (keeps) return { ...(before ?? keeps), ...next.recorded };
      const compared = comparedWith(before, content);
      return {
        ...snapshot,
        // Without a catalog, readers follow the ledger, so the version counts as published.
        published: ctx.lake.catalog === undefined || (unchanged && (before?.published ?? false)),
        ...next.recorded,
        attempt: id,
        ...recorded,
        timeZone,
        queryFingerprint,
        ...(compared && { comparedWith: compared }),
      };
    },
  });
  return { open, isKept: keeps !== undefined };
}

export interface Replacement extends Pick<DayCommit, 'runId' | 'reading'>, Pick<Replaced, 'cause'> {
  /** What the ledger records from then on. */
  next: (before: Committed | undefined) => Omit<Committed, 'history'>;
  /** When the reading that replaces the version ended, by the service's time; missing: now. */
  endedMs?: number;
}

/**
 * Replaces the version of a day that the caller has claimed. One transition of the ledger commits the version and what
 * it changes (I4). Readings, rollbacks and rebuilds all use it. When each had code of its own, a step was forgotten: the
 * claim that protects the version from the vacuum, the change, or the check that no other run was faster (I5).
 */
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

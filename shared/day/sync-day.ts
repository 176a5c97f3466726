/*
 * Syncs one day. Before the commit, SQL does not see the snapshot. After the commit nothing can be lost: if this run
 * does not publish the snapshot, the next run does. A failure before the commit is recorded with the day.
 *
 * Another run takes the day over if it gets the lease of the brand. The claim in the ledger decides at the commit, and the
 * run that has lost its claim ends the day as `busy`.
 */
import { type BrandReportsError, redactedFailure, stackOf } from '../base/errors.ts';
import { abandonDay, failDay, releaseDay } from '../lake/ledger.ts';
import { pagesIn } from '../lake/progress.ts';
import { type DayOutcome, errorSummary } from '../base/outcome.ts';
import { isAfterRefresh } from '../planning/due.ts';
import type { Continuation, DueDay } from '../planning/plan.ts';
import { concernsNoDay, isEndOfRun } from '../service/retry.ts';
import { afterReading } from '../planning/transitions.ts';
import { type Attempt, assertOwn, claim } from './claim.ts';
import { commit } from './commit.ts';
import type { RunContext } from '../context/context.ts';
import { changeDay, openDay, upstreamEntry } from '../context/open-day.ts';
import { publishDay } from './publish.ts';
import { readDay } from './read-day.ts';

export interface SyncedDay {
  outcome: DayOutcome;
  error?: BrandReportsError;
  /** The run can send no more requests for the brand, so the report's other days need not be claimed. */
  endsReport?: true;
}

export async function syncDay(
  ctx: RunContext,
  { day, reason }: DueDay,
  continuation: Continuation,
  onFetched: () => void,
): Promise<SyncedDay> {
  const isRequested = continuation.range !== undefined;
  let claimed: Attempt | undefined;
  try {
    const toRead = { ...(await openDay(ctx, day)), upstream: await upstreamEntry(ctx, day) };
    claimed = await claim(ctx, toRead, isRequested);
    if (!claimed) return ended(ctx, day, 'busy');
    ctx.log({ event: 'day_claimed', day, reason, resumed: (await pagesStaged(claimed)) > 0 });
    const snapshot = await readDay(ctx, claimed, isRequested, onFetched);
    if (!snapshot) return await left(ctx, claimed, 'pending');
    const isAccepted = ctx.acceptsFewer && isRequested;
    const { open, isKept } = await commit(ctx, claimed, snapshot, {
      continuation: continuation.id,
      isAccepted,
    });
    // `published` is also false for an unchanged day whose snapshot was committed but never published.
    if (!open.committed?.published) await publishDay(ctx, day);
    const read = snapshot.unchanged ? 'unchanged' : 'published';
    const done = ended(ctx, day, isKept ? 'kept' : read, snapshot.rows, await pagesStaged(claimed));
    const refusedLookups = open.committed?.refusedLookups?.count;
    return { outcome: { ...done.outcome, ...(refusedLookups && { refusedLookups }) } };
  } catch (thrown) {
    const error = redactedFailure(thrown, ctx.service);
    if (claimed && error.code === 'later_reading') return await left(ctx, claimed, 'busy');
    // Only a claimed day makes requests.
    const endsRun = isEndOfRun(error);
    if (claimed && (endsRun || concernsNoDay(error)))
      return { ...(await left(ctx, claimed, 'pending')), endsReport: true, ...(!endsRun && { error }) };
    if (error.kind === 'conflict') return ended(ctx, day, 'busy');
    await recordFailure(ctx, day, claimed, error, isRequested);
    return { ...ended(ctx, day, 'failed', 0, claimed ? await pagesStaged(claimed) : 0), error };
  }
}

function ended(ctx: RunContext, day: string, outcome: DayOutcome['outcome'], rows = 0, pages = 0): SyncedDay {
  ctx.log({ event: 'day_ended', day, outcome, rows, pages });
  return { outcome: { dt: day, outcome, rows, pages } };
}

/** `pending`: a later run may resume what is staged. `busy`: a later reading is committed, and this reading is not resumed. */
async function left(ctx: RunContext, attempt: Attempt, outcome: 'pending' | 'busy'): Promise<SyncedDay> {
  const { day } = attempt;
  const letGo = outcome === 'pending' ? releaseDay : abandonDay;
  await changeDay(ctx, attempt, (ledger) => letGo(ledger, day, ctx.runId));
  return ended(ctx, day, outcome, 0, await pagesStaged(attempt));
}

async function pagesStaged({ progress }: Attempt): Promise<number> {
  return pagesIn((await progress.cached()).slices.slice(-1));
}

/**
 * The next run resumes after the pages that were staged before the failure, so that a day with one bad page costs a few
 * requests. If the staged records themselves cause the failure, everything that is not committed is read again. Damaged
 * chunks are dropped here, because the next slice of an open day would read them again.
 */
async function recordFailure(
  ctx: RunContext,
  day: string,
  attempt: Attempt | undefined,
  error: BrandReportsError,
  isRequested: boolean,
): Promise<void> {
  const { runId } = ctx;
  const { queryFingerprint } = ctx.policy;
  const { kind, code, message, context } = error;
  const { retryAfterMs } = context;
  const nowMs = ctx.clock.now().getTime();
  const isDamaged = code === 'damaged_chunk';
  ctx.log({ event: 'day_failed', day, ...errorSummary(error), ...stackOf(error) });
  try {
    if (isDamaged)
      await attempt?.progress.update((current) => ({ ...assertOwn(current, runId, day), slices: [] }));
    const keep = await isResumable(attempt, error);
    const isPast = isAfterRefresh(day, ctx.policy, nowMs);
    await changeDay(ctx, { day }, (ledger) =>
      failDay(ledger, day, {
        ...{ runId, kind, code, message, queryFingerprint, nowMs, keep, isPast, isRequested },
        after: ctx.hasReturned()
          ? afterReading(ledger.days[day]?.committed, { kind: 'failed' }, { past: isPast, last: isPast })
              ?.recorded
          : undefined,
        ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
      }),
    );
  } catch (thrown) {
    const { message: cause } = redactedFailure(thrown, ctx.service);
    ctx.log({ event: 'failure_not_recorded', day, message: cause });
  }
}

async function isResumable(
  attempt: Attempt | undefined,
  { kind, code }: BrandReportsError,
): Promise<boolean> {
  if (code === 'damaged_chunk') return false;
  if (kind === 'transient') return true;
  const slice = (await attempt?.progress.cached())?.slices.at(-1);
  return slice?.done === false && slice.parts.some(({ pages }) => pages > 0);
}

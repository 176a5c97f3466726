/*
 * Claims a day for one run. A commit needs the claim in the ledger: if another run takes the day over, it replaces the
 * claim, and the commit of the previous run is refused (I5). A run reads days while it holds the lease of the brand, so it
 * takes every claimed day over: the run that claimed it has ended, or has lost the lease.
 */
import type { ErrorCode } from '../base/error-codes.ts';
import { BrandReportsError, rethrowBugs } from '../base/errors.ts';
import { type CasDocument, undamaged } from '../lake/cas-document.ts';
import {
  type Claim,
  type DayEntry,
  claimDay,
  claimLost,
  isClosedForLookups,
  type Ledger,
} from '../lake/ledger.ts';
import { EMPTY_PROGRESS, type Progress, type Slice, assertOwn } from '../lake/progress.ts';
import {
  RESUME_WITHIN_HOURS,
  type DaySituation,
  type Obstacle,
  asResumed,
  attemptToContinue,
  decideAttempt,
  slicesAfterRestart,
} from '../planning/attempt-decision.ts';
import type { RunContext } from '../context/context.ts';
import { type OpenDay, changeDay, upstreamEntry } from '../context/open-day.ts';

const MAX_RESTARTS = 3;

export type RestartCause = Obstacle | 'last_page_changed' | 'cursor_died' | 'key_conflict';

/** A claimed day and the attempt to read it, whose pages may come from several runs. */
export interface Attempt extends OpenDay {
  id: string;
  progress: CasDocument<Progress>;
  resumed: boolean;
  restarts: number;
}

/**
 * Claims a day in the ledger and takes over its progress document. After that, the run reads the last slice of the document,
 * or the slice is complete and waits for its commit.
 * @param isRequested whether the day is read with `--from` and `--to`: then all of it is read
 * @returns `undefined` if another run was faster
 */
export async function claim(
  ctx: RunContext,
  open: OpenDay,
  isRequested: boolean,
): Promise<Attempt | undefined> {
  const { day, entry } = open;
  const situation = await situationOf(ctx, day, isRequested);
  const earlier = attemptToContinue(entry, situation);
  // If the progress document is damaged, the attempt is dropped: its pages can be fetched again.
  const isUsable = earlier !== undefined && (await undamaged(ctx.progress(day, earlier).refresh()));
  const id = isUsable ? earlier : ctx.newId();
  const restarts = entry.claim?.restarts ?? 0;
  const mine: Claim = { attempt: id, runId: ctx.runId, at: wallTime(ctx), restarts };
  const claimed = await claimOrLeave(ctx, open, (current) => claimDay(current, day, entry.claim, mine));
  if (!claimed) return undefined;
  if (earlier !== undefined && earlier !== id) ctx.log({ event: 'attempt_dropped', day, attempt: earlier });

  const { queryFingerprint } = ctx.policy;
  if (id !== earlier) {
    // Nothing is written: only this run has the id, and nothing is lost if it dies before it stages the first pages.
    const { slices } = decideAttempt(entry, EMPTY_PROGRESS, situation);
    const first = { ...EMPTY_PROGRESS, run: ctx.runId, queryFingerprint, slices };
    return { ...claimed, id, restarts, resumed: false, progress: ctx.progress(day, id, first) };
  }
  const progress = ctx.progress(day, id);
  const staged = await progress.refresh();
  const decision = decideAttempt(entry, staged, situation);
  const attempt: Attempt = { ...claimed, id, progress, resumed: decision.kind === 'resume', restarts };
  if (decision.kind === 'restart') {
    await progress.update((current) => ({ ...current, run: ctx.runId }));
    // After a run that failed because the service did not respond, the pages grew old until this try.
    const isAfterOutage = entry.claim?.runId === null && entry.failure?.kind === 'transient';
    const isBlameless = decision.obstacle === 'too_old' && isAfterOutage;
    return restartAttempt(ctx, isBlameless ? { ...attempt, restarts: 0 } : attempt, decision.obstacle);
  }
  await progress.update((current) => {
    const { slices } = decideAttempt(entry, current, situation);
    return {
      ...current,
      run: ctx.runId,
      queryFingerprint,
      slices: decision.kind === 'resume' ? asResumed(slices) : slices,
    };
  });
  return attempt;
}

/**
 * Drops the pages of the last slice, so that it is read from its first page, and counts the restart in the claim.
 * @param conflict if the cause is `key_conflict`: the fingerprint of the records that differ
 * @throws BrandReportsError `contract` if the attempt has already been restarted too often
 */
export async function restartAttempt(
  ctx: RunContext,
  attempt: Attempt,
  cause: RestartCause,
  conflict?: string,
): Promise<Attempt> {
  const { day, id, progress } = attempt;
  const restarts = attempt.restarts + 1;
  if (restarts > MAX_RESTARTS) throw restartedTooOften(ctx, day, cause);
  ctx.log({ event: 'day_restarted', day, restarts, cause });
  const mine: Claim = { attempt: id, runId: ctx.runId, at: wallTime(ctx), restarts };
  const restarted = await changeDay(ctx, attempt, (current) => {
    const before = current.days[day]?.claim;
    if (before?.runId !== mine.runId || before.attempt !== mine.attempt) return current;
    return claimDay(current, day, before, mine);
  });
  const entry = { ...restarted.entry, claim: mine };
  const situation = await situationOf(ctx, day, false);
  await progress.update((current) => ({
    ...assertOwn(current, ctx.runId, day),
    queryFingerprint: ctx.policy.queryFingerprint,
    slices: slicesAfterRestart(entry, current, situation, conflict),
  }));
  return { ...restarted, resumed: false, restarts };
}

function restartedTooOften({ report }: RunContext, day: string, cause: RestartCause): BrandReportsError {
  const more = 'give a run more time (--max-seconds, the function’s timeout)';
  const atOnce = `${more}, so that one run reads the whole day`;
  const lastPage = 'the last page that an earlier run stored had changed when it was read again';
  const stored = `the last page was stored more than ${RESUME_WITHIN_HOURS} hours ago`;
  const upstream = 'the report whose records it looks up was read again before all lookups were done';
  const key = 'records with the same primary key differed, and a second reading has to show why';
  const reasons: Record<RestartCause, [code: ErrorCode, why: string, next: string]> = {
    cursor_died: ['cursor_dies', 'the service no longer accepted the cursor of the last page', atOnce],
    last_page_changed: ['cursor_dies', lastPage, atOnce],
    too_old: ['too_slow', stored, `start the next run earlier, raise "requestsPerSecond", or ${more}`],
    queries_changed: [
      'restarted_too_often',
      'the settings were changed while it was read',
      'leave them as is',
    ],
    upstream_changed: ['too_slow', upstream, `raise "requestsPerSecond", or ${more}`],
    key_conflict: ['restarted_too_often', key, `${more}, or set "key" to the field that identifies a record`],
    day_has_ended: ['too_slow', 'the day ended while it was read', more],
  };
  const [code, why, next] = reasons[cause];
  const message = `${report.name} ${day}: gave up after ${MAX_RESTARTS} restarts from the first page, because ${why}; ${next}`;
  return new BrandReportsError('contract', code, message);
}

type ClaimContext = Pick<RunContext, 'ledger' | 'brand' | 'report' | 'lake' | 'lease' | 'runId' | 'clock'>;

/** Whether another run reads the day: it has claimed the day and holds the lease of the brand. */
export async function isBeingRead(
  { runId, lease, lake }: Pick<ClaimContext, 'runId' | 'lease' | 'lake'>,
  { claim }: DayEntry,
): Promise<boolean> {
  if (!claim || claim.runId === null || claim.runId === runId) return false;
  const { holder } = await lease.refresh();
  return holder?.run === claim.runId && !(await lake.runs.isDead(claim.runId));
}

/**
 * Claims a day for a version that is made from objects in the lake. The claim protects the version from the vacuum
 * until it is committed. A run may later resume the pages that another run has staged.
 * @param open the day as the caller judged it
 * @returns `undefined` if another run reads the day or has replaced its version since
 */
export async function claimForVersion(ctx: ClaimContext, open: OpenDay): Promise<OpenDay | undefined> {
  const { day, entry } = open;
  if (await isBeingRead(ctx, entry)) return undefined;
  const { claim: before } = entry;
  const mine: Claim = { restarts: 0, ...before, runId: ctx.runId, at: wallTime(ctx) };
  return claimOrLeave(ctx, open, (ledger) => {
    if (!hasSameVersions(entry, ledger.days[day] ?? {})) throw claimLost(day);
    return claimDay(ledger, day, before, mine);
  });
}

/** @returns `undefined` if another run was faster */
async function claimOrLeave(
  ctx: Pick<RunContext, 'ledger' | 'brand' | 'report'>,
  open: OpenDay,
  transition: (ledger: Ledger) => Ledger,
): Promise<OpenDay | undefined> {
  try {
    return await changeDay(ctx, open, transition);
  } catch (thrown) {
    if (rethrowBugs(thrown).kind !== 'conflict') throw thrown;
    return undefined;
  }
}

function hasSameVersions(one: DayEntry, other: DayEntry): boolean {
  const versionsIn = ({ committed, superseded }: DayEntry) =>
    JSON.stringify([committed?.snapshot, committed?.attempt, committed?.readFrom, superseded]);
  return versionsIn(one) === versionsIn(other);
}

async function situationOf(ctx: RunContext, day: string, isRequested: boolean): Promise<DaySituation> {
  const { report, brandSettings, settings, policy, clock } = ctx;
  const nowMs = clock.now().getTime();
  const upstream = await upstreamEntry(ctx, day);
  return {
    day,
    nowMs,
    report,
    brandSettings,
    settings,
    queryFingerprint: policy.queryFingerprint,
    upstream: upstreamSnapshot(upstream),
    isRequested,
  };
}

function upstreamSnapshot(entry: DayEntry | undefined): Slice['upstream'] {
  if (!entry?.committed) return undefined;
  const { snapshot, digest, bytes } = entry.committed;
  return { snapshot, digest, bytes, closed: isClosedForLookups(entry.committed) };
}

function wallTime({ clock }: Pick<RunContext, 'clock'>): string {
  return new Date(clock.wallMs()).toISOString();
}

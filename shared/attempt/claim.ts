/*
 * Which run reads a day. A commit needs the claim in the ledger: a run that takes the day over replaces the claim, and
 * the commit of the previous run is refused (I5). The lease in the progress document only spares double work: a
 * claim is left alone while its run renews the lease, and taken over when that has stopped for a minute.
 */
import { MINUTE_MS, monthOf } from '../days.ts';
import type { ErrorCode } from '../error-codes.ts';
import { BrandReportsError, rethrowBugs } from '../errors.ts';
import { type CasDocument, refreshUndamaged } from '../lake/documents/cas-document.ts';
import {
  type Claim,
  type DayEntry,
  claimDay,
  claimLost,
  isClosedForLookups,
  withoutFuture,
  type Ledger,
} from '../lake/documents/ledger.ts';
import { EMPTY_PROGRESS, type Progress, type Slice, assertLeaseHeld } from '../lake/documents/progress.ts';
import {
  type AttemptDecision,
  type DaySituation,
  type Obstacle,
  asResumed,
  attemptToContinue,
  decideAttempt,
  slicesAfterRestart,
} from '../planning/attempt-decision.ts';
import { onlyRefusedDue, upstreamState } from '../planning/due.ts';
import type { RunContext } from '../context/context.ts';
import { type OpenDay, changeDay } from '../context/open-day.ts';

const LEASE_MS = MINUTE_MS;
const MAX_RESTARTS = 3;

/** Why the pages of an attempt are dropped and read again. */
export type RestartCause = Obstacle | 'last_page_changed' | 'cursor_died' | 'key_conflict';

/** A claimed day: one attempt at it, whose pages may come from several runs. */
export interface Attempt extends OpenDay {
  id: string;
  progress: CasDocument<Progress>;
  /** Whether it continues behind pages that an earlier run staged. */
  resumed: boolean;
  /** How often its pages were dropped because they could not be resumed. */
  restarts: number;
}

/**
 * Claims a day in the ledger and takes over its lease. Afterwards the last slice of the progress document is the one
 * to read, or is complete and waits to be committed.
 * @param byName whether the day was asked for by name: then all of it is read
 * @returns `undefined` where another run has the day
 */
export async function claim(ctx: RunContext, open: OpenDay, byName: boolean): Promise<Attempt | undefined> {
  const { day } = open;
  const entry = withoutFuture(open.entry);
  const situation = await situationOf(ctx, day, entry, byName);
  const earlier = attemptToContinue(entry, situation);
  // What a damaged document names can be fetched again.
  const leased = entry.claim?.attempt ?? earlier;
  const before = leased === undefined ? undefined : await refreshUndamaged(ctx.progress(day, leased));
  if (entry.claim && (await isLeaseLive(ctx, entry.claim, before))) return undefined;

  const id = before && earlier !== undefined ? earlier : ctx.newId();
  const restarts = entry.claim?.restarts ?? 0;
  const mine: Claim = { attempt: id, runId: ctx.runId, at: wallTime(ctx), restarts };
  const claimed = await claimOrLeave(ctx, open, (current) => claimDay(current, day, entry.claim, mine));
  if (!claimed) return undefined;
  if (earlier !== undefined && earlier !== id) ctx.log({ event: 'attempt_dropped', day, attempt: earlier });

  if (id !== earlier)
    return newAttempt(ctx, { ...claimed, id, restarts }, decideAttempt(entry, EMPTY_PROGRESS, situation));
  const progress = ctx.progress(day, id);
  const staged = await progress.refresh();
  const decision = decideAttempt(entry, staged, situation);
  const attempt: Attempt = { ...claimed, id, progress, resumed: decision.kind === 'resume', restarts };
  if (decision.kind === 'restart') {
    await progress.update((current) => withRenewedLease(current, ctx));
    const isBlameless = decision.obstacle === 'too_old' && waitsAfterOutage(entry);
    return restartAttempt(ctx, isBlameless ? { ...attempt, restarts: 0 } : attempt, decision.obstacle);
  }
  await progress.update((current) => ({
    ...withRenewedLease(current, ctx),
    queryFingerprint: ctx.policy.queryFingerprint,
    slices:
      decision.kind === 'resume'
        ? asResumed(current.slices)
        : decideAttempt(entry, current, situation).slices,
  }));
  return attempt;
}

/** Nobody else knows its id before the claim, and nothing is lost with it: its progress is written with its first pages. */
function newAttempt(
  ctx: RunContext,
  attempt: OpenDay & Pick<Attempt, 'id' | 'restarts'>,
  { slices }: AttemptDecision,
): Attempt {
  const { queryFingerprint } = ctx.policy;
  const first = withRenewedLease({ ...EMPTY_PROGRESS, queryFingerprint, slices }, ctx);
  return { ...attempt, progress: ctx.progress(attempt.day, attempt.id, first), resumed: false };
}

/** Whether the service did not answer the last run: until the next try pages grow old, however fast they are read. */
function waitsAfterOutage({ claim, failure }: DayEntry): boolean {
  return claim?.runId === null && failure?.kind === 'transient';
}

/** Renews the lease for another minute. */
export function withRenewedLease(progress: Progress, ctx: Pick<RunContext, 'runId' | 'clock'>): Progress {
  return { ...progress, lease: { runId: ctx.runId, renewedAt: wallTime(ctx) } };
}

/**
 * Drops the pages of the last slice, which is then read from its first page, and counts that in the claim.
 * @param conflict fingerprint of the records that differ, where the cause is `key_conflict`
 * @throws BrandReportsError `contract` where the attempt was restarted too often already
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
  const entry = { ...withoutFuture(restarted.entry), claim: mine };
  const situation = await situationOf(ctx, day, {}, false);
  await progress.update((current) => ({
    ...withRenewedLease(assertLeaseHeld(current, ctx.runId), ctx),
    queryFingerprint: ctx.policy.queryFingerprint,
    slices: slicesAfterRestart(entry, current, situation, conflict),
  }));
  return { ...restarted, resumed: false, restarts };
}

function restartedTooOften(
  { report, brandSettings }: RunContext,
  day: string,
  cause: RestartCause,
): BrandReportsError {
  const more = 'give a run more time (--max-seconds, the function’s timeout)';
  const reasons: Record<RestartCause, { code: ErrorCode; why: string; next: string }> = {
    cursor_died: {
      code: 'cursor_dies',
      why: 'the service no longer knew the cursor of the last page',
      next: `${more}, so that one run reads the whole day`,
    },
    last_page_changed: {
      code: 'cursor_dies',
      why: 'the last page that an earlier run had staged was another one when it was read again',
      next: `${more}, so that one run reads the whole day`,
    },
    too_old: {
      code: 'too_slow',
      why: `the last page was staged more than resumeWithinHours (${brandSettings.resumeWithinHours}) before`,
      next: `raise "resumeWithinHours" or "requestsPerSecond", or ${more}`,
    },
    started_in_the_future: {
      code: 'restarted_too_often',
      why: 'its pages were staged at a time that is still to come',
      next: 'compare the clocks of the machines that run this with the service’s, and do not use --now',
    },
    older_than_committed: {
      code: 'restarted_too_often',
      why: 'what is committed was read later by the clock of the run that read it',
      next: 'compare the clocks of the machines that run this with the service’s, and do not use --now',
    },
    queries_changed: {
      code: 'restarted_too_often',
      why: 'the settings were changed while it was read',
      next: 'leave them as they are until the day is complete',
    },
    upstream_changed: {
      code: 'too_slow',
      why: 'the report that it looks up was read again before all was looked up',
      next: `raise "requestsPerSecond", or ${more}`,
    },
    key_conflict: {
      code: 'restarted_too_often',
      why: 'records with one primary key differed, and a second pass has to show why',
      next: `${more}, or set "key" to the field that identifies a record`,
    },
    day_has_ended: { code: 'too_slow', why: 'the day ended while it was read', next: more },
  };
  const { code, why, next } = reasons[cause];
  return new BrandReportsError(
    'contract',
    code,
    `${report.name} ${day}: restarted from its first page ${MAX_RESTARTS} times, and would be again, because ${why}; ${next}`,
  );
}

type LeaseContext = Pick<RunContext, 'leases' | 'runId' | 'clock' | 'lake'>;

/** Whether another run works at the day. @param progressOf the progress document of an attempt at it */
export async function isBeingRead(
  ctx: LeaseContext,
  { claim }: DayEntry,
  progressOf: (attempt: string) => CasDocument<Progress>,
): Promise<boolean> {
  if (!claim) return false;
  const progress = claim.attempt === undefined ? undefined : progressOf(claim.attempt);
  return isLeaseLive(ctx, claim, progress && (await refreshUndamaged(progress)));
}

/**
 * Claims a day for a version that is made of what the lake has: the vacuum keeps it until it is committed. What another
 * run has staged may be resumed after it.
 * @param open what the version was judged by
 * @returns `undefined` if another run works at the day, or has done so since
 */
export async function claimForVersion(
  ctx: LeaseContext & Pick<RunContext, 'ledger' | 'brand' | 'report'>,
  open: OpenDay,
  progressOf: (attempt: string) => CasDocument<Progress>,
): Promise<OpenDay | undefined> {
  const { day, entry } = open;
  if (await isBeingRead(ctx, entry, progressOf)) return undefined;
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

/** Whether another run works at the claimed day, as far as its signs of life tell. */
async function isLeaseLive(
  ctx: LeaseContext,
  claim: Claim,
  progress: Pick<Progress, 'lease'> | undefined,
): Promise<boolean> {
  if (!ctx.leases || claim.runId === null || claim.runId === ctx.runId) return false;
  const lease = progress?.lease;
  const renewals = [claim.at, lease?.runId === claim.runId ? lease.renewedAt : claim.at].map(Date.parse);
  if (Math.abs(ctx.clock.wallMs() - Math.max(...renewals)) >= LEASE_MS) return false;
  return !(await ctx.lake.runs.isDead(claim.runId));
}

async function situationOf(
  ctx: RunContext,
  day: string,
  entry: DayEntry,
  byName: boolean,
): Promise<DaySituation> {
  const { report, brandSettings, settings, policy, clock } = ctx;
  const nowMs = clock.now().getTime();
  const upstream = (await ctx.upstream?.ledger(monthOf(day)).cached())?.days[day];
  return {
    day,
    nowMs,
    report,
    brandSettings,
    settings,
    queryFingerprint: policy.queryFingerprint,
    upstream: upstreamSnapshot(upstream),
    onlyRefusedDue: !byName && onlyRefusedDue(day, entry, policy, nowMs, upstreamState(upstream)),
    byName,
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

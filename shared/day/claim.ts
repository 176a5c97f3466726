/*
 * Claims a day for one run. A commit needs the claim in the ledger: if another run takes the day over, it replaces the
 * claim, and the commit of the previous run is refused (I5). A run reads days while it holds the lease of the brand, so it
 * takes every claimed day over: the run that claimed it has ended, or has lost the lease.
 */
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
import { EMPTY_PROGRESS, type Progress, type Slice } from '../lake/progress.ts';
import {
  RESUME_WITHIN_HOURS,
  type DaySituation,
  type Obstacle,
  attemptToContinue,
  decideAttempt,
  slicesAfterRestart,
} from '../planning/attempt-decision.ts';
import type { RunContext } from '../context/context.ts';
import { type OpenDay, changeDay } from '../context/open-day.ts';

const MAX_RESTARTS = 3;

export type RestartCause = Obstacle | 'last_page_changed' | 'cursor_died' | 'key_conflict';

const REASONS: Record<RestartCause, string> = {
  cursor_died: 'the service no longer accepted the cursor of the last page',
  last_page_changed: 'the last page that an earlier run stored had changed when it was read again',
  too_old: `the last page was stored more than ${RESUME_WITHIN_HOURS} hours ago`,
  queries_changed: 'the settings were changed while it was read (leave them as they are until then)',
  key_conflict:
    'records with the same primary key differed (set "key" to the field that identifies a record)',
  day_has_ended: 'the day ended while it was read',
};

export interface DayToRead extends OpenDay {
  /** The day whose records this day looks up. */
  upstream: DayEntry | undefined;
}

/** A claimed day and the attempt to read it, whose pages may come from several runs. */
export interface Attempt extends DayToRead {
  id: string;
  progress: CasDocument<Progress>;
  restarts: number;
}

/**
 * Claims a day in the ledger and takes over its progress document. After that, the run reads the last slice of the document,
 * or the slice is complete and waits for its commit.
 * @param isRequested whether the day is read with `--from` and `--to`: then all of it is read
 * @returns `undefined` if another run was faster
 * @throws BrandReportsError `contract` if the attempt has already been restarted too often
 */
export async function claim(
  ctx: RunContext,
  open: DayToRead,
  isRequested: boolean,
): Promise<Attempt | undefined> {
  const { day, entry } = open;
  const situation = situationOf(ctx, open, isRequested);
  const earlier = attemptToContinue(entry, situation);
  const found = earlier === undefined ? undefined : ctx.progress(day, earlier);
  // If the progress document is damaged, the attempt is dropped: its pages can be fetched again.
  const staged = found && (await undamaged(found.refresh()));
  const id = staged && earlier !== undefined ? earlier : ctx.newId();
  const mine: Claim = { attempt: id, runId: ctx.runId, at: wallTime(ctx) };
  const claimed = await claimOrLeave(ctx, open, (current) => claimDay(current, day, entry.claim, mine));
  if (!claimed) return undefined;
  if (earlier !== undefined && id !== earlier) ctx.log({ event: 'attempt_dropped', day, attempt: earlier });

  const own = { run: ctx.runId, queryFingerprint: situation.queryFingerprint };
  const { obstacle, slices } = decideAttempt(entry, staged ?? EMPTY_PROGRESS, situation);
  // A failed day waited, and its pages grew old meanwhile.
  const before = entry.claim && !entry.failure ? (staged?.restarts ?? 0) : 0;
  const restarts = before + (obstacle ? 1 : 0);
  // A new attempt is not written: only this run has the id, and nothing is lost if it dies before it stages the first pages.
  const progress =
    found && staged ? found : ctx.progress(day, id, { ...EMPTY_PROGRESS, ...own, restarts, slices });
  if (staged)
    await progress.update((current) => {
      const decided = decideAttempt(entry, current, situation);
      return { ...current, ...own, restarts, slices: decided.slices };
    });
  if (obstacle) reportRestart(ctx, day, restarts, obstacle);
  return { ...claimed, id, progress, restarts };
}

/**
 * Drops the pages of the last slice, so that it is read from its first page, and counts the restart.
 * @param conflict if the cause is `key_conflict`: the fingerprint of the records that differ
 * @throws BrandReportsError `contract` if the attempt has already been restarted too often
 */
export async function restartAttempt(
  ctx: RunContext,
  attempt: Attempt,
  cause: RestartCause,
  conflict?: string,
): Promise<Attempt> {
  const { day, entry, progress } = attempt;
  const restarts = attempt.restarts + 1;
  reportRestart(ctx, day, restarts, cause);
  const situation = situationOf(ctx, attempt, false);
  await progress.update((current) => ({
    ...assertOwn(current, ctx.runId, day),
    queryFingerprint: situation.queryFingerprint,
    restarts,
    slices: slicesAfterRestart(entry, current, situation, conflict),
  }));
  return { ...attempt, restarts };
}

/** Guards a change by the run that reads the day. @throws conflict if another run has taken the day over */
export function assertOwn(progress: Progress, run: string, day: string): Progress {
  if (progress.run === run) return progress;
  throw claimLost(day);
}

/** @throws BrandReportsError `contract` if the attempt has been restarted too often */
function reportRestart(
  { report, log }: RunContext,
  day: string,
  restarts: number,
  cause: RestartCause,
): void {
  if (restarts <= MAX_RESTARTS) {
    log({ event: 'day_restarted', day, restarts, cause });
    return;
  }
  const message = `${report.name} ${day}: gave up after ${MAX_RESTARTS} restarts from the first page, because ${REASONS[cause]}. So that one run reads the whole day, give a run more time (--max-seconds, the function’s timeout), start the next run earlier, or raise "requestsPerSecond"`;
  throw new BrandReportsError('contract', 'restarted_too_often', message);
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
  const mine: Claim = { ...before, runId: ctx.runId, at: wallTime(ctx) };
  return claimOrLeave(ctx, open, (ledger) => {
    if (!hasSameVersions(entry, ledger.days[day] ?? {})) throw claimLost(day);
    return claimDay(ledger, day, before, mine);
  });
}

/** @returns `undefined` if another run was faster */
async function claimOrLeave<Day extends OpenDay>(
  ctx: Pick<RunContext, 'ledger' | 'brand' | 'report'>,
  open: Day,
  transition: (ledger: Ledger) => Ledger,
): Promise<Day | undefined> {
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

function situationOf(
  { report, brandSettings, settings, policy, clock }: RunContext,
  { day, upstream }: DayToRead,
  isRequested: boolean,
): DaySituation {
  const { queryFingerprint } = policy;
  const nowMs = clock.now().getTime();
  return {
    ...{ day, nowMs, report, brandSettings, settings, queryFingerprint, isRequested },
    upstream: upstreamSnapshot(upstream),
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

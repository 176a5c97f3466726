import { isFuture } from '../lake/documents/cas-document.ts';
import { type Committed, laterReading } from '../lake/documents/ledger.ts';
import { carriedChecks } from '../findings/index.ts';
import { type Policy, isAfterRefresh, isLast } from '../planning/due.ts';
import { readingOf } from '../planning/reading.ts';
import { afterReading } from '../planning/transitions.ts';
import type { BuiltSnapshot } from './builder.ts';
import type { Attempt } from '../attempt/claim.ts';
import type { RunContext } from '../context/context.ts';
import type { OpenDay } from '../context/open-day.ts';
import { replaceVersion } from './replace-version.ts';

/** What a reading is committed as. */
export interface ReadingCommit {
  /** Id of the run's continuation: runs that continue it do not read the day again. */
  continuation: string;
  /** Whether fewer records replace what can change no more, because a person has asked for that. */
  isAccepted: boolean;
}

/**
 * Records a reading in the ledger (I4): the version that it has built, or, if the reading is not believed, that the one before
 * stays (I11). Without the claim that the commit checks, a process that wakes up after an hour would replace what others
 * have committed since.
 * @returns the day from then on; `kept`: how many rows the version has that stays although the reading differs
 * @throws BrandReportsError `conflict` where another run has taken the day over, or a later reading is committed; then
 * nothing was changed
 */
export async function commit(
  ctx: RunContext,
  attempt: Attempt,
  { unchanged, hashes, ...snapshot }: BuiltSnapshot,
  { continuation, isAccepted }: ReadingCommit,
): Promise<{ open: OpenDay; kept?: number }> {
  const { policy, runId } = ctx;
  const { day, id, progress, committed: replaced } = attempt;
  const { slices } = await progress.cached();
  const { startedMs, endedMs, closed, resumed, recordPages, said } = readingOf(day, policy, slices);
  const { hasReturnedRecords } = await ctx.reportState.cached();
  const { queryFingerprint, timeZone, fallPercent } = policy;
  // Where the service never returned a record, the address or the credentials may be another brand's.
  const isVerified = hasReturnedRecords || snapshot.rows > 0;
  const nextOf = (counts: Pick<Committed, 'rows' | 'unsettled'>) => {
    const last = isLast(day, policy, startedMs, counts) && isVerified && !said.refusedLookups?.retryAt;
    return afterReading(
      // What a clock ahead has closed is not over.
      replaced && isFuture(replaced) ? { ...replaced, state: 'open' } : replaced,
      {
        ...{ kind: closed ? 'whole' : 'open', rows: snapshot.rows, digest: snapshot.digest },
        ...{ queryFingerprint, isAlone: isAlone(policy, { last, resumed, recordPages }), isAccepted },
      },
      { last, past: isAfterRefresh(day, policy, startedMs) },
    );
  };
  const read = nextOf(snapshot);
  // Where the version stays, its records decide whether the policy goes on.
  const next = read?.outcome.keeps && replaced ? nextOf(replaced) : read;
  if (!next) throw laterReading(day, replaced);
  const keeps = next.outcome.keeps ? replaced : undefined;
  const { upstreamDigest } = said;
  const disregarded = {
    ...{ at: said.readFrom, rows: snapshot.rows, queryFingerprint },
    ...(upstreamDigest !== undefined && { upstreamDigest }),
  };
  const content = { ...snapshot, unchanged, at: said.readFrom, queryFingerprint };
  const open = await replaceVersion(ctx, attempt, {
    runId,
    ...(!keeps && { hashes }),
    reading: { continuation, ...(keeps && { disregarded }) },
    endedMs,
    cause: 'reading',
    next: (before): Committed => {
      if (keeps) return { ...(before ?? keeps), ...next.said };
      const checks = carriedChecks(before, content, ctx.report.measure, fallPercent);
      return {
        ...snapshot,
        // Without a catalog readers follow the ledger itself.
        published: ctx.lake.catalog === undefined || (unchanged && (before?.published ?? false)),
        ...next.said,
        attempt: id,
        ...said,
        timeZone,
        queryFingerprint,
        ...(checks && { checks }),
      };
    },
  });
  return { open, ...(keeps && { kept: keeps.rows }) };
}

/**
 * Whether the reading needs no other one to agree (I11). The last word needs more: records may have moved between two
 * queries, or while another run went on with the reading, and nobody would see it any more.
 */
function isAlone(
  { pagesAreSnapshot }: Policy,
  { last, resumed, recordPages }: { last: boolean; resumed: boolean; recordPages: number },
): boolean {
  return last ? pagesAreSnapshot && !resumed : pagesAreSnapshot || recordPages <= 1;
}

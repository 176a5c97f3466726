import { monthOf } from '../days.ts';
import { BrandReportsError } from '../errors.ts';
import { isFuture } from '../lake/documents/cas-document.ts';
import { commitDay } from '../lake/documents/ledger.ts';
import { carriedFindings } from '../findings/index.ts';
import { disagreementsAfter, doubtOf, neverAgrees, settles, watchedDays } from '../planning/due.ts';
import { readingOf } from '../planning/reading.ts';
import type { BuiltSnapshot } from './builder.ts';
import type { Attempt } from '../attempt/claim.ts';
import { logChange, recordChange } from '../history/index.ts';
import { type RunContext, committedOf } from '../context/context.ts';

/**
 * Records the snapshot in the ledger: the one commit point of a sync (I4). Without the claim that the commit checks, a
 * process that wakes up after an hour would replace what others have committed since.
 * @param continuation id of the run's continuation: runs that continue it do not read the day again
 * @throws BrandReportsError `conflict` where another run has taken the day over, or a later reading is committed; then
 * nothing was changed
 */
export async function commit(
  ctx: RunContext,
  { day, id, progress }: Attempt,
  { unchanged, hashes, ...snapshot }: BuiltSnapshot,
  continuation: string,
): Promise<void> {
  const { slices } = await progress.cached();
  const { startedMs, closed, resumed, recordPages, said } = readingOf(day, ctx.policy, slices);
  const { hasReturnedRecords } = await ctx.reportState.cached();
  const replaced = await committedOf(ctx, day);
  const changes =
    replaced &&
    (await recordChange(ctx, day, {
      before: replaced,
      after: snapshot,
      ...(hashes && { afterHashes: hashes }),
      cause: 'reading',
      // Of several slices of lookups, the one that brought it.
      changedAt: slices.at(-1)?.startedAt ?? said.readFrom,
    }));
  await ctx.ledger(monthOf(day)).update((ledger) => {
    const before = ledger.days[day]?.committed;
    // I11: passes with equal content, one after the other.
    const isPass = before?.state === 'closed' && !isFuture(before);
    const agreed = unchanged && isPass ? before.identicalPasses : 0;
    const passes = { identicalPasses: closed ? agreed + 1 : 0, ...(resumed && { resumed }) };
    const isLast = settles(day, ctx.policy, startedMs, { ...snapshot, ...passes });
    const reading = { unchanged, recordPages, rows: snapshot.rows };
    const { mayBeLast, ...doubt } = doubtOf(ctx.policy, reading, before);
    // Where the service never returned a record, the address or the credentials may be another brand's.
    const isVerified = hasReturnedRecords || snapshot.rows > 0;
    const { queryFingerprint, fallPercent } = ctx.policy;
    const content = { ...snapshot, unchanged, at: said.readFrom, queryFingerprint };
    const compared = { ...snapshot, unchanged, readFromMs: startedMs };
    const disagreements = disagreementsAfter(day, ctx.policy, compared, before);
    const agrees = isLast && mayBeLast;
    const isGivenUp = !agrees && neverAgrees({ ...reading, ...doubt, disagreements }, before);
    const settled = closed && (agrees || isGivenUp) && isVerified && !said.refusedLookups?.retryAt;
    const next = commitDay(ledger, day, {
      runId: ctx.runId,
      continuation,
      wallMs: ctx.clock.wallMs(),
      committed: {
        ...snapshot,
        // Without a catalog readers follow the ledger itself.
        published: ctx.lake.catalog === undefined || (unchanged && (before?.published ?? false)),
        state: closed ? 'closed' : 'open',
        settled,
        ...(settled && { watchedDays: watchedDays(day, ctx.policy, startedMs) }),
        ...(settled && isGivenUp && { lastReadingGivenUp: true }),
        ...passes,
        ...doubt,
        ...(disagreements > 0 && { disagreements }),
        attempt: id,
        ...said,
        timeZone: ctx.policy.timeZone,
        queryFingerprint,
        ...carriedFindings(before, content, ctx.report.measure, fallPercent),
        ...(changes && { changes }),
      },
    });
    if (before?.snapshot !== replaced?.snapshot) throw replacedMeanwhile(day);
    return next;
  });
  if (changes && changes !== replaced?.changes) logChange(ctx, day, snapshot.rows, changes);
}

/** What was recorded as changed is no longer what this commit would change. */
function replacedMeanwhile(day: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'replaced_meanwhile',
    `another version of ${day} was committed while this run built its own; the next run reads the day again`,
  );
}

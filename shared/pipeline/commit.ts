import { monthOf } from '../days.ts';
import { commitDay } from '../lake/documents/ledger.ts';
import type { BuiltSnapshot } from './build.ts';
import type { Attempt } from './claim.ts';
import { closesAtMs, settles } from '../planning/due.ts';
import type { RunContext } from './context.ts';

/**
 * Records the snapshot in the ledger: the one commit point of a sync.
 * @throws BrandReportsError `conflict` where another run has taken the day over; nothing was changed then
 */
export async function commit(
  run: RunContext,
  { day, id, progress }: Attempt,
  built: BuiltSnapshot,
  continuation: string,
): Promise<void> {
  const { slices } = await progress.cached();
  const last = slices.at(-1);
  if (!last) throw new Error('a reading that is published has a slice');
  const beganMs = Date.parse(last.startedAt);
  const sourceClosed = last.upstream?.closed ?? true;
  const closed = last.whole && beganMs >= closesAtMs(day, run.policy) && sourceClosed;
  const { unchanged, ...snapshot } = built;
  await run.ledger(monthOf(day)).update((ledger) => {
    const before = ledger.days[day]?.committed;
    const agreed = unchanged && before?.state === 'closed' ? before.identicalPasses : 0;
    const identicalPasses = closed ? agreed + 1 : 0;
    return commitDay(ledger, day, {
      runId: run.runId,
      continuation,
      wallMs: run.clock.wallMs(),
      committed: {
        ...snapshot,
        published: unchanged && (before?.published ?? false),
        state: closed ? 'closed' : 'open',
        settled: closed && settles(day, run.policy, beganMs, identicalPasses),
        identicalPasses,
        attempt: id,
        pages: slices.flatMap(({ parts }) => parts).reduce((pages, part) => pages + part.pages, 0),
        readFrom: last.startedAt,
        readTo: new Date(last.toMs).toISOString(),
        queryFingerprint: run.policy.queryFingerprint,
        ...(last.upstream && { upstreamDigest: last.upstream.digest }),
      },
    });
  });
}

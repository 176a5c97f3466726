import { monthOf } from '../days.ts';
import { commitDay } from '../lake/documents/ledger.ts';
import type { Built } from './build.ts';
import type { Reading } from './claim.ts';
import { closesAtMs, settles } from '../planning/plan.ts';
import type { ReportRun } from './context.ts';

/**
 * Records the snapshot in the ledger: the one commit point of a sync.
 * @throws BrandReportsError `conflict` where another run has taken the day over; nothing was changed then
 */
export async function commit(
  run: ReportRun,
  { day, attempt, progress }: Reading,
  built: Built,
  request: string,
): Promise<void> {
  const { slices } = await progress.known();
  const last = slices.at(-1);
  if (!last) throw new Error('a reading that is published has a slice');
  const beganMs = Date.parse(last.startedAt);
  const sourceClosed = last.source?.closed ?? true;
  const closed = last.whole && beganMs >= closesAtMs(day, run.policy) && sourceClosed;
  const { unchanged, ...snapshot } = built;
  await run.ledger(monthOf(day)).update((ledger) => {
    const before = ledger.days[day]?.published;
    const agreed = unchanged && before?.state === 'closed' ? before.agreeing : 0;
    const agreeing = closed ? agreed + 1 : 0;
    return commitDay(ledger, day, {
      run: run.run,
      request,
      wallMs: run.clock.wallMs(),
      published: {
        ...snapshot,
        switched: unchanged && (before?.switched ?? false),
        state: closed ? 'closed' : 'open',
        settled: closed && settles(day, run.policy, beganMs, agreeing),
        agreeing,
        attempt,
        pages: slices.flatMap(({ parts }) => parts).reduce((pages, part) => pages + part.pages, 0),
        readFrom: last.startedAt,
        readTo: new Date(last.toMs).toISOString(),
        asked: run.policy.asked,
        ...(last.source && { source: last.source.digest }),
      },
    });
  });
}

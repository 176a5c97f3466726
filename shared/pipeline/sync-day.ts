import { monthOf } from '../days.ts';
import { type BrandReportsError, rethrowBugs } from '../errors.ts';
import { failDay, releaseDay } from '../lake/documents/ledger.ts';
import { assertLeaseHeld } from '../lake/documents/progress.ts';
import { type DayOutcome, errorSummary } from '../outcome.ts';
import { build } from './build.ts';
import { type Attempt, claim, withRenewedLease } from './claim.ts';
import { commit } from './commit.ts';
import { fetchDay } from './fetch.ts';
import type { DueDay, Continuation } from '../planning/plan.ts';
import { type RunContext, outOfTime } from './context.ts';
import { publishDay } from './publish.ts';

const RENEW_MS = 15_000;
/** What a publication was measured to take, with much room: see `npm run bench:parquet`. */
const PUBLISH_ROWS_PER_SECOND = 10_000;
const PUBLISH_MS = 5_000;

/** One day: claim → page and stage → build → commit → switch. */
export async function syncDay(
  run: RunContext,
  due: DueDay,
  continuation: Continuation,
): Promise<{ outcome: DayOutcome; error?: BrandReportsError }> {
  const { day } = due;
  const ended = (outcome: DayOutcome['outcome'], rows = 0, pages = 0) => {
    run.log({ event: 'day_ended', day, outcome, rows, pages });
    return { outcome: { dt: day, outcome, rows, pages } };
  };
  let claimed: Attempt | undefined;
  const leftForLater = async (left: Attempt) => {
    await run.ledger(monthOf(day)).update((ledger) => releaseDay(ledger, day, run.runId));
    return ended('pending', 0, await pagesOf(left));
  };
  let stopRenewing = () => {};
  try {
    claimed = await claim(run, day);
    if (!claimed) return ended('busy');
    run.log({ event: 'day_claimed', day, reason: due.reason, resumed: claimed.resumed });
    stopRenewing = keepLease(run, claimed);
    const reading = await fetchDay(run, claimed);
    if (!reading || !(await publicationFits(run, reading))) return await leftForLater(claimed);
    const built = await build(run, reading, continuation.range !== undefined);
    await commit(run, reading, built, continuation.id);
    if (!(await isSwitched(run, day))) await publishDay(run, day);
    return ended(built.unchanged ? 'unchanged' : 'published', built.rows, await pagesOf(reading));
  } catch (thrown) {
    const error = rethrowBugs(thrown);
    if (error.kind === 'conflict') return ended('busy');
    if (error.code === 'stopped' && claimed) return await leftForLater(claimed);
    await recordFailure(run, day, claimed, error);
    return { ...ended('failed', 0, claimed ? await pagesOf(claimed) : 0), error };
  } finally {
    stopRenewing();
  }
}

/** Renews the lease while the run works, however long a page or a publication takes. */
function keepLease(run: RunContext, { day, progress }: Attempt): () => void {
  return run.clock.every(RENEW_MS, () => {
    progress
      .update((current) => withRenewedLease(assertLeaseHeld(current, run.runId), run))
      .catch((error: unknown) => {
        run.log({ event: 'lease_not_renewed', day, message: String(error) });
      });
  });
}

/** An unchanged day whose switch is owed is switched all the same. */
async function isSwitched(run: RunContext, day: string): Promise<boolean> {
  return (await run.ledger(monthOf(day)).cached()).days[day]?.committed?.published ?? false;
}

/** A publication is begun only if it will end in time, or if waiting would not make it fit better. */
async function publicationFits(run: RunContext, { progress }: Attempt): Promise<boolean> {
  if (!run.deadline) return true;
  const { slices } = await progress.cached();
  const rows = slices.flatMap(({ parts }) => parts).reduce((sum, part) => sum + part.records, 0);
  const needsMs = PUBLISH_MS + (rows / PUBLISH_ROWS_PER_SECOND) * 1000;
  const fits = run.clock.wallMs() + needsMs <= run.deadline.hardMs;
  return fits || (run.units.begun === 1 && !outOfTime(run));
}

async function pagesOf({ progress }: Attempt): Promise<number> {
  const { slices } = await progress.cached();
  return (slices.at(-1)?.parts ?? []).reduce((pages, part) => pages + part.pages, 0);
}

/**
 * What a transient failure has staged is gone on with; after any other the day is begun anew, with nothing of
 * what was staged where that is what is damaged.
 */
async function recordFailure(
  run: RunContext,
  day: string,
  reading: Attempt | undefined,
  error: BrandReportsError,
): Promise<void> {
  const { kind, code, message } = error;
  const nowMs = run.clock.now().getTime();
  const damaged = code === 'damaged_chunk';
  const keep = kind === 'transient' && !damaged;
  run.log({ event: 'day_failed', day, ...errorSummary(error) });
  try {
    if (damaged)
      await reading?.progress.update((current) => ({ ...assertLeaseHeld(current, run.runId), slices: [] }));
    await run
      .ledger(monthOf(day))
      .update((ledger) => failDay(ledger, day, { runId: run.runId, kind, code, message, nowMs, keep }));
  } catch (thrown) {
    const { message } = rethrowBugs(thrown);
    run.log({ event: 'failure_not_recorded', day, message });
  }
}

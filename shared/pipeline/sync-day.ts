import { monthOf } from '../days.ts';
import { type BrandReportsError, expected } from '../errors.ts';
import { failDay, releaseDay } from '../lake/documents/ledger.ts';
import { held } from '../lake/documents/progress.ts';
import type { DayOutcome } from '../outcome.ts';
import { build } from './build.ts';
import { type Reading, claim, renewed } from './claim.ts';
import { commit } from './commit.ts';
import { readDay } from './fetch.ts';
import type { DueDay, DayRequest } from '../planning/plan.ts';
import { type ReportRun, outOfTime } from './context.ts';
import { switchDay } from './publish.ts';

const RENEW_MS = 15_000;
/** What a publication was measured to take, with much room: see `npm run bench:parquet`. */
const PUBLISH_ROWS_PER_SECOND = 10_000;
const PUBLISH_MS = 5_000;

/** One day: claim → page and stage → build → commit → switch. */
export async function syncDay(
  run: ReportRun,
  due: DueDay,
  request: DayRequest,
): Promise<{ outcome: DayOutcome; error?: BrandReportsError }> {
  const { day } = due;
  const log = (event: string, detail: Record<string, unknown> = {}) =>
    run.log({ level: 'info', event, brand: run.brand, report: run.report.name, day, ...detail });
  const ended = (outcome: DayOutcome['outcome'], rows = 0, pages = 0) => {
    log(`day_${outcome}`, { rows, pages });
    return { outcome: { dt: day, outcome, rows, pages } };
  };
  let claimed: Reading | undefined;
  const leftForLater = async (left: Reading) => {
    await run.ledger(monthOf(day)).update((ledger) => releaseDay(ledger, day, run.run));
    return ended('pending', 0, await pagesOf(left));
  };
  let stopRenewing = () => {};
  try {
    claimed = await claim(run, day);
    if (!claimed) return ended('busy');
    log('day_claimed', { why: due.why, resumed: claimed.resumed });
    stopRenewing = keepLease(run, claimed);
    const reading = await readDay(run, claimed);
    if (!reading || !(await publicationFits(run, reading))) return await leftForLater(claimed);
    const built = await build(run, reading, request.range !== undefined);
    await commit(run, reading, built, request.id);
    if (!(await isSwitched(run, day))) await switchDay(run, day);
    return ended(built.unchanged ? 'unchanged' : 'published', built.rows, await pagesOf(reading));
  } catch (thrown) {
    const error = expected(thrown);
    if (error.kind === 'conflict') return ended('busy');
    if (error.code === 'stopped' && claimed) return await leftForLater(claimed);
    await recordFailure(run, day, claimed, error);
    return { ...ended('failed', 0, claimed ? await pagesOf(claimed) : 0), error };
  } finally {
    stopRenewing();
  }
}

/** Renews the lease while the run works, however long a page or a publication takes. */
function keepLease(run: ReportRun, { progress }: Reading): () => void {
  return run.clock.every(RENEW_MS, () => {
    progress
      .update((current) => renewed(held(current, run.run), run))
      .catch((error: unknown) => {
        // The work itself meets the same conflict or failure at its next write, and answers for it.
        run.log({ level: 'debug', event: 'lease_not_renewed', message: String(error) });
      });
  });
}

/** An unchanged day whose switch is owed is switched all the same. */
async function isSwitched(run: ReportRun, day: string): Promise<boolean> {
  return (await run.ledger(monthOf(day)).known()).days[day]?.published?.switched ?? false;
}

/** A publication is begun only if it will end in time, or if waiting would not make it fit better. */
async function publicationFits(run: ReportRun, { progress }: Reading): Promise<boolean> {
  if (!run.deadline) return true;
  const { slices } = await progress.known();
  const rows = slices.flatMap(({ parts }) => parts).reduce((sum, part) => sum + part.records, 0);
  const needsMs = PUBLISH_MS + (rows / PUBLISH_ROWS_PER_SECOND) * 1000;
  const fits = run.clock.wallMs() + needsMs <= run.deadline.hardMs;
  return fits || (run.units.begun === 1 && !outOfTime(run));
}

async function pagesOf({ progress }: Reading): Promise<number> {
  const { slices } = await progress.known();
  return (slices.at(-1)?.parts ?? []).reduce((pages, part) => pages + part.pages, 0);
}

/**
 * What a transient failure has staged is gone on with; after any other the day is begun anew, with nothing of
 * what was staged where that is what is damaged.
 */
async function recordFailure(
  run: ReportRun,
  day: string,
  reading: Reading | undefined,
  error: BrandReportsError,
): Promise<void> {
  const { kind, code, message } = error;
  const nowMs = run.clock.now().getTime();
  const damaged = code === 'damaged_chunk';
  const keep = kind === 'transient' && !damaged;
  const { brand, report } = run;
  run.log({ level: 'error', event: 'day_error', brand, report: report.name, day, kind, code, message });
  try {
    if (damaged) await reading?.progress.update((current) => ({ ...held(current, run.run), slices: [] }));
    await run
      .ledger(monthOf(day))
      .update((ledger) => failDay(ledger, day, { run: run.run, kind, code, message, nowMs, keep }));
  } catch (thrown) {
    const { message } = expected(thrown);
    run.log({ level: 'error', event: 'failure_not_recorded', day, message });
  }
}

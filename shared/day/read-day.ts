/*
 * Reads a day. The builder assumes that later pages bring no surprise. If they do, or if an earlier run staged a part
 * of the day, `build` builds the version from the chunks instead.
 *
 * A run without time left stages its pages and stops. The next run fetches the last staged page again and resumes after
 * it only if the page has the same records and the same next cursor. After records have moved, positions and page
 * numbers mean other records, and an expired cursor may end the list or begin it again. If the page differs, the run
 * reads the pages again from the first page. Such restarts are counted, and a restarted day is read to its end even
 * after the time is up: otherwise it might never be complete.
 */
import { rethrowBugs } from '../base/errors.ts';
import type { Slice, SlicePart } from '../lake/progress.ts';
import { isAfterRefresh } from '../planning/due.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import { ShownHabits } from '../service/paging/habits.ts';
import { pages } from '../service/paging/pages.ts';
import { type Builder, type BuiltSnapshot, build, createBuilder } from './build.ts';
import { type Attempt, restartAttempt } from './claim.ts';
import type { RunContext } from '../context/context.ts';
import { explained, isLastPageSame, pageRequest } from './fetch.ts';
import { lookedUpPages } from './details/index.ts';
import { answerBefore, knownHabits, learnHabits, readingBefore, withAnswer } from './proven.ts';
import { Stage, type StagedPage } from './stage.ts';
import { recordsOf, stagedDay } from './staged-records.ts';

/** I12: memory for the unwritten rows of a day that is read: 4 MB, about 30,000 rows. Smaller groups make queries slower. */
const GROUP_BYTES = 4 * 2 ** 20;
/**
 * @param readBack whether the day is read with `--from` and `--to`: then nothing is reused from earlier readings, and
 * the committed snapshot is re-read before it is reported as `unchanged`
 * @returns `undefined` if the time was up before
 */
export async function readDay(
  ctx: RunContext,
  claimed: Attempt,
  readBack: boolean,
  onFetched: () => void,
): Promise<BuiltSnapshot | undefined> {
  let attempt = claimed;
  if (!(await isLastPageSame(ctx, await lastSliceOf(attempt))))
    attempt = await restartAttempt(ctx, attempt, 'last_page_changed');
  const builder = await builderOfPages(ctx, attempt);
  try {
    const outcome = await readPages(ctx, attempt, builder, readBack);
    if (outcome === 'cursor_died') attempt = await restartAttempt(ctx, attempt, outcome);
    else {
      if (outcome === 'out_of_time') return undefined;
      onFetched();
      const { resumed } = await lastSliceOf(attempt);
      const built = await build(ctx, await stagedDay(attempt), { readBack }, builder).catch(
        (thrown: unknown) => {
          // Hours may lie between the queries of a resumed reading, so records of one may be newer than the other.
          if (!resumed || rethrowBugs(thrown).code !== 'instant_unclear') throw thrown;
        },
      );
      if (built && !('conflict' in built)) return built;
      // I1: before a record is dropped because another record has the same key, the day is read once more.
      attempt = await (built
        ? restartAttempt(ctx, attempt, 'key_conflict', built.conflict.versions)
        : restartAttempt(ctx, attempt, 'last_page_changed'));
    }
  } finally {
    await builder?.abort();
  }
  return readDay(ctx, attempt, readBack, onFetched);
}

async function readPages(
  ctx: RunContext,
  attempt: Attempt,
  builder: Builder | undefined,
  requested: boolean,
): Promise<'complete' | 'out_of_time' | 'cursor_died'> {
  const slice = await lastSliceOf(attempt);
  const before = await readingBefore(ctx, attempt, slice);
  // A reading that is final or contradicts an earlier reading must not depend on what earlier readings have proven.
  const isLast = isAfterRefresh(attempt.day, ctx.policy, Date.parse(slice.startedAt));
  const isProof = requested || isLast || slice.repeatsConflict !== undefined;
  for (const [index, part] of slice.parts.entries()) {
    if (part.done) continue;
    const stage = new Stage(ctx, attempt, index, primaryKeyField(ctx));
    const isWhole = slice.parts.length > 1 && part.pages === 0;
    const answered = isWhole ? withAnswer(ctx, before?.parts[index]) : (page: StagedPage) => page;
    const known = isProof || part.pages > 0 ? undefined : await answerBefore(ctx, attempt, index, before);
    for (const page of known ?? []) await stage.add(answered(page));
    if (known) continue;
    const shown = new ShownHabits(isProof ? undefined : await knownHabits(ctx));
    let pagesRead = part.pages;
    try {
      for await (const page of servicePages(ctx, attempt, slice, part, shown)) {
        await stage.add(answered(page));
        if (part.role === 'include') await builder?.add(page.records, slice);
        pagesRead += 1;
        ctx.log({ event: 'page_fetched', day: attempt.day, page: pagesRead, rows: page.records.count });
        if (page.next === null || !mustStop(ctx, attempt)) continue;
        await stage.flush();
        return 'out_of_time';
      }
      learnHabits(ctx, shown.own);
    } catch (thrown) {
      const error = rethrowBugs(thrown);
      if (error.code === 'cursor_died') return 'cursor_died';
      if (error.kind !== 'conflict') await stage.flush();
      throw explained(ctx, part, error);
    }
  }
  return 'complete';
}

function servicePages(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  part: SlicePart,
  shown: ShownHabits,
): AsyncIterable<StagedPage> {
  const { paging } = ctx.report;
  if (paging.style === 'lookup') return lookedUpPages(ctx, attempt, slice, part, paging.lookup);
  const resume =
    part.pages > 0
      ? { cursor: part.cursor, seen: part.seen, ...(part.last && { last: part.last }) }
      : undefined;
  return pages(pageRequest(ctx, part.fields), resume, shown);
}

/** @returns `undefined` if records are already staged: then only the chunks have all records */
async function builderOfPages(ctx: RunContext, attempt: Attempt): Promise<Builder | undefined> {
  if (recordsOf((await attempt.progress.cached()).slices) > 0) return undefined;
  const basis = { keyField: primaryKeyField(ctx), rule: 'identifies', groupBytes: GROUP_BYTES } as const;
  return createBuilder(ctx, attempt, basis);
}

/** Whether to stop for lack of time. A restarted day is read to its end, until the process may be ended. */
function mustStop({ time }: RunContext, attempt: Attempt): boolean {
  return attempt.restarts === 0 ? time.isUp() : time.isOver();
}

async function lastSliceOf({ progress }: Attempt): Promise<Slice> {
  const slice = (await progress.cached()).slices.at(-1);
  if (!slice) throw new Error('a claimed day has a slice');
  return slice;
}

/*
 * Reuses what earlier readings have proven, so that a reading sends fewer requests (I1, I8).
 * - The queries that exclude records. A single reading cannot prove whether a range includes its end. An empty response
 *   to the query of that instant means that the service excludes the end, or that it has no record there. But if a
 *   reading returns exactly the records of the reading before, with the same content, no new record is at the end of
 *   the range. Then the earlier responses to these queries still hold, if two readings in a row returned the same keys
 *   for them: one empty response may be wrong.
 * - How the service pages: see `service/paging/habits.ts`. The report's state keeps these habits for a week; after
 *   that, they are proven again.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Column } from '../base/column-types.ts';
import { DAY_MS } from '../base/days.ts';
import { rethrowBugs } from '../base/errors.ts';
import { undamaged } from '../lake/cas-document.ts';
import type { Slice, SlicePart } from '../lake/progress.ts';
import type { ReportState } from '../lake/report-state.ts';
import { isWithin } from '../lake/stored-time.ts';
import { Digest } from '../table/digest.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import { contentHashes } from '../records/content-hash.ts';
import { NO_RECORDS, keysOf } from '../records/record-list.ts';
import { type PagingHabits, joinedHabits } from '../service/paging/habits.ts';
import type { Attempt } from './claim.ts';
import type { RunContext } from '../context/context.ts';
import type { StagedPage } from './stage.ts';
import { pagesOfPart } from './staged-records.ts';

interface ReadingBefore {
  prefix: string;
  parts: readonly SlicePart[];
}

/** @returns `undefined` if the slice has only one query, or if the reading before had other queries */
export async function readingBefore(
  ctx: RunContext,
  { day, id, committed, keys }: Attempt,
  slice: Slice,
): Promise<ReadingBefore | undefined> {
  if (slice.parts.length < 2 || !committed || committed.attempt === id || committed.values?.keyIsNone)
    return undefined;
  const before = (await undamaged(ctx.progress(day, committed.attempt).refresh()))?.slices.at(-1);
  const queriesOf = ({ parts }: Slice) => parts.map(({ role, fields }) => ({ role, fields }));
  if (!before?.done || !isDeepStrictEqual(queriesOf(before), queriesOf(slice))) return undefined;
  return { prefix: keys.attempt(committed.attempt), parts: before.parts };
}

const PROVEN_BY: readonly Column[] = [{ name: 'record', type: 'string' }];

/** Adds to the last page of a query the digests of its records, and whether the reading before had the same digests. */
export function withAnswer(ctx: RunContext, before: SlicePart | undefined): (page: StagedPage) => StagedPage {
  const [contents, identities] = [new Digest(PROVEN_BY), new Digest(PROVEN_BY)];
  const field = primaryKeyField(ctx);
  return (page) => {
    const { records: list } = page;
    const hashes = contentHashes(list);
    for (const [index, key] of keysOf(list, field).entries()) {
      contents.add({ record: String(hashes[index]) });
      identities.add({ record: key ?? String(hashes[index]) });
    }
    if (page.next !== null) return page;
    const [records, keys] = [contents.value(), identities.value()];
    const { answer } = before ?? {};
    return {
      ...page,
      answer: { records, keys, isSame: records === answer?.records, agrees: keys === answer?.keys },
    };
  };
}

/** @returns the pages of a query of the reading before, if the service would now return the same records */
export async function answerBefore(
  ctx: RunContext,
  { progress }: Attempt,
  index: number,
  before: ReadingBefore | undefined,
): Promise<StagedPage[] | undefined> {
  const part = before?.parts[index];
  const read = (await progress.cached()).slices.at(-1)?.parts ?? [];
  const hasChanged = read.slice(0, index).some(({ answer }) => !answer?.isSame);
  if (!before || !part || index === 0 || hasChanged) return undefined;
  if (!before.parts.slice(0, index + 1).every(({ answer }) => answer?.agrees)) return undefined;
  try {
    const lists = await Array.fromAsync(pagesOfPart(ctx, before.prefix, part));
    const page = { cursor: null, hash: '', seen: '' };
    return [...lists, NO_RECORDS].map((records, at) => ({
      ...{ ...page, records },
      next: at < lists.length ? at : null,
    }));
  } catch (thrown) {
    if (rethrowBugs(thrown).code === 'damaged_chunk') return undefined;
    throw thrown;
  }
}

const PROVEN_MS = 7 * DAY_MS;

function pagingSettings({ brandSettings, settings, policy }: RunContext): string {
  const parts = [brandSettings.baseUrl, settings.pageSize, policy.queryFingerprint];
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 16);
}

export async function knownHabits(ctx: RunContext): Promise<PagingHabits | undefined> {
  return habitsIn(ctx, await ctx.reportState.cached());
}

function habitsIn(ctx: RunContext, { paging }: ReportState): ReportState['paging'] {
  if (paging?.settings !== pagingSettings(ctx)) return undefined;
  return isWithin(PROVEN_MS, paging.since, ctx.clock.wallMs()) ? paging : undefined;
}

/** Records the paging habits with the run's next write: a run that dies before that write proves nothing. */
export function learnHabits(ctx: RunContext, shown: PagingHabits): void {
  const begun = { settings: pagingSettings(ctx), since: new Date(ctx.clock.wallMs()).toISOString() };
  ctx.reportState.updateLater((state) => {
    const known = habitsIn(ctx, state) ?? { ...begun, longest: 0 };
    const paging = { ...known, ...joinedHabits(known, shown) };
    return isDeepStrictEqual(paging, state.paging) ? state : { ...state, paging };
  });
}

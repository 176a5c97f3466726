/*
 * What earlier readings have proven, so that a reading sends fewer requests (I1, I8).
 * - Whether a range includes its end: nothing proves that, because an exclusive service answers the query of one instant
 *   with nothing, and so does an inclusive one that has no record there. But a reading that returns the very records of
 *   the reading before, with the same content, has no new one at the end of the range, whatever the service does. Then the
 *   answers of the queries that exclude records still hold, if two readings in a row got them for the same keys: one empty
 *   answer may be wrong.
 * - How the service pages: see `service/paging/habits.ts`. It is in the report's state for a week, and then proven again.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { DAY_MS } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import { refreshUndamaged } from '../lake/documents/cas-document.ts';
import type { Slice, SlicePart } from '../lake/documents/progress.ts';
import type { ReportState } from '../lake/documents/report-state.ts';
import { Digest } from '../lake/table/digest.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import { contentHashes } from '../records/content-hash.ts';
import { NO_RECORDS, keysOf } from '../records/record-list.ts';
import { type PagingHabits, joinedHabits } from '../service/paging/habits.ts';
import type { Attempt } from './claim.ts';
import type { RunContext } from '../context/context.ts';
import type { StagedPage } from './stage.ts';
import { pagesOfPart } from './staged-records.ts';

/** The committed reading of a day: its queries, and where its chunks lie. */
interface ReadingBefore {
  prefix: string;
  parts: readonly SlicePart[];
}

/** @returns `undefined` if the slice has one query only, or the reading before had other ones */
export async function readingBefore(
  ctx: RunContext,
  { day, id, committed, keys }: Attempt,
  slice: Slice,
): Promise<ReadingBefore | undefined> {
  if (slice.parts.length < 2 || !committed || committed.attempt === id || committed.values?.keyIsNone)
    return undefined;
  const before = (await refreshUndamaged(ctx.progress(day, committed.attempt)))?.slices.at(-1);
  const queriesOf = ({ parts }: Slice) => parts.map(({ role, fields }) => ({ role, fields }));
  if (!before?.done || !isDeepStrictEqual(queriesOf(before), queriesOf(slice))) return undefined;
  return { prefix: keys.attempt(committed.attempt), parts: before.parts };
}

/** Adds to the last page of a query which records the query returned, and whether these are those of the reading before. */
export function withAnswer(ctx: RunContext, before: SlicePart | undefined): (page: StagedPage) => StagedPage {
  const [contents, identities] = [new Digest(), new Digest()];
  const field = primaryKeyField(ctx);
  return (page) => {
    const { records: list } = page;
    const hashes = contentHashes(list);
    for (const [index, key] of keysOf(list, field).entries()) {
      contents.add({ content: String(hashes[index]) });
      identities.add({ identity: key ?? String(hashes[index]) });
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

/** @returns the pages of a query of the reading before, if the service would return the same now */
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

/** Fingerprint of the settings that the habits of the service may depend on. */
function pagingSettings({ brandSettings, settings, policy }: RunContext): string {
  const parts = [brandSettings.baseUrl, settings.pageSize, policy.queryFingerprint];
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 16);
}

/** What the readings of a week have shown of how the service pages. */
export async function knownHabits(ctx: RunContext): Promise<PagingHabits | undefined> {
  return habitsIn(ctx, await ctx.reportState.cached());
}

function habitsIn(ctx: RunContext, { paging }: ReportState): ReportState['paging'] {
  if (paging?.settings !== pagingSettings(ctx)) return undefined;
  const isProven = Math.abs(ctx.clock.wallMs() - Date.parse(paging.since)) < PROVEN_MS;
  return isProven ? paging : undefined;
}

/** Notes what a pass has shown. It is written with what the run writes next: a run that dies before proves nothing. */
export function learnHabits(ctx: RunContext, shown: PagingHabits): void {
  const begun = { settings: pagingSettings(ctx), since: new Date(ctx.clock.wallMs()).toISOString() };
  ctx.reportState.updateLater((state) => {
    const known = habitsIn(ctx, state) ?? { ...begun, longest: 0 };
    const paging = { ...known, ...joinedHabits(known, shown) };
    return isDeepStrictEqual(paging, state.paging) ? state : { ...state, paging };
  });
}

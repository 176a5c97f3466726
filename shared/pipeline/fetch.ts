/*
 * Reads the pages of a day and stages them. A run that has no time left stages what it has and stops; the next one
 * fetches the last staged page again and resumes behind it only if its records and its continuation are the same:
 * positions and page numbers mean other records once something moved, and a cursor that the service has forgotten may
 * end the list, or begin it again. Otherwise the pages are read again from the first one. Such restarts are
 * counted, and a restarted day is read to its end, or it might never be complete.
 */
import { BrandReportsError, rethrowBugs } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { Slice, SlicePart } from '../lake/documents/progress.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import type { Page } from '../service/paging/page.ts';
import { firstPage, pages, samePage } from '../service/paging/pages.ts';
import { BuildAhead } from './build-ahead.ts';
import { type Attempt, restartAttempt } from './claim.ts';
import type { FetchContext, RunContext } from './context.ts';
import { lookedUpPages } from './fetch-details.ts';
import { pageRequest } from './page-request.ts';
import { Stage, type StagedPage } from './stage.ts';

/** A day whose pages are all staged. */
export interface FetchedDay {
  /** Perhaps restarted. */
  attempt: Attempt;
  /** What was built of the pages meanwhile: the caller's to complete or abort. */
  ahead: BuildAhead | undefined;
}

/**
 * Reads the rest of the attempt's last slice.
 * @returns `undefined` where time was up before its end
 */
export async function fetchDay(ctx: RunContext, claimed: Attempt): Promise<FetchedDay | undefined> {
  let attempt = claimed;
  if (attempt.resumed && !(await lastPageLeadsOn(ctx, attempt)))
    attempt = await restartAttempt(ctx, attempt, 'last_page_changed');
  const ahead = await BuildAhead.begin(ctx, attempt.day, (await attempt.progress.cached()).slices);
  let outcome: PartOutcome | undefined;
  try {
    outcome = await fetchParts(ctx, attempt, ahead);
  } finally {
    if (outcome !== 'complete') await ahead?.abort();
  }
  if (outcome === 'out_of_time') return undefined;
  if (outcome === 'cursor_died') return fetchDay(ctx, await restartAttempt(ctx, attempt, outcome));
  return { attempt, ahead };
}

type PartOutcome = 'complete' | 'out_of_time' | 'cursor_died';

async function fetchParts(
  ctx: RunContext,
  attempt: Attempt,
  ahead: BuildAhead | undefined,
): Promise<PartOutcome> {
  const slice = await lastSliceOf(attempt);
  for (const [index, part] of slice.parts.entries()) {
    if (part.done) continue;
    const records = part.role === 'include' ? ahead : undefined;
    const outcome = await fetchPart(ctx, attempt, { slice, part, index }, records);
    if (outcome !== 'complete') return outcome;
  }
  return 'complete';
}

/** The first page of a day's query. Where the query of the day's last instant is refused, the error names the setting that helps. */
export async function fetchFirstPageOf(
  ctx: FetchContext,
  query: Pick<SlicePart, 'role' | 'fields'>,
): Promise<Page> {
  try {
    return await fetchFirstPage(ctx, query.fields);
  } catch (thrown) {
    const error = rethrowBugs(thrown);
    throw asksForInstant(query) && error.code === 'service_code' ? instantRefused(ctx, error) : thrown;
  }
}

/** Whether a query is for the one instant that ends the day. */
function asksForInstant({ role, fields }: Pick<SlicePart, 'role' | 'fields'>): boolean {
  return role === 'exclude' && fields.start_time === fields.end_time;
}

/** The report's first page for these fields. */
export function fetchFirstPage(ctx: FetchContext, fields: JsonObject): Promise<Page> {
  return firstPage(pageRequest(ctx, fields));
}

async function fetchPart(
  ctx: RunContext,
  attempt: Attempt,
  { slice, part, index }: { slice: Slice; part: SlicePart; index: number },
  ahead: BuildAhead | undefined,
): Promise<PartOutcome> {
  const stage = new Stage(ctx, attempt, index, primaryKeyField(ctx));
  let fetched = 0;
  try {
    for await (const page of pagesOf(ctx, attempt, slice, part)) {
      await stage.add(page);
      await ahead?.append(page.records);
      fetched += 1;
      ctx.log({
        event: 'page_fetched',
        day: attempt.day,
        page: part.pages + fetched,
        rows: page.records.count,
      });
      if (page.next !== null && mustStop(ctx, attempt)) {
        await stage.flush();
        return 'out_of_time';
      }
    }
    return 'complete';
  } catch (thrown) {
    const error = rethrowBugs(thrown);
    if (error.code === 'cursor_died') return 'cursor_died';
    if (error.kind !== 'conflict') await stage.flush();
    if (asksForInstant(part) && error.code === 'service_code') throw instantRefused(ctx, error);
    throw thrown;
  }
}

function instantRefused(
  { report, brandSettings }: FetchContext,
  { message, context }: BrandReportsError,
): BrandReportsError {
  const setting = report.day.by === 'dates' ? 'endDate' : 'endTime';
  const allowed =
    setting === 'endTime' ? '"inclusive" or "exclusive", as the service means it' : '"whole_day"';
  return new BrandReportsError(
    'contract',
    'instant_refused',
    `${message}; the request was for the one instant that ends the day, to learn whether the range before includes it: set "${setting}" (now "${brandSettings[setting]}") to ${allowed}`,
    { context },
  );
}

/** Whether to go on: a restarted day is read to its end, as long as the process certainly still exists. */
function mustStop({ time }: RunContext, attempt: Attempt): boolean {
  return attempt.restarts === 0 ? time.isUp() : time.isOver();
}

function pagesOf(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  part: SlicePart,
): AsyncIterable<StagedPage> {
  const { paging } = ctx.report;
  if (paging.style === 'lookup') return lookedUpPages(ctx, attempt, slice, part, paging.lookup);
  const resume =
    part.pages > 0
      ? { cursor: part.cursor, seen: part.seen, ...(part.last && { last: part.last }) }
      : undefined;
  return pages(pageRequest(ctx, part.fields), resume);
}

/** Whether the last staged page is what it was, so that the rest of the pass follows it. */
async function lastPageLeadsOn(ctx: RunContext, attempt: Attempt): Promise<boolean> {
  const { parts, withoutKey } = await lastSliceOf(attempt);
  const part = parts.find(({ done }) => !done);
  const { style } = ctx.report.paging;
  if (!part?.last || style === 'lookup') return true;
  // Which records without a key the next page has in common with that one only shows in one run.
  if (style === 'position' && withoutKey > 0) return false;
  try {
    return await samePage(pageRequest(ctx, part.fields), { ...part.last, next: part.cursor });
  } catch (thrown) {
    if (rethrowBugs(thrown).kind !== 'contract') throw thrown;
    return false;
  }
}

async function lastSliceOf({ progress }: Attempt): Promise<Slice> {
  const slice = (await progress.cached()).slices.at(-1);
  if (!slice) throw new Error('a claimed day has a slice');
  return slice;
}

import { BrandReportsError, rethrowBugs } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { SlicePart, Slice } from '../lake/documents/progress.ts';
import type { Page, PageRequest } from '../service/paging/page.ts';
import { firstPage, pages, samePage } from '../service/paging/pages.ts';
import { type Attempt, restartAttempt } from './claim.ts';
import { lookedUpPages } from './fetch-details.ts';
import { type RunContext, outOfTime } from './context.ts';
import { Stage, type StagedPage, primaryKeyField } from './stage.ts';

const MAX_RESTARTS = 3;

/**
 * Reads what the last slice of the day still lacks, page by page, and stages it.
 * @returns the reading, which may have been begun anew; `undefined` where the time was up before its end
 */
export async function fetchDay(run: RunContext, claimed: Attempt): Promise<Attempt | undefined> {
  let reading = claimed;
  if (reading.resumed && !(await isStillResumable(run, reading)))
    reading = await restartCounted(run, reading);
  const slice = await lastSlice(reading);
  for (const [index, part] of slice.parts.entries()) {
    if (part.done) continue;
    const outcome = await fetchPart(run, reading, slice, index, part);
    if (outcome === 'out_of_time') return undefined;
    if (outcome === 'refused') return fetchDay(run, await restartCounted(run, reading));
  }
  return reading;
}

/** The first page of a part of a day; a refusal of the instant that ends it names the setting that helps. */
export async function fetchFirstPageOf(
  run: RunContext,
  role: SlicePart['role'],
  fields: JsonObject,
): Promise<Page> {
  try {
    return await fetchFirstPage(run, fields);
  } catch (thrown) {
    const error = rethrowBugs(thrown);
    throw role === 'exclude' && error.code === 'service_code' ? instantRefused(run, error) : thrown;
  }
}

/** The first page that the report gives for these fields. */
export function fetchFirstPage(run: RunContext, fields: JsonObject): Promise<Page> {
  return firstPage(pageRequest(run, fields));
}

async function fetchPart(
  run: RunContext,
  reading: Attempt,
  slice: Slice,
  index: number,
  part: SlicePart,
): Promise<'read' | 'out_of_time' | 'refused'> {
  const stage = new Stage(run, reading, index, primaryKeyField(run));
  let paged = 0;
  try {
    for await (const page of pagesOf(run, reading, slice, part)) {
      await stage.add(page);
      paged += 1;
      run.log({
        event: 'page_fetched',
        day: reading.day,
        page: part.pages + paged,
        rows: page.records.length,
      });
      if (page.next !== null && mustStop(run, reading)) {
        await stage.flush();
        return 'out_of_time';
      }
    }
    return 'read';
  } catch (thrown) {
    const error = rethrowBugs(thrown);
    if (error.kind === 'transient') await stage.flush();
    const refused = error.kind !== 'transient' && error.kind !== 'conflict';
    if (paged === 0 && part.cursor !== null && reading.resumed && refused) return 'refused';
    if (part.role === 'exclude' && error.code === 'service_code') throw instantRefused(run, error);
    throw thrown;
  }
}

function instantRefused(
  { report, brandSettings }: RunContext,
  { message, context }: BrandReportsError,
): BrandReportsError {
  const setting = report.day.by === 'dates' ? 'endDate' : 'endTime';
  const allowed =
    setting === 'endTime' ? '"inclusive" or "exclusive", as the service means it' : '"whole_day"';
  return new BrandReportsError(
    'contract',
    'instant_refused',
    `${message}; this asked for the one instant that ends the day, to tell whether the range before includes it: set "${setting}" (now "${brandSettings[setting]}") to ${allowed}`,
    { context },
  );
}

/** A day whose cursor has died once is read to its end, or it would never be complete. */
function mustStop(run: RunContext, reading: Attempt): boolean {
  if (!run.deadline || !outOfTime(run)) return false;
  return reading.restarts === 0 || run.clock.wallMs() >= run.deadline.hardMs;
}

function pagesOf(
  run: RunContext,
  reading: Attempt,
  slice: Slice,
  part: SlicePart,
): AsyncIterable<StagedPage> {
  const { paging } = run.report;
  if (paging.style === 'lookup') return lookedUpPages(run, reading, slice, part, paging.lookup);
  const resume =
    part.pages > 0
      ? { cursor: part.cursor, seen: part.seen, ...(part.last && { last: part.last }) }
      : undefined;
  return pages(pageRequest(run, part.fields), resume);
}

function pageRequest(run: RunContext, fields: JsonObject): PageRequest {
  const { report, service, settings, brandSettings } = run;
  const identity = report.primaryKey?.always ? report.primaryKey.field : undefined;
  return {
    service,
    action: report.action,
    paging: report.paging,
    pageSize: settings.pageSize,
    firstPage: brandSettings.firstPage,
    fields,
    ...(identity !== undefined && { primaryKey: identity }),
  };
}

/** Positions and page numbers lead on only while the last staged page is still what it was. */
async function isStillResumable(run: RunContext, reading: Attempt): Promise<boolean> {
  const part = (await lastSlice(reading)).parts.find(({ done }) => !done);
  if (!part?.last || run.report.paging.style === 'cursor' || run.report.paging.style === 'lookup')
    return true;
  try {
    return await samePage(pageRequest(run, part.fields), part.last.cursor, part.last.hash);
  } catch (thrown) {
    if (rethrowBugs(thrown).kind === 'transient') throw thrown;
    return false;
  }
}

async function restartCounted(run: RunContext, reading: Attempt): Promise<Attempt> {
  run.log({ event: 'day_restarted', day: reading.day, restarts: reading.restarts + 1 });
  if (reading.restarts < MAX_RESTARTS) return restartAttempt(run, reading);
  throw new BrandReportsError(
    'contract',
    'cursor_dies',
    `${run.report.name} ${reading.day}: what an earlier run had read could not be gone on with ${MAX_RESTARTS} times; give a run more time (--max-seconds, the function's timeout), so that it reads the day in one go, or set "resumeWithinHours" to 0`,
  );
}

async function lastSlice({ progress }: Attempt): Promise<Slice> {
  const slice = (await progress.cached()).slices.at(-1);
  if (!slice) throw new Error('a claimed day has a slice');
  return slice;
}

// Reads the pages of a day in order, whatever the paging style. Without its checks, a read would end at an error body
// that looks like an empty page, or never end if the service sends it in a cycle. `end-of-pass.ts` accepts a page only
// if the read makes progress and its end is proven (I8).

import type { BrandReportsError } from '../../base/errors.ts';
import { type Json, stringifyJson } from '../../base/json.ts';
import { NO_RECORDS, keysOf } from '../../records/record-list.ts';
import { contractError, lacksList, recordsOf } from '../envelope.ts';
import { acceptPages } from './end-of-pass.ts';
import { ShownHabits } from './habits.ts';
import {
  type Cursor,
  type Page,
  type PageRequest,
  type Resume,
  cursorOf,
  hashOf,
  hashOfCursor,
  hashOfRecord,
  storedCursor,
  styleOf,
} from './page.ts';

/** More pages than any day has. Cursors that never end, with new records, would keep every run busy forever. */
const MAX_PAGES = 100_000;

/**
 * Reads the pages of a full read in order, and fetches the next page while the consumer works on the last one
 * (docs/explanation/interface.md, sections 4.1 and 4.3 to 4.5). Only the last page has no `next`; it may be empty.
 * Records that several pages have in common are kept.
 * @param shown the habits that earlier reads have shown; without them each end that may be wrong is requested twice
 * @throws BrandReportsError of the service; `contract` if the end is not proven or the read makes no progress
 */
export async function* pages(
  request: PageRequest,
  resume?: Resume,
  shown = new ShownHabits(),
): AsyncGenerator<Page, void, undefined> {
  const stop = new AbortController();
  const requestPage = (cursor: Cursor | null) => fetchPage(request, cursor, stop.signal);
  const confirmPages = request.paging.style === 'numbered' ? confirmNumbered : confirmCursors;
  const confirm = confirmPages(request, resume, requestPage, shown);
  const accept = acceptPages(request, resume);
  let read = resume?.seen.length ?? 0;
  let ahead = requestPage(storedCursor(resume?.cursor ?? null));
  try {
    for (;;) {
      const page = await confirm(await ahead);
      const accepted = accept(page);
      for (const one of accepted) shown.add(one);
      const ended = accepted.at(-1)?.next === null;
      read += 1;
      if (!ended) {
        if (read >= MAX_PAGES) throw endless(request);
        ahead = requestPage(page.next);
        // The failure is thrown when the consumer requests the page, if it ever does.
        ahead.catch(() => undefined);
      }
      yield* accepted;
      if (ended) return;
    }
  } finally {
    // With a reason, because creating the default reason, an error with a stack, takes as long as a small page.
    stop.abort('ended');
  }
}

function endless({ action, pageSize }: PageRequest): BrandReportsError {
  const message = `${MAX_PAGES} pages were read and the service still names a next page; no day is that long. If the day really has so many records, raise "pageSize" (now ${pageSize}). Otherwise the service's cursors do not end: report it to the service's operator`;
  return contractError(action, 'endless', message);
}

/** One page alone. @throws BrandReportsError of the service */
export async function fetchPage(
  request: PageRequest,
  cursor: Cursor | null,
  signal?: AbortSignal,
): Promise<Page> {
  const { service, action, paging, key } = request;
  const style = styleOf(request);
  const call = () => service.call(action, { ...request.fields, ...style.fields(cursor) }, signal);
  let response = await call();
  if (lacksList(response)) response = await call();
  const isNothing = lacksList(response) && (cursor === null || paging.style === 'numbered');
  const records = isNothing ? NO_RECORDS : recordsOf(service, action, response);
  const hash = hashOf(records);
  const keyOfLast = paging.style === 'position' ? keysOf(records, key).at(-1) : undefined;
  const lastKey = keyOfLast === undefined ? undefined : hashOfCursor(keyOfLast);
  const received = { ...response, count: records.count, cursor, lastKey };
  const isEnd = isNothing && paging.style === 'position' && !response.data.pageInfo;
  const next = isEnd ? null : style.next(received);
  // I8: without a list, a page is empty only at the beginning or at the numbered end, and never names a next page.
  if (isNothing && next !== null) recordsOf(service, action, response);
  return {
    cursor,
    records,
    next,
    hash,
    lacksCursor: paging.style === 'cursor' && cursorOf(response.envelope, response.data) === undefined,
    seen: cursor === null || paging.style === 'numbered' ? hash : hashOfCursor(cursor),
    ...(lastKey !== undefined && { lastKey }),
  };
}

// I8: repeats a request if one response cannot prove enough. Otherwise a cursor that expires while a run waits would
// end the day in the middle or read it twice, and one wrong page would end the read. An expired cursor shows as a
// refusal, as an empty last page, or as the first page with new cursors; only the refusal is an error by itself. Each
// paging style has one function that takes a fetched page and returns the page to continue with. Ordinary pages cost no
// further request, except a single numbered page of 20 records or more. Habits of the service save further requests,
// but never after a page that may be full.

type RequestPage = (cursor: Cursor | null) => Promise<Page>;
type Confirm = (
  request: PageRequest,
  resume: Resume | undefined,
  requestPage: RequestPage,
  shown: ShownHabits,
) => (page: Page) => Promise<Page>;

/** An empty page after a page that may be full ends the read only if a second response is empty too. */
const confirmNumbered: Confirm = ({ pageSize, paging }, resume, requestPage, shown) => {
  // A service hardly limits pages to less than the smallest size that can be requested.
  const leastSize = paging.pageSize.min;
  // The length of the page before a resumed read is unknown: the page may have been full.
  let before = resume ? Number.POSITIVE_INFINITY : 0;
  let count = 0;
  return async (fetched) => {
    const mayBeCapped = count > (before >= leastSize ? 0 : 1) && !shown.isShort(before);
    const followsFullPage = before >= pageSize || mayBeCapped;
    const page = fetched.records.count === 0 && followsFullPage ? await requestPage(fetched.cursor) : fetched;
    // I11: between the two requests, the first record of this page may have moved to the page before.
    const mayHaveGap = page.records.count > 0 ? before > 0 : shown.isFull(before, pageSize);
    before = page.records.count;
    count += 1;
    return { ...page, mayHaveGap };
  };
};

/** Its result throws BrandReportsError `contract` with code `cursor_died` if the read has to begin again. */
const confirmCursors: Confirm = (request, resume, requestPage, shown) => {
  const first = firstPageOf(resume);
  let before: ReadPage | undefined = resume?.last && { ...resume.last, next: resume.cursor };
  return async (fetched) => {
    // Its cursor may have got lost, unless it is a first page that is not full.
    const mayLeadOn = fetched.cursor !== null || shown.isFull(fetched.records.count, request.pageSize);
    const lacksEnd = fetched.lacksCursor && mayLeadOn;
    // The page before named a next page, so more records should follow.
    const isContradiction = before !== undefined && isEmptyEnd(fetched);
    const page = lacksEnd || isContradiction ? await requestPage(fetched.cursor) : fetched;
    if (before && mayDie(page.cursor, request) && (isEmptyEnd(page) || first.isFirstPage(page))) {
      if (!(await isUnchanged(before, requestPage))) throw cursorDied(request.action, isEmptyEnd(page));
    }
    first.keep(page);
    before = { cursor: page.cursor, hash: page.hash, next: page.next };
    return page;
  };
};

/**
 * Recognises the first page of a read if the list begins again: either unchanged, or with at least two of three sampled
 * records, in case some records were restated, added or removed meanwhile. Of a page that an earlier run read, only the
 * whole hash is known.
 */
function firstPageOf(resume: Resume | undefined) {
  let seen = resume?.seen[0];
  let met: ReadonlySet<string> = new Set();
  return {
    keep({ hash, records }: Page) {
      if (seen !== undefined) return;
      seen = hash;
      met = new Set(Array.from({ length: records.count }, (_, index) => hashOfRecord(records, index)));
    },
    isFirstPage({ hash, records, next }: Page): boolean {
      if (records.count === 0) return false;
      if (hash === seen) return true;
      // The first page named a next page.
      if (next === null) return false;
      const isMet = (place: number) => met.has(hashOfRecord(records, place));
      const [middle, last] = [Math.floor(records.count / 2), records.count - 1];
      return isMet(0) ? isMet(middle) || isMet(last) : records.count > 2 && isMet(middle) && isMet(last);
    },
  };
}

export type ReadPage = { cursor: Json; hash: string; next: Json };

function isEmptyEnd({ records, next }: Page): boolean {
  return records.count === 0 && next === null;
}

/** A numeric position always means the same place, so it cannot expire. */
function mayDie(cursor: Cursor | null, { paging }: PageRequest): boolean {
  return paging.style === 'cursor' ? cursor !== null : typeof cursor === 'string';
}

/**
 * Whether the page still has the same records and next cursor. A service that returns a new cursor in every response
 * proves nothing here. @throws BrandReportsError of the service
 */
export async function isUnchanged(before: ReadPage, requestPage: RequestPage): Promise<boolean> {
  const repeated = await requestPage(storedCursor(before.cursor));
  return repeated.hash === before.hash && stringifyJson(repeated.next) === stringifyJson(before.next);
}

function cursorDied(action: string, isEnd: boolean) {
  const found = isEnd ? 'an empty last page' : 'the first page again';
  const message = `a cursor of the service led to ${found}, and the page before it has changed or names another cursor when it is requested again. So the cursor has expired, and the pages have to be read again from the first page`;
  return contractError(action, 'cursor_died', message);
}

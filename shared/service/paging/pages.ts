// Reads the pages of a pass in order, whatever the paging style. Without the checks made here a pass would end where
// an error body looks like an empty page, or never end where the service sends it in a cycle. `page.ts` says how a
// page is requested and where the next cursor is; `end-of-pass.ts` accepts a page only where the pass makes progress and
// its end is proven (I8). What one answer does not prove is requested again here.

import type { BrandReportsError } from '../../errors.ts';
import { type Json, stringifyJson } from '../../json.ts';
import { contractError, recordsOf } from '../envelope.ts';
import { acceptPages } from './end-of-pass.ts';
import { ShownHabits } from './habits.ts';
import {
  type Cursor,
  type Page,
  type PageRequest,
  type Resume,
  hashOf,
  shortHash,
  shortHashOf,
  storedCursor,
  styleOf,
} from './page.ts';

/** More than any day has: cursors that are new for ever, with new records, would keep every run busy without end. */
const MAX_PAGES = 100_000;

/**
 * The pages of a pass in order; the next one is fetched while the consumer works on the last (docs/explanation/interface.md,
 * sections 4.1 and 4.3 to 4.5). The last page, and no other, has no `next`; it may be empty. Records that several
 * pages have in common are left in.
 * @param shown what earlier passes have shown of the service; without it each end that may be wrong is requested twice
 * @throws BrandReportsError of the service; `contract` where the end is not proven or the pass makes no progress
 */
export async function* pages(
  request: PageRequest,
  resume?: Resume,
  shown = new ShownHabits(),
): AsyncGenerator<Page, void, undefined> {
  const stop = new AbortController();
  const ask = (cursor: Cursor | null) => fetchPage(request, cursor, stop.signal);
  const confirm = confirmPages(request, resume, ask, shown);
  const accept = acceptPages(request, resume);
  let read = resume?.seen.length ?? 0;
  let ahead = ask(storedCursor(resume?.cursor ?? null));
  try {
    for (;;) {
      const page = await confirm(await ahead);
      const accepted = accept(page);
      for (const one of accepted) shown.add(one);
      const ended = accepted.at(-1)?.next === null;
      read += 1;
      if (!ended) {
        if (read >= MAX_PAGES) throw endless(request);
        ahead = ask(page.next);
        // Its failure is thrown when the consumer requests the page, if it ever does.
        ahead.catch(() => undefined);
      }
      yield* accepted;
      if (ended) return;
    }
  } finally {
    // With a reason, since to make the usual one, an error with a stack, takes as long as a small page.
    stop.abort('ended');
  }
}

function endless({ action, pageSize }: PageRequest): BrandReportsError {
  const message = `${MAX_PAGES} pages were read and there still is a next one, which no day has; if the day really has so many records, raise "pageSize" (now ${pageSize}), otherwise the service's cursors do not end: report it to its operator`;
  return contractError(action, 'endless', message);
}

/** The first page alone. @throws BrandReportsError of the service */
export function firstPage(request: PageRequest): Promise<Page> {
  return fetchPage(request, null);
}

/** Whether a page that was read before still has its records and its continuation. @throws BrandReportsError of the service */
export function samePage(request: PageRequest, read: ReadPage): Promise<boolean> {
  return isUnchanged(read, (cursor) => fetchPage(request, cursor));
}

async function fetchPage(request: PageRequest, cursor: Cursor | null, signal?: AbortSignal): Promise<Page> {
  const { service, action } = request;
  const style = styleOf(request);
  const response = await service.call(action, { ...request.fields, ...style.fields(cursor) }, signal);
  const records = recordsOf(service, action, response);
  const hash = hashOf(records);
  const received = { ...response, count: records.count, cursor };
  const next = style.next(received);
  return {
    cursor,
    records,
    next,
    hash,
    lacksCursor: style.lacksCursor(received),
    seen: style.seen(cursor, hash),
  };
}

// I8: what one answer alone cannot prove is asked again. Without that, a cursor that dies while a run waits would end
// the day in the middle or have it twice, and one page answered wrongly would be the end of the pass. A dead cursor
// shows as a refusal, as an empty last page, or as the first page with new cursors; only the first is an error by
// itself. Each paging style has one function that takes a page as it was fetched and returns the page to go on with.
// Ordinary pages cost no further request, except an only numbered page of 20 records or more. What earlier passes have
// shown of the service saves further requests, but never after a page that may be full.

type AskPage = (cursor: Cursor | null) => Promise<Page>;
type ConfirmPage = (page: Page) => Promise<Page>;

/**
 * The check of pages that one answer does not prove, in the report's paging style.
 * @param ask fetches a page of the pass
 * @returns a function that throws BrandReportsError `contract` with code `cursor_died` where the pass has to begin anew
 */
function confirmPages(
  request: PageRequest,
  resume: Resume | undefined,
  ask: AskPage,
  shown: ShownHabits,
): ConfirmPage {
  const confirmStyle = request.paging.style === 'numbered' ? confirmNumbered : confirmCursors;
  return confirmStyle(request, resume, ask, shown);
}

/** An empty page behind one that may be full ends the pass only if the service says so twice. */
function confirmNumbered(
  request: PageRequest,
  resume: Resume | undefined,
  ask: AskPage,
  shown: ShownHabits,
): ConfirmPage {
  const { pageSize, paging } = request;
  // A cap on pages is hardly below the least size that can be asked for.
  const leastSize = paging.style === 'numbered' ? paging.pageSize.min : pageSize;
  // How long the page before a resumed pass was is not known: it may have been full.
  let before = resume ? Number.POSITIVE_INFINITY : 0;
  let count = 0;
  return async (fetched) => {
    const mayBeCapped = count > (before >= leastSize ? 0 : 1) && !shown.isShort(before);
    const isBehindFull = before >= pageSize || mayBeCapped;
    const page = fetched.records.count === 0 && isBehindFull ? await ask(fetched.cursor) : fetched;
    before = page.records.count;
    count += 1;
    return page;
  };
}

function confirmCursors(
  request: PageRequest,
  resume: Resume | undefined,
  ask: AskPage,
  shown: ShownHabits,
): ConfirmPage {
  const first = firstPageOf(resume);
  let before: ReadPage | undefined = resume?.last && { ...resume.last, next: resume.cursor };
  return async (fetched) => {
    const lacksEnd = fetched.lacksCursor && shown.mayLeadOn(fetched, request.pageSize);
    // The page before has said that more records follow.
    const isContradiction = before !== undefined && isEmptyEnd(fetched);
    const page = lacksEnd || isContradiction ? await ask(fetched.cursor) : fetched;
    if (before && mayDie(page.cursor, request) && (isEmptyEnd(page) || first.isAgain(page))) {
      if (!(await isUnchanged(before, ask))) throw cursorDied(request.action, isEmptyEnd(page));
    }
    first.keep(page);
    before = { cursor: page.cursor, hash: page.hash, next: page.next };
    return page;
  };
}

/**
 * Recognises the first page of a pass where the list begins again: as it was, or with most of three of its records, if
 * some were restated, added or removed meanwhile. Of a page that an earlier run read only the whole is known.
 */
function firstPageOf(resume: Resume | undefined) {
  let seen = resume?.seen[0];
  let met: ReadonlySet<string> = new Set();
  return {
    keep({ hash, records }: Page) {
      if (seen !== undefined) return;
      seen = shortHash(hash);
      met = new Set(Array.from({ length: records.count }, (_, index) => shortHashOf(records, index)));
    },
    isAgain({ hash, records, next }: Page): boolean {
      if (records.count === 0) return false;
      if (shortHash(hash) === seen) return true;
      // The first page has named a next one.
      if (next === null) return false;
      const isMet = (place: number) => met.has(shortHashOf(records, place));
      const [middle, last] = [Math.floor(records.count / 2), records.count - 1];
      return isMet(0) ? isMet(middle) || isMet(last) : records.count > 2 && isMet(middle) && isMet(last);
    },
  };
}

/** A page that was read: its cursor, the hash of its records, and the cursor that it named. */
export type ReadPage = { cursor: Json; hash: string; next: Json };

function isEmptyEnd({ records, next }: Page): boolean {
  return records.count === 0 && next === null;
}

/** A position that is a number means the same place for ever. */
function mayDie(cursor: Cursor | null, { paging }: PageRequest): boolean {
  return paging.style === 'cursor' ? cursor !== null : typeof cursor === 'string';
}

/** Whether the page still is what it was. A service that names a new cursor in every answer proves nothing. */
async function isUnchanged(before: ReadPage, ask: AskPage): Promise<boolean> {
  const again = await ask(storedCursor(before.cursor));
  return again.hash === before.hash && stringifyJson(again.next) === stringifyJson(before.next);
}

function cursorDied(action: string, isEnd: boolean) {
  const found = isEnd ? 'an empty last page' : 'the first page again';
  return contractError(
    action,
    'cursor_died',
    `a cursor of the service led to ${found}, and the page before it, requested again, has changed or names another cursor: the service has forgotten the first one, so the pages have to be read again from the first one`,
  );
}

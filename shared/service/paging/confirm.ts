// I8: what one answer alone cannot prove is asked again. Without that, a cursor that dies while a run waits would end
// the day in the middle or have it twice, and one page answered wrongly would be the end of the pass. A dead cursor
// shows as a refusal, as an empty last page, or as the first page with new cursors; only the first is an error by
// itself. Each paging style has one function that takes a page as it was fetched and returns the page to go on with.
// Ordinary pages cost no further request, except an only numbered page of 20 records or more. Whether a pass makes
// progress is judged by `end-of-pass.ts`.

import { type Json, stringifyJson } from '../../json.ts';
import { contractError } from '../records.ts';
import {
  type Cursor,
  type Page,
  type PageRequest,
  type Resume,
  shortHash,
  shortHashOf,
  storedCursor,
} from './page.ts';

type AskPage = (cursor: Cursor | null) => Promise<Page>;
type ConfirmPage = (page: Page) => Promise<Page>;

/**
 * The check of pages that one answer does not prove, in the report's paging style.
 * @param ask fetches a page of the pass
 * @returns a function that throws BrandReportsError `contract` with code `cursor_died` where the pass has to begin anew
 */
export function confirmPages(request: PageRequest, resume: Resume | undefined, ask: AskPage): ConfirmPage {
  return request.paging.style === 'numbered'
    ? confirmNumbered(request, resume, ask)
    : confirmCursors(request, resume, ask);
}

/** An empty page behind one that may be full ends the pass only if the service says so twice. */
function confirmNumbered(request: PageRequest, resume: Resume | undefined, ask: AskPage): ConfirmPage {
  const { pageSize, paging } = request;
  // A cap on pages is hardly below the least size that can be asked for.
  const leastSize = paging.style === 'numbered' ? paging.pageSize.min : pageSize;
  // How long the page before a resumed pass was is not known: it may have been full.
  let before = resume ? Number.POSITIVE_INFINITY : 0;
  let longest = 0;
  let count = 0;
  return async (fetched) => {
    const mayBeCapped = count === 1 ? before >= leastSize : count > 1 && before >= longest;
    const isBehindFull = before >= pageSize || mayBeCapped;
    const page = fetched.records.count === 0 && isBehindFull ? await ask(fetched.cursor) : fetched;
    before = page.records.count;
    longest = Math.max(longest, before);
    count += 1;
    return page;
  };
}

function confirmCursors(request: PageRequest, resume: Resume | undefined, ask: AskPage): ConfirmPage {
  const first = firstPageOf(resume);
  let before: ReadPage | undefined = resume?.last && { ...resume.last, next: resume.cursor };
  return async (fetched) => {
    const lacksEnd = fetched.lacksCursor && (fetched.cursor !== null || isFull(fetched, request));
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

function isFull({ records }: Page, { pageSize }: PageRequest): boolean {
  return records.count >= pageSize;
}

/** A position that is a number means the same place for ever. */
function mayDie(cursor: Cursor | null, { paging }: PageRequest): boolean {
  return paging.style === 'cursor' ? cursor !== null : typeof cursor === 'string';
}

/** Whether the page still is what it was. A service that names a new cursor in every answer proves nothing. */
export async function isUnchanged(before: ReadPage, ask: AskPage): Promise<boolean> {
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

// Reads the pages of a pass in order, whatever the paging style. Without the checks made here a pass would end where
// an error body looks like an empty page, or never end where the service sends it in a cycle. `styles.ts` says how a
// page is requested and where the next cursor is; `confirm.ts` asks again what one answer does not prove; `end-of-pass.ts`
// accepts a page only where the pass makes progress and its end is proven (I8); `page.ts` has the types.

import type { BrandReportsError } from '../../errors.ts';
import { contractError, recordsOf } from '../records.ts';
import { type ReadPage, confirmPages, isUnchanged } from './confirm.ts';
import { acceptPages } from './end-of-pass.ts';
import { type Cursor, type Page, type PageRequest, type Resume, hashOf, storedCursor } from './page.ts';
import { styleOf } from './styles.ts';

/** More than any day has: cursors that are new for ever, with new records, would keep every run busy without end. */
const MAX_PAGES = 100_000;

/**
 * The pages of a pass in order; the next one is fetched while the consumer works on the last (docs/interface.md,
 * sections 4.1 and 4.3 to 4.5). The last page, and no other, has no `next`; it may be empty. Records that several
 * pages have in common are left in.
 * @throws BrandReportsError of the service; `contract` where the end is not proven or the pass makes no progress
 */
export async function* pages(request: PageRequest, resume?: Resume): AsyncGenerator<Page, void, undefined> {
  const stop = new AbortController();
  const ask = (cursor: Cursor | null) => fetchPage(request, cursor, stop.signal);
  const confirm = confirmPages(request, resume, ask);
  const accept = acceptPages(request, resume);
  let read = resume?.seen.length ?? 0;
  let ahead = ask(storedCursor(resume?.cursor ?? null));
  try {
    for (;;) {
      const page = await confirm(await ahead);
      const accepted = accept(page);
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

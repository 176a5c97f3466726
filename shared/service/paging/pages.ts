import { BrandReportsError } from '../../errors.ts';
import { type Json, type JsonObject, stringifyJson } from '../../json.ts';
import type { ReportService } from '../../ports.ts';
import type { Paging } from '../../reports/definition.ts';
import { type Cursor, hashOf, isCursor, styleOf } from './styles.ts';
import { recordsOf } from '../records.ts';

export interface PageRequest {
  service: ReportService;
  action: string;
  paging: Paging;
  /** Records asked for per page. */
  pageSize: number;
  /** The first `page_number`. */
  firstPage: number;
  /** The action's own fields, paging aside. */
  fields: JsonObject;
  /** The field that tells records apart. */
  primaryKey?: string;
}

export interface Page {
  /** What asked for it; `null` where it is the first. */
  cursor: Cursor | null;
  records: JsonObject[];
  /** What asks for the next one; `null` where the end is proven. */
  next: Cursor | null;
  /** Of the records, in their order. */
  hash: string;
  /** Short hash by which a pass knows that it has been here: of the cursor, or of a numbered page's records. */
  seen: string;
}

/** Where an interrupted pass goes on. */
export interface Resume {
  /** `next` of the last page kept; `null` where none was. */
  cursor: Json;
  /** `seen` of every page kept. */
  seen: readonly string[];
  /** The last page kept. */
  last?: { hash: string };
}

/**
 * The pages of a pass in order, the next one under way while the last is worked on (interface document, sections
 * 4.1 and 4.3 to 4.5). The last page, and no other, has no `next`; it may be empty. What pages overlap is left in.
 * @throws BrandReportsError of the service; `contract` where the end is not proven or the pass does not get on
 */
export async function* pages(request: PageRequest, resume?: Resume): AsyncGenerator<Page, void, undefined> {
  const stop = new AbortController();
  const accept = styleOf(request).acceptance(resume);
  let ahead = ask(request, storedCursor(resume?.cursor ?? null), stop.signal);
  try {
    for (;;) {
      const page = await ahead;
      const accepted = accept(page);
      const ended = accepted.at(-1)?.next === null;
      if (!ended) {
        ahead = ask(request, page.next, stop.signal);
        // Its failure is met when the consumer comes for it, if it ever does.
        ahead.catch(() => undefined);
      }
      yield* accepted;
      if (ended) return;
    }
  } finally {
    stop.abort();
  }
}

/** The first page alone. */
export function firstPage(request: PageRequest): Promise<Page> {
  return ask(request, null);
}

/** Whether the page that `cursor` asks for still has the records it had. */
export async function samePage(request: PageRequest, cursor: Json, hash: string): Promise<boolean> {
  const page = await ask(request, storedCursor(cursor));
  return page.hash === hash;
}

async function ask(request: PageRequest, cursor: Cursor | null, signal?: AbortSignal): Promise<Page> {
  const { service, action } = request;
  const style = styleOf(request);
  const answer = await service.call(action, { ...request.fields, ...style.fields(cursor) }, signal);
  const records = recordsOf(service, action, answer.data);
  const hash = hashOf(records);
  const next = style.next({ ...answer, records, cursor });
  return { cursor, records, next, hash, seen: style.seen(cursor, hash) };
}

function storedCursor(stored: Json): Cursor | null {
  if (stored === null || isCursor(stored)) return stored;
  throw new BrandReportsError(
    'bug',
    'bad_cursor',
    `a stored cursor is text or a number, not ${stringifyJson(stored)}`,
  );
}

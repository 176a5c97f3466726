import { hash } from 'node:crypto';
import { BrandReportsError } from '../../errors.ts';
import {
  type Json,
  type JsonObject,
  type RawNumber,
  isCanonicalInteger,
  isJsonObject,
  isRawNumber,
  numberText,
  parseJson,
  stringifyJson,
} from '../../json.ts';
import type { Page, PageRequest, Resume } from './pages.ts';
import { broken, describeKind } from '../records.ts';

/** What asks for a page: a position, a page number or the service's own cursor, handed back verbatim. */
export type Cursor = string | number | RawNumber;

export function isCursor(value: Json | undefined): value is Cursor {
  return typeof value === 'string' || typeof value === 'number' || isRawNumber(value);
}

/** Takes the pages of a pass as they are read; gives those that are certain by now, in order. */
type Accept = (page: Page) => readonly Page[];

interface Answer {
  envelope: JsonObject;
  data: JsonObject;
  records: readonly JsonObject[];
  cursor: Cursor | null;
}

/** What differs between the ways of paging. */
interface Style {
  /** The fields that ask for a page. */
  fields(cursor: Cursor | null): JsonObject;
  /** What asks for the next page, `null` at the terminal sign. */
  next(answer: Answer): Cursor | null;
  seen(cursor: Cursor | null, recordsHash: string): string;
  acceptance(resume: Resume | undefined): Accept;
}

export function styleOf(request: PageRequest): Style {
  const { action, paging, pageSize } = request;
  switch (paging.style) {
    case 'position':
      return {
        fields: (cursor) => ({ first: cursor ?? 0, [paging.sizeField]: pageSize }),
        next: ({ data }) => nextPosition(action, data.pageInfo),
        seen: (cursor) => shortHash(cursor ?? 0),
        acceptance: (resume) => acceptPositions(request, resume),
      };
    case 'numbered': {
      const { fixedFields } = paging;
      return {
        fields: (cursor) => ({
          ...fixedFields,
          page_number: cursor ?? request.firstPage,
          [paging.sizeField]: pageSize,
        }),
        next: ({ records, cursor }) =>
          records.length === 0 ? null : Number(cursor ?? request.firstPage) + 1,
        seen: (_cursor, recordsHash) => shortHash(recordsHash),
        acceptance: (resume) => acceptNumbered(request, resume),
      };
    }
    case 'cursor':
      return {
        fields: (cursor) => ({ ...(cursor !== null && { cursor }), [paging.sizeField]: pageSize }),
        next: (answer) => nextCursor(action, answer, paging.countField),
        seen: shortHash,
        acceptance: (resume) => acceptCursors(request, resume),
      };
    case 'lookup':
      throw new BrandReportsError('bug', 'not_paged', `${action} has no pages`);
  }
}

/** Of records in their order. */
export function hashOf(records: JsonObject[]): string {
  return hash('sha256', stringifyJson(records), 'base64url');
}

function shortHash(value: Json): string {
  return hash('sha256', stringifyJson(value), 'base64url').slice(0, 11);
}

function nextPosition(action: string, pageInfo: Json | undefined): Cursor | null {
  if (!isJsonObject(pageInfo) || typeof pageInfo.hasNextPage !== 'boolean') {
    const met = isJsonObject(pageInfo)
      ? `hasNextPage is ${describeKind(pageInfo.hasNextPage)}`
      : `it is ${describeKind(pageInfo)}`;
    throw broken(action, 'page_info', `"data.pageInfo" needs hasNextPage, true or false; ${met}`);
  }
  const { hasNextPage, endCursor } = pageInfo;
  if (!hasNextPage) return null;
  if (!isCursor(endCursor) || endCursor === '') {
    const met = endCursor === '' ? 'empty' : describeKind(endCursor);
    throw broken(action, 'page_info', `hasNextPage is true, so endCursor needs a position; it is ${met}`);
  }
  const digits = typeof endCursor === 'string' ? endCursor : (numberText(endCursor) ?? '');
  const integer = isCanonicalInteger(digits) ? parseJson(digits) : endCursor;
  return isCursor(integer) ? integer : endCursor;
}

function nextCursor(
  action: string,
  { envelope, data, records }: Answer,
  countField: string | undefined,
): Cursor | null {
  const count = countField === undefined ? undefined : numberText(data[countField]);
  if (count !== undefined && count !== String(records.length)) {
    const message = `"data.${countField}" says ${count} records, the list has ${records.length}: one of them is wrong`;
    throw broken(action, 'count_mismatch', message);
  }
  const cursor = Object.hasOwn(data, 'cursor') ? data.cursor : envelope.cursor;
  if (cursor === undefined || cursor === null || cursor === '') return null;
  if (isCursor(cursor)) return cursor;
  throw broken(
    action,
    'bad_cursor',
    `"cursor" is ${describeKind(cursor)}; text, a number or null is expected`,
  );
}

/** A pass that is sent back to a page it has asked for would never end. */
function rejectRepeatedCursor(
  { service, action }: PageRequest,
  resume: Resume | undefined,
): (page: Page) => void {
  const asked = new Set(resume?.seen);
  return ({ next, seen }) => {
    asked.add(seen);
    if (next === null || !asked.has(shortHash(next))) return;
    const cursor = service.quote(stringifyJson(next));
    throw broken(
      action,
      'repeated_cursor',
      `the cursor ${cursor} was asked for before in this pass; following it would not end`,
    );
  };
}

function acceptPositions(request: PageRequest, resume: Resume | undefined): Accept {
  const { action, primaryKey } = request;
  const check = rejectRepeatedCursor(request, resume);
  const hashes = new Set<string>();
  let before: ReadonlySet<string> = new Set();
  return (page) => {
    check(page);
    if (page.next !== null && hashes.has(page.hash))
      throw broken(
        action,
        'repeated_page',
        'a page has the very records of an earlier one; going on would not end',
      );
    hashes.add(page.hash);
    const identities = page.records.map((record) => keyOrContent(record, primaryKey));
    if (page.next !== null && identities.every((id) => before.has(id))) {
      const message = `hasNextPage is true after a page of ${identities.length} records, none of which is new`;
      throw broken(action, 'no_progress', message);
    }
    before = new Set(identities);
    return [page];
  };
}

function keyOrContent(record: JsonObject, field: string | undefined): string {
  const value = field !== undefined && Object.hasOwn(record, field) ? record[field] : undefined;
  return (typeof value === 'string' ? value : numberText(value)) ?? stringifyJson(record);
}

/**
 * A page equal to the one before is either a part of the day or the last one given again for want of more: it is
 * held back until the page behind it tells.
 */
function acceptNumbered({ action }: PageRequest, resume: Resume | undefined): Accept {
  const met = new Set(resume?.seen);
  let last = resume?.last?.hash;
  let held: Page | undefined;
  return (page) => {
    if (held?.hash === page.hash) return [{ ...held, records: [], hash: hashOf([]), next: null }];
    const ready = held ? [held, page] : [page];
    held = undefined;
    if (page.next === null) return ready;
    if (page.hash === last) {
      held = page;
      return [];
    }
    if (met.has(page.seen)) {
      const message = `page ${stringifyJson(page.cursor)} has the very records of an earlier page that is not the one before it`;
      throw broken(action, 'repeated_page', message);
    }
    met.add(page.seen);
    last = page.hash;
    return ready;
  };
}

const mostEmptyPages = 3;
/** Records without an identity may be twins, pages of twins equal; so many in a row are a service that goes in circles. */
const mostEqualPages = 100;

function acceptCursors(request: PageRequest, resume: Resume | undefined): Accept {
  const check = rejectRepeatedCursor(request, resume);
  let empty = 0;
  let equal = 0;
  let last: string | undefined;
  return (page) => {
    check(page);
    equal = page.hash === last ? equal + 1 : 0;
    last = page.hash;
    if (page.next !== null && equal >= mostEqualPages)
      throw broken(
        request.action,
        'no_progress',
        `${equal} pages in a row repeated the one before and still named a next one`,
      );
    empty = page.records.length === 0 ? empty + 1 : 0;
    if (page.next !== null && empty > mostEmptyPages) {
      const message = `${empty} pages in a row were empty and still named a next one`;
      throw broken(request.action, 'empty_pages', message);
    }
    return [page];
  };
}

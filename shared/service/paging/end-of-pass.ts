// I8: proves the end of a full read. Without these checks, a service that returns the same page forever, or sends the
// reader back to an earlier page, would keep a run busy without end. A service that repeats its last page instead of
// returning an empty page would have records counted twice. Each paging style has one function that takes the pages as
// they are read and returns the pages that are certain.

import { isRawNumber, stringifyJson } from '../../base/json.ts';
import { MetRecords, keyHashes } from '../../records/met-records.ts';
import { fieldsOfKey, keysOf, NO_RECORDS, type RecordKey } from '../../records/record-list.ts';
import { contractError } from '../envelope.ts';
import { type Page, type PageRequest, type Resume, hashOf, hashOfCursor } from './page.ts';

type AcceptPage = (page: Page) => readonly Page[];

/** @returns a function that throws BrandReportsError `contract` if the read would not end */
export function acceptPages(request: PageRequest, resume: Resume | undefined): AcceptPage {
  switch (request.paging.style) {
    case 'position':
      return acceptPositions(request, resume);
    case 'numbered':
      return acceptNumbered(request, resume);
    case 'cursor':
      return acceptCursors(request, resume);
  }
}

/** I8: a read that is sent back to an earlier page would never end. */
function rejectRepeatedCursor(
  { service, action, paging }: PageRequest,
  resume: Resume | undefined,
): (page: Page) => void {
  const requested = new Set(resume?.seen);
  // The first page of positions is requested as position 0.
  if (paging.style === 'position') requested.add(hashOfCursor(0));
  return ({ next, seen }) => {
    requested.add(seen);
    if (next === null || !requested.has(hashOfCursor(next))) return;
    const cursor = service.quote(stringifyJson(next));
    const message = `the cursor ${cursor} was already requested in this read, so following it would never end; report it to the service's operator`;
    throw contractError(action, 'repeated_cursor', message);
  };
}

function acceptPositions(request: PageRequest, resume: Resume | undefined): AcceptPage {
  const { action, key } = request;
  const rejectRepeated = rejectRepeatedCursor(request, resume);
  const hashes = new Set<string>();
  let before: ReadonlySet<string | undefined> = new Set();
  let { lastKey } = resume?.last ?? {};
  return (page) => {
    rejectRepeated(page);
    if (page.next !== null && hashes.has(page.hash)) {
      const message =
        'a page has exactly the records of an earlier page, so following it would never end; report it to the operator of the service';
      throw contractError(action, 'repeated_page', message);
    }
    hashes.add(page.hash);
    const keys = keysOf(page.records, key);
    const [first] = keys;
    const beginsWithLast = first !== undefined && hashOfCursor(first) === lastKey;
    // After the last record, a page may consist of the overlap and still promise more.
    const isOverlap = beginsWithLast && keys.length === 1 && before.size > 1;
    if (page.next !== null && !isOverlap && keys.every((own) => own !== undefined && before.has(own))) {
      const message = `hasNextPage is true, but none of the page's ${keys.length} records is new; report it to the service's operator`;
      throw contractError(action, 'no_progress', message);
    }
    before = new Set(keys);
    ({ lastKey } = page);
    return [{ ...page, mayHaveGap: page.cursor !== null && !beginsWithLast }];
  };
}

/** Whether a key is new does not depend on the content of its record. */
const ANY_CONTENT = 1;
/** Numbered pages may overlap if records move. This many pages in a row without a new key are a cycle. */
const MAX_PAGES_WITHOUT_NEW_KEY = 3;

/**
 * A page that equals the page before it is either part of the day, or the last page sent again because there is no
 * more. It is held back until the next page decides: if that page is equal too, the read has ended; otherwise the held
 * page is part of the day. Pages of records with a key are equal if their keys are the same, because a field may differ
 * in every response.
 */
function acceptNumbered({ action, key }: PageRequest, resume: Resume | undefined): AcceptPage {
  const read = new Set(resume?.seen);
  const met = new MetRecords();
  let withoutNewKey = 0;
  let last: { hash: string | undefined; keys?: ReadonlySet<string> | undefined } = {
    hash: resume?.last?.hash,
  };
  let held: Page | undefined;
  return (page) => {
    const keys = ownKeysOf(page, key);
    const isRepeated = page.hash === last.hash || haveSameKeys(keys, last.keys);
    if (held && isRepeated)
      return [{ ...held, records: NO_RECORDS, hash: hashOf(NO_RECORDS), next: null, mayHaveGap: false }];
    const certain = held ? [held, page] : [page];
    held = undefined;
    if (page.next === null) return certain;
    if (isRepeated) {
      held = page;
      return [];
    }
    if (read.has(page.seen)) {
      const message = `page ${stringifyJson(page.cursor)} has exactly the records of an earlier page that is not the one before it`;
      throw contractError(action, 'repeated_page', message);
    }
    const known = met.size;
    const hashes = keyHashes([...(keys ?? [])]);
    for (let place = 0; place < (keys?.size ?? 0); place += 1) met.meet(hashes, place, ANY_CONTENT);
    withoutNewKey = keys && met.size === known ? withoutNewKey + 1 : 0;
    if (withoutNewKey >= MAX_PAGES_WITHOUT_NEW_KEY) {
      const message = `${withoutNewKey} pages in a row, the last one page ${stringifyJson(page.cursor)}, have no "${key === undefined ? '' : fieldsOfKey(key).join('", "')}" that is not on earlier pages, so following them would never end; report it to the service's operator`;
      throw contractError(action, 'no_progress', message);
    }
    read.add(page.seen);
    last = { hash: page.hash, keys };
    return certain;
  };
}

/** The keys of a page; `undefined` if a record lacks a key of its own, so that the field may not be a key. */
function ownKeysOf({ records }: Page, key: RecordKey | undefined): ReadonlySet<string> | undefined {
  const keys = new Set(keysOf(records, key).filter((own) => own !== undefined));
  return keys.size === records.count ? keys : undefined;
}

function haveSameKeys(
  keys: ReadonlySet<string> | undefined,
  others: ReadonlySet<string> | undefined,
): boolean {
  if (keys === undefined || others?.size !== keys.size) return false;
  return [...keys].every((key) => others.has(key));
}

const MAX_EMPTY_PAGES = 3;
/** Records without a key may be duplicates, so even pages may be equal. This many equal pages in a row are a cycle. */
const MAX_EQUAL_PAGES = 100;

function acceptCursors(request: PageRequest, resume: Resume | undefined): AcceptPage {
  const rejectRepeated = rejectRepeatedCursor(request, resume);
  let records = resume ? Number.POSITIVE_INFINITY : 0;
  let empty = 0;
  let equal = 0;
  let last: string | undefined;
  return (page) => {
    rejectRepeated(page);
    equal = page.hash === last ? equal + 1 : 0;
    last = page.hash;
    if (page.next !== null && equal >= MAX_EQUAL_PAGES)
      throw endlessPages(request, 'no_progress', `${equal} pages in a row repeated the page before them`);
    empty = page.records.count === 0 ? empty + 1 : 0;
    if (page.next !== null && empty > MAX_EMPTY_PAGES)
      throw endlessPages(request, 'empty_pages', `${empty} pages in a row were empty`);
    records += page.records.count;
    // A cursor that counts pages or records is a place in a list that may shift; other cursors are the service's own.
    const mayHaveGap = page.next !== null && !isRawNumber(page.next) && Number(page.next) <= records + 1;
    return [{ ...page, mayHaveGap }];
  };
}

function endlessPages({ action }: PageRequest, code: 'no_progress' | 'empty_pages', found: string) {
  return contractError(
    action,
    code,
    `${found} and still named a next page; report it to the service's operator`,
  );
}

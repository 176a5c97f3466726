import { describe, expect, it } from '@jest/globals';
import { NO_RECORDS, recordListOf, recordsOfList } from '../../../shared/records/record-list.ts';
import { BrandReportsError } from '../../../shared/base/errors.ts';
import type { JsonObject } from '../../../shared/base/json.ts';
import { acceptPages } from '../../../shared/service/paging/end-of-pass.ts';
import {
  type Cursor,
  type Page,
  type PagedStyle,
  type PageRequest,
  type Resume,
  hashOf,
  hashOfCursor,
} from '../../../shared/service/paging/page.ts';
import { answersInTurn, byCursor, numbered, position } from '../../fakes/paged-service.ts';

function requestOf(paging: PagedStyle, given: Partial<PageRequest> = {}): PageRequest {
  const { service } = answersInTurn({});
  const quoting = { ...service, quote: (text: string) => `<${text}>` };
  return { service: quoting, action: 'report/any', paging, pageSize: 20, firstPage: 1, fields: {}, ...given };
}

/** Records with these ids. */
const ids = (...names: string[]): JsonObject[] => names.map((id) => ({ id }));
/** Records without a key. */
const amounts = (...values: number[]): JsonObject[] => values.map((amount) => ({ amount }));

/** A page as it was fetched: `seen` is derived from the records of a numbered page, otherwise from its cursor. */
function page(records: JsonObject[], cursor: Cursor | null, next: Cursor | null): Page {
  const list = recordListOf(records);
  const hash = hashOf(list);
  return {
    records: list,
    cursor,
    next,
    hash,
    lacksCursor: false,
    seen: cursor === null ? hash : hashOfCursor(cursor),
  };
}

/** Pages that follow each other, at 1, 2, 3, …; the last one has no next page. */
function passOf(...pages: JsonObject[][]): Page[] {
  return pages.map((records, index) =>
    page(records, index === 0 ? null : index, index === pages.length - 1 ? null : index + 1),
  );
}

function numberedPassOf(...pages: JsonObject[][]): Page[] {
  return pages.map((records, index) => ({
    ...page(records, index + 1, records.length === 0 ? null : index + 2),
    seen: hashOf(recordListOf(records)),
  }));
}

/** The pages that are certain after each page; a failure's code replaces the rest. */
function accepted(request: PageRequest, pages: readonly Page[], resume?: Resume): unknown[] {
  const accept = acceptPages(request, resume);
  const certain: unknown[] = [];
  for (const one of pages) {
    try {
      certain.push(
        accept(one).map(({ records }) => recordsOfList(records).map(({ id, amount }) => id ?? amount)),
      );
    } catch (error) {
      return [...certain, error instanceof BrandReportsError ? error.code : error];
    }
  }
  return certain;
}

/** The error for the last of the pages. */
function refusal(request: PageRequest, pages: readonly Page[]): unknown {
  const accept = acceptPages(request, undefined);
  try {
    for (const one of pages) accept(one);
  } catch (error) {
    return error;
  }
  return 'nothing';
}

describe('a cursor that was requested before', () => {
  const again = (next: Cursor): Page => ({ ...page(ids('z'), 'y', next), seen: hashOfCursor('y') });

  it.each<[string, PagedStyle, Page[], unknown[]]>([
    ['its own', byCursor, [page(ids('a'), 'x', 'x')], ['repeated_cursor']],
    [
      'the cursor of an earlier page',
      byCursor,
      [page(ids('a'), 'x', 'y'), again('x')],
      [[['a']], 'repeated_cursor'],
    ],
    [
      'a cursor of digits',
      byCursor,
      [page(ids('a'), null, 1), page(ids('b'), 1, 1)],
      [[['a']], 'repeated_cursor'],
    ],
    ['another', byCursor, [page(ids('a'), 'x', 'y'), again('z')], [[['a']], [['z']]]],
    ['the first position', position, [page(ids('a'), null, 0)], ['repeated_cursor']],
    ['the cursor 0, which was not requested before', byCursor, [page(ids('a'), null, 0)], [[['a']]]],
    ['an earlier position', position, [page(ids('a'), 'x', 'y'), again('x')], [[['a']], 'repeated_cursor']],
  ])('I8: fails the read, and no other cursor does: %s', (_name, paging, pages, certain) => {
    expect(accepted(requestOf(paging), pages)).toEqual(certain);
  });

  it.each([
    ['a position', position],
    ['a cursor', byCursor],
  ] as const)('I8: is recognised if an earlier run requested it: %s', (_name, paging) => {
    const resume = { cursor: 'y', seen: [hashOfCursor('w'), hashOfCursor('x')] };
    expect(accepted(requestOf(paging), [again('x')], resume)).toEqual(['repeated_cursor']);
    expect(accepted(requestOf(paging), [again('v')], resume)).toEqual([[['z']]]);
  });

  it('I9: is quoted', () => {
    expect(refusal(requestOf(byCursor), [page(ids('a'), 'x', 'x')])).toMatchObject({
      ...{ kind: 'contract' },
      message: `report/any: the cursor <"x"> was already requested in this read, so following it would never end; report it to the service's operator`,
    });
  });
});

describe('a full read by positions', () => {
  const request = requestOf(position, { key: 'id' });

  it('accepts the pages in order, and may end with a page that it has seen, or without records', () => {
    expect(accepted(request, passOf(ids('a', 'b'), ids('c', 'd')))).toEqual([[['a', 'b']], [['c', 'd']]]);
    expect(accepted(request, passOf(ids('a', 'b'), ids('a', 'b')))).toEqual([[['a', 'b']], [['a', 'b']]]);
    expect(accepted(request, passOf([]))).toEqual([[[]]]);
  });

  it('I8: fails if a page repeats the records of any earlier page', () => {
    const [a, b] = [ids('a', 'b'), ids('c', 'd')];
    const pages = passOf(a, b, a, ids('e'));
    expect(accepted(request, pages)).toEqual([[['a', 'b']], [['c', 'd']], 'repeated_page']);
    expect(refusal(request, pages)).toMatchObject({
      kind: 'contract',
      message:
        'report/any: a page has exactly the records of an earlier page, so following it would never end; report it to the operator of the service',
    });
  });

  it('I8: fails if a page has only records of the page before, changed or not', () => {
    const changed = [{ id: 'b', amount: 1 }];
    const pages = passOf(ids('a', 'b'), changed, ids('c'));
    expect(accepted(request, pages)).toEqual([[['a', 'b']], 'no_progress']);
    expect(refusal(request, pages)).toMatchObject({
      kind: 'contract',
      message:
        "report/any: hasNextPage is true, but none of the page's 1 records is new; report it to the service's operator",
    });
    expect(accepted(request, passOf(ids('a', 'b'), [...changed, ...ids('c')], ids('d')))).toHaveLength(3);
    expect(accepted(request, passOf([], ids('a')))).toEqual(['no_progress']);
    expect(accepted(request, passOf(ids('a', 'b'), ids('b')))).toEqual([[['a', 'b']], [['b']]]);
  });

  it('I1: keeps an overlap of records, which is later dropped by their key', () => {
    expect(accepted(request, passOf(ids('a', 'b'), ids('b', 'c')))).toEqual([[['a', 'b']], [['b', 'c']]]);
  });

  it('I8: does not take an inherited name for a key', () => {
    const inherited = requestOf(position, { key: 'constructor' });
    expect(accepted(inherited, passOf(amounts(1, 2), amounts(2, 3), amounts(4)))).toHaveLength(3);
  });
});

describe('a full read by page numbers', () => {
  const request = requestOf(numbered);
  const [a, b, c] = [ids('a'), ids('b'), ids('c')];

  it.each<[string, JsonObject[][], unknown[]]>([
    ['a page and an empty page', [a, []], [[['a']], [[]]]],
    ['a repeated page is held back until the next', [a, a, b], [[['a']], [], [['a'], ['b']]]],
    ['a repeated page before an empty page', [a, a, []], [[['a']], [], [['a'], []]]],
    ['a page that comes twice more is the end', [a, b, b, b], [[['a']], [['b']], [], [[]]]],
    ['two pages twice', [a, a, b, b, c], [[['a']], [], [['a'], ['b']], [], [['b'], ['c']]]],
  ])('I1: is decided by the following pages: %s', (_name, pages, certain) => {
    expect(accepted(request, numberedPassOf(...pages))).toEqual(certain);
  });

  it('I8: ends with an empty page without a next page if the last page comes twice more', () => {
    const accept = acceptPages(request, undefined);
    const [first, again, third] = numberedPassOf(a, a, a);
    if (!first || !again || !third) throw new Error('there are three pages');
    accept(first);
    accept({ ...again, mayHaveGap: true });
    expect(accept(third)).toEqual([
      { ...again, records: NO_RECORDS, hash: hashOf(NO_RECORDS), next: null, mayHaveGap: false },
    ]);
  });

  it('I4: continues after the last page of an earlier run', () => {
    const resume = {
      cursor: 3,
      seen: [a, b].map((records) => hashOf(recordListOf(records))),
      last: { cursor: 2, hash: hashOf(recordListOf(b)) },
    };
    expect(accepted(request, numberedPassOf(b, b), resume)).toEqual([[], [[]]]);
    expect(accepted(request, numberedPassOf(b, c), resume)).toEqual([[], [['b'], ['c']]]);
    expect(accepted(request, numberedPassOf(a), resume)).toEqual(['repeated_page']);
    const { last: _last, ...withoutLast } = resume;
    expect(accepted(request, numberedPassOf(c), withoutLast)).toEqual([[['c']]]);
  });
});

describe('a full read by page numbers, of records that may have a key', () => {
  const request = requestOf(numbered, { key: 'id' });
  /** Records that differ in every response. */
  let served = 0;
  const volatile = (...names: string[]): JsonObject[] =>
    names.map((id) => {
      served += 1;
      return { id, served };
    });
  const [a, b] = ['a', 'b'];

  it.each<[string, JsonObject[][], unknown[]]>([
    [
      'a last page that comes twice more is the end',
      [volatile('a', 'b'), volatile('c'), volatile('c'), volatile('c')],
      [[[a, b]], [['c']], [], [[]]],
    ],
    [
      'a repeated page is held back until the next',
      [volatile('a', 'b'), volatile('a', 'b'), volatile('c')],
      [[[a, b]], [], [[a, b], ['c']]],
    ],
    [
      'a page with fewer or other keys is not a repetition',
      [volatile('a', 'b'), volatile('a'), volatile('c'), volatile('d')],
      [[[a, b]], [['a']], [['c']], [['d']]],
    ],
  ])('I8: is decided by the keys if a field differs in every response: %s', (_name, pages, certain) => {
    expect(accepted(request, numberedPassOf(...pages))).toEqual(certain);
  });

  it.each<[string, PageRequest, (names: string[]) => JsonObject[]]>([
    ['a record has no key', request, (names) => [...volatile(...names), ...amounts(served)]],
    ['two records of a page share a key', request, (names) => volatile(...names, ...names)],
    ['the report has no key', requestOf(numbered), (names) => volatile(...names)],
  ])('I1: is not decided by fields that may not be keys: %s', (_name, given, records) => {
    const pages = numberedPassOf(...Array.from({ length: 5 }, () => records(['a'])), []);
    const counts = accepted(given, pages).map((certain) =>
      Array.isArray(certain) ? certain.length : certain,
    );
    expect(counts).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('I8: may have two pages in a row without a new key, but not three', () => {
    const pages = (...names: string[]) => numberedPassOf(...names.map((name) => volatile(...name.split(''))));
    expect(accepted(request, pages('ab', 'cd', 'ab', 'cd', 'ef'))).toHaveLength(5);
    expect(accepted(request, pages('ab', 'cd', 'ab', 'cd', 'ae', 'ab', 'cd', 'fg')).at(-1)).toEqual([
      ['f', 'g'],
    ]);
    const endless = pages('ab', 'cd', 'ab', 'cd', 'ac', 'ef');
    expect(accepted(request, endless).at(-1)).toBe('no_progress');
    expect(accepted(request, endless)).toHaveLength(5);
    expect(refusal(request, endless)).toMatchObject({
      ...{ kind: 'contract' },
      message: `report/any: 3 pages in a row, the last one page 5, have no "id" that is not on earlier pages, so following them would never end; report it to the service's operator`,
    });
  });
});

describe('a full read by cursors', () => {
  const request = requestOf(byCursor);
  const empty = (count: number) => Array.from({ length: count }, () => []);
  const equal = (count: number) => Array.from({ length: count }, () => amounts(1));
  const last = (request: PageRequest, pages: JsonObject[][]) => accepted(request, passOf(...pages)).at(-1);

  it('may end after empty pages', () => {
    expect(last(request, [amounts(1), ...empty(4)])).toEqual([[]]);
  });

  it('I1: may have a hundred equal pages, but no more', () => {
    expect(last(request, [...equal(100), amounts(2)])).toEqual([[2]]);
    expect(last(request, [...equal(101)])).toEqual([[1]]);
    expect(last(request, [...equal(60), amounts(2), ...equal(60), amounts(2)])).toEqual([[2]]);
    const endless = passOf(...equal(101), amounts(2));
    expect(accepted(request, endless)).toHaveLength(101);
    expect(refusal(request, endless)).toMatchObject({
      ...{ kind: 'contract', code: 'no_progress' },
      message:
        "report/any: 100 pages in a row repeated the page before them and still named a next page; report it to the service's operator",
    });
  });
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrandReportsError } from '../../../shared/errors.ts';
import type { Json, JsonObject } from '../../../shared/json.ts';
import { recordsOfList } from '../../../shared/records/record-list.ts';
import type { Page, PagedStyle, Resume } from '../../../shared/service/paging/page.ts';
import { pages } from '../../../shared/service/paging/pages.ts';
import { pagedService } from '../../fakes/paged-service.ts';

const bounds = { min: 1, max: 200, default: 200 };
const position: PagedStyle = { style: 'position', pageSize: { field: 'page_size', ...bounds } };
const numbered: PagedStyle = {
  style: 'numbered',
  pageSize: { field: 'page_size', ...bounds },
  fixedFields: {},
};
const byCursor: PagedStyle = { style: 'cursor', pageSize: { field: 'limit', ...bounds } };

interface Meaning {
  paging: PagedStyle;
  /** The cursor of the page that begins at a place, counted from 0, and the place of a cursor. */
  write?: (place: number) => Json;
  placeOf: (cursor: string, size: number) => number;
}

const MEANINGS = {
  'the next position': { paging: position, write: String, placeOf: Number },
  'the last position, from 0': { paging: position, write: (at) => at - 1, placeOf: Number },
  'the last position, from 0, which is left out': {
    paging: position,
    write: (at) => at - 1,
    placeOf: (first) => Number(first) + 1,
  },
  'the last position, from 1': { paging: position, write: String, placeOf: (first) => Number(first) - 1 },
  'padded digits': { paging: position, write: (at) => String(at).padStart(9, '0'), placeOf: Number },
  'opaque positions': {
    paging: position,
    write: (at) => `at ${at}`,
    placeOf: (first) => Number(first.slice(3)),
  },
  'cursors that count records': { paging: byCursor, write: String, placeOf: Number },
  'cursors that count pages': {
    paging: byCursor,
    write: () => '',
    placeOf: (page, size) => (Number(page) - 1) * size,
  },
  'page numbers': { paging: numbered, placeOf: (page, size) => (Number(page) - 1) * size },
} satisfies Record<string, Meaning>;

type Name = keyof typeof MEANINGS;
const NAMES = Object.keys(MEANINGS).filter((name): name is Name => name in MEANINGS);

type Change = (list: readonly string[]) => readonly string[];
const without =
  (...places: number[]): Change =>
  (list) =>
    list.filter((_id, index) => !places.includes(index));
const withNew =
  (id: string, place: number): Change =>
  (list) =>
    list.toSpliced(place, 0, id);
const moved =
  (from: number, to: number): Change =>
  (list) =>
    list.toSpliced(from, 1).toSpliced(to, 0, ...list.slice(from, from + 1));

interface Shifts {
  count: number;
  size: number;
  /** What happens to the list before a request, by the number of the request. */
  changes?: Readonly<Record<number, Change>>;
  /** After how many pages another run resumes the reading. */
  keep?: number;
}

/** Reads a list that changes between requests, as far as it can be read. */
async function readShifting(name: Name, { count, size, changes = {}, keep }: Shifts) {
  const { paging, write, placeOf }: Meaning = MEANINGS[name];
  let list: readonly string[] = Array.from({ length: count }, (_, index) => `id-${index}`);
  let always = list;
  const { service, requests } = pagedService(({ first, cursor, page_number }, number) => {
    list = changes[number]?.(list) ?? list;
    always = always.filter((id) => list.includes(id));
    const asked = first === 0 ? undefined : (first ?? cursor ?? page_number);
    const from = asked === undefined ? 0 : placeOf(String(asked), size);
    const to = Math.min(from + size, list.length);
    const hasNextPage = to < list.length;
    const next = name === 'cursors that count pages' ? String(from / size + 2) : write?.(to);
    const records: JsonObject[] = list.slice(from, to).map((id) => ({ id }));
    const cursors: Record<PagedStyle['style'], JsonObject> = {
      position: { pageInfo: { hasNextPage, endCursor: next ?? null } },
      cursor: { cursor: hasNextPage && next !== undefined ? next : null },
      numbered: {},
    };
    return { data: { list: records, ...cursors[paging.style] } };
  });
  const request = {
    service,
    action: 'report/any',
    paging,
    pageSize: size,
    firstPage: 1,
    fields: {},
    key: 'id',
  };
  const read: Page[] = [];
  const readOn = async (resume?: Resume) => {
    for await (const page of pages(request, resume)) {
      read.push(page);
      if (read.length === keep) return;
    }
  };
  let error: unknown;
  try {
    await readOn();
    const last = read.at(-1);
    if (last && last.next !== null && read.length === keep)
      await readOn({ cursor: last.next, seen: read.map(({ seen }) => seen), last });
  } catch (thrown) {
    error = thrown;
  }
  const ids = new Set(read.flatMap(({ records }) => recordsOfList(records).map(({ id }) => id)));
  return {
    error,
    requests: requests.length,
    mayHaveGap: read.some(({ mayHaveGap }) => mayHaveGap),
    missed: always.filter((id) => !ids.has(id)),
  };
}

describe('a list that shifts while its pages are read', () => {
  it.each<[string, Name, Shifts, missed: string[]]>([
    [
      'a record of page 1 is removed',
      'the next position',
      { count: 25, size: 10, changes: { 2: without(3) } },
      [],
    ],
    [
      'two records of page 1 are removed',
      'the next position',
      { count: 25, size: 10, changes: { 2: without(3, 5) } },
      ['id-10'],
    ],
    [
      'two records, although pages overlap',
      'the last position, from 0',
      { count: 25, size: 10, changes: { 2: without(3, 9) } },
      ['id-10'],
    ],
    [
      'a page of records',
      'the next position',
      { count: 45, size: 10, changes: { 3: without(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) } },
      ['id-19', 'id-20', 'id-21', 'id-22', 'id-23', 'id-24', 'id-25', 'id-26', 'id-27'],
    ],
    [
      'the last page shifts away',
      'the next position',
      { count: 12, size: 10, changes: { 2: without(1, 2, 3) } },
      ['id-10', 'id-11'],
    ],
    [
      'two are removed and one is added',
      'the next position',
      { count: 25, size: 10, changes: { 2: (list) => withNew('new', 2)(without(3, 4, 5)(list)) } },
      ['id-10'],
    ],
    [
      'a record moves to page 1',
      'the next position',
      { count: 25, size: 10, changes: { 2: moved(15, 2) } },
      ['id-15'],
    ],
    ['one is removed', 'opaque positions', { count: 25, size: 10, changes: { 2: without(3) } }, ['id-10']],
    ['one is removed', 'padded digits', { count: 25, size: 10, changes: { 2: without(3) } }, ['id-10']],
    ['pages of one record', 'the next position', { count: 3, size: 1, changes: { 2: without(0) } }, ['id-1']],
    [
      'between two runs',
      'the next position',
      { count: 25, size: 10, changes: { 3: without(3, 4) }, keep: 1 },
      ['id-10'],
    ],
    [
      'one is removed',
      'cursors that count records',
      { count: 25, size: 10, changes: { 2: without(3) } },
      ['id-10'],
    ],
    [
      'one is removed',
      'cursors that count pages',
      { count: 25, size: 10, changes: { 2: without(3) } },
      ['id-10'],
    ],
    ['one is removed', 'page numbers', { count: 25, size: 10, changes: { 2: without(3) } }, ['id-10']],
    [
      'the last page shifts away',
      'page numbers',
      { count: 11, size: 10, changes: { 2: without(3) } },
      ['id-10'],
    ],
  ])('I11: may have a gap: %s (%s)', async (_case, name, shifts, missed) => {
    expect(await readShifting(name, shifts)).toMatchObject({ error: undefined, missed, mayHaveGap: true });
  });

  it.each<[string, Name, Shifts]>([
    ['it is quiet', 'the next position', { count: 25, size: 10 }],
    ['it is quiet', 'the last position, from 0', { count: 25, size: 10 }],
    ['it is quiet between two runs', 'the next position', { count: 25, size: 10, keep: 1 }],
    [
      'a record is removed and another one added',
      'the next position',
      { count: 25, size: 10, changes: { 2: (list) => withNew('new', 2)(without(5)(list)) } },
    ],
    [
      'it shifts after the border',
      'the next position',
      { count: 25, size: 10, changes: { 2: without(12, 13) } },
    ],
    ['it has one page', 'opaque positions', { count: 10, size: 10 }],
    ['it has one page', 'page numbers', { count: 9, size: 10 }],
  ])('I11: has no gap if %s (%s)', async (_case, name, shifts) => {
    expect(await readShifting(name, shifts)).toMatchObject({
      ...{ error: undefined, missed: [], mayHaveGap: false },
    });
  });

  it('I11: has every record that was in it all the time, unless it may have a gap', async () => {
    const place = fc.nat({ max: 60 });
    const change = fc.record({
      at: fc.integer({ min: 2, max: 12 }),
      removed: fc.array(place, { maxLength: 6 }),
      added: fc.array(place, { maxLength: 4 }),
    });
    const scene = fc.record({
      name: fc.constantFrom(...NAMES),
      count: fc.integer({ min: 0, max: 60 }),
      size: fc.integer({ min: 1, max: 20 }),
      changes: fc.array(change, { maxLength: 4 }),
      keep: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(scene, async ({ name, changes, keep, ...list }) => {
        const byRequest = changes.map(({ at, removed, added }, index): [number, Change] => [
          at,
          (before) =>
            added.reduce(
              (ids, at, nth) => withNew(`new-${index}-${nth}`, at)(ids),
              without(...removed)(before),
            ),
        ]);
        const shifts = {
          ...list,
          changes: Object.fromEntries(byRequest),
          ...(keep !== undefined && { keep }),
        };
        const { error, missed, mayHaveGap } = await readShifting(name, shifts);
        if (error) expect(error).toBeInstanceOf(BrandReportsError);
        else if (!mayHaveGap) expect(missed).toEqual([]);
      }),
    );
  });
});

describe('pages that overlap by one record', () => {
  it.each<[Name, number, requests: number]>([
    ['the next position', 100, 1],
    ['the next position', 199, 2],
    ['the next position', 200, 3],
    ['the next position', 250, 3],
    ['the next position', 991, 10],
    ['the last position, from 0', 199, 2],
    ['the last position, from 0', 250, 3],
    ['opaque positions', 250, 3],
    ['opaque positions', 1_000, 10],
  ])(
    'cost a request only if that moves the border of a page: %s, %i records',
    async (name, count, requests) => {
      expect(await readShifting(name, { count, size: 100 })).toMatchObject({ missed: [], requests });
    },
  );

  it('are not requested if records have no key, because the record would be in the day twice', async () => {
    const records = Array.from({ length: 25 }, (_, index) => ({ amount: index }));
    const { service, requests } = pagedService(({ first }) => {
      const to = Number(first) + 10;
      return {
        data: { list: records.slice(Number(first), to), pageInfo: { hasNextPage: to < 25, endCursor: to } },
      };
    });
    const request = {
      service,
      action: 'report/any',
      paging: position,
      pageSize: 10,
      firstPage: 1,
      fields: {},
    };
    const read = await Array.fromAsync(pages({ ...request, key: 'id' }));
    expect(requests.map(({ first }) => first)).toEqual([0, 10, 20]);
    expect(read.map(({ mayHaveGap }) => mayHaveGap)).toEqual([false, true, true]);
  });

  it('I8: may end with the overlap alone, although it promised more, but only once', async () => {
    const pagesOf = (endless: boolean) =>
      pagedService(({ first }) => {
        const from = Number(first);
        const list = (endless && from > 9 ? [9] : [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].slice(from)).map((id) => ({
          id,
        }));
        const pageInfo = { hasNextPage: list.length > 0, endCursor: from + list.length };
        return { data: { list, pageInfo } };
      }).service;
    const request = {
      action: 'report/any',
      paging: position,
      pageSize: 10,
      firstPage: 1,
      fields: {},
      key: 'id',
    };
    const read = await Array.fromAsync(pages({ ...request, service: pagesOf(false) }));
    expect(read.map(({ records }) => records.count)).toEqual([10, 1, 0]);
    await expect(Array.fromAsync(pages({ ...request, service: pagesOf(true) }))).rejects.toThrow(
      /exactly the records of an earlier page|none of the page's 1 records is new/,
    );
  });
});

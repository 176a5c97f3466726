import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrandReportsError } from '../../../shared/base/errors.ts';
import type { Json, JsonObject } from '../../../shared/base/json.ts';
import type { ReportService } from '../../../shared/ports.ts';
import { recordsOfList } from '../../../shared/records/record-list.ts';
import type { Page, PagedStyle } from '../../../shared/service/paging/page.ts';
import { pages } from '../../../shared/service/paging/pages.ts';
import { byCursor, numbered, pagedService, position } from '../../fakes/paged-service.ts';

interface Meaning {
  paging: PagedStyle;
  /** The cursor of the page that begins at a place, counted from 0, and the place of a cursor. */
  write?: (place: number, size: number) => Json;
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
    write: (at, size) => Math.ceil(at / size) + 1,
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
  /** What happens to the list before a request, by the number of the request. */
  changes?: Readonly<Record<number, Change>>;
  size?: number;
  /** After how many pages another run resumes the reading. */
  keep?: number | undefined;
}

const requestOf = (service: ReportService, paging: PagedStyle, pageSize: number) => ({
  ...{ service, action: 'report/any', paging, pageSize, firstPage: 1, fields: {}, key: 'id' },
});

/** Reads a list that changes between requests. `missed`: of the records that were in it all the time. */
async function readShifting(name: Name, count: number, { changes = {}, size = 10, keep }: Shifts = {}) {
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
    const next = write?.(to, size) ?? null;
    const ends = { pageInfo: { hasNextPage, endCursor: next }, cursor: hasNextPage ? next : null };
    return { data: { list: list.slice(from, to).map((id) => ({ id })), ...ends } };
  });
  const request = requestOf(service, paging, size);
  const read: Page[] = [];
  for await (const page of pages(request)) if (read.push(page) === keep) break;
  const last = read.at(-1);
  if (last && last.next !== null)
    read.push(
      ...(await Array.fromAsync(
        pages(request, { cursor: last.next, seen: read.map(({ seen }) => seen), last }),
      )),
    );
  const ids = new Set(read.flatMap(({ records }) => recordsOfList(records).map(({ id }) => id)));
  const missed = always.filter((id) => !ids.has(id)).length;
  return { missed, mayHaveGap: read.some(({ mayHaveGap }) => mayHaveGap), requests: requests.length };
}

describe('a list that shifts while its pages are read', () => {
  it.each<[string, Name, count: number, Shifts, missed: number]>([
    ['a record is removed', 'the next position', 25, { changes: { 2: without(3) } }, 0],
    ['two are removed', 'the next position', 25, { changes: { 2: without(3, 5) } }, 1],
    ['two, although pages overlap', 'the last position, from 0', 25, { changes: { 2: without(3, 9) } }, 1],
    ['two at a later border', 'the next position', 35, { changes: { 3: without(3, 9) } }, 1],
    ['the last page shifts away', 'the next position', 12, { changes: { 2: without(1, 2, 3) } }, 2],
    ['two between two runs', 'the next position', 25, { changes: { 3: without(3, 4) }, keep: 1 }, 1],
    ['a record moves to page 1', 'the next position', 25, { changes: { 2: moved(15, 2) } }, 1],
    ['pages have one record', 'the next position', 3, { changes: { 2: without(0) }, size: 1 }, 1],
    ['one is removed', 'opaque positions', 25, { changes: { 2: without(3) } }, 1],
    ['one is removed', 'padded digits', 25, { changes: { 2: without(3) } }, 1],
    ['one is removed', 'cursors that count records', 25, { changes: { 2: without(3) } }, 1],
    ['one is removed', 'cursors that count pages', 25, { changes: { 2: without(3) } }, 1],
    ['one is removed', 'page numbers', 25, { changes: { 2: without(3) } }, 1],
    ['the last page shifts away', 'page numbers', 11, { changes: { 2: without(3) } }, 1],
  ])('I11: may have a gap: %s (%s)', async (_case, name, count, shifts, missed) => {
    expect(await readShifting(name, count, shifts)).toMatchObject({ missed, mayHaveGap: true });
  });

  it.each<[string, Name, count: number, Shifts]>([
    ['it is quiet', 'the next position', 25, {}],
    ['it is quiet', 'the last position, from 0', 25, {}],
    ['it is quiet between two runs', 'the next position', 25, { keep: 1 }],
    ['it shifts after the border', 'the next position', 25, { changes: { 2: without(12, 13) } }],
    [
      'as many are added',
      'the next position',
      25,
      { changes: { 2: (ids) => withNew('new', 2)(without(5)(ids)) } },
    ],
    ['it has one page', 'opaque positions', 10, {}],
    ['it has one page', 'page numbers', 9, {}],
  ])('I11: has no gap if %s (%s)', async (_case, name, count, shifts) => {
    expect(await readShifting(name, count, shifts)).toMatchObject({ missed: 0, mayHaveGap: false });
  });

  it('I11: has every record that was in it all the time, unless it may have a gap', async () => {
    const places = (maxLength: number) => fc.array(fc.nat({ max: 60 }), { maxLength });
    const change = fc.tuple(fc.integer({ min: 2, max: 12 }), places(6), places(4));
    const scene = fc.record({
      name: fc.constantFrom(...NAMES),
      count: fc.integer({ min: 0, max: 60 }),
      size: fc.integer({ min: 1, max: 20 }),
      changed: fc.array(change, { maxLength: 4 }),
      keep: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(scene, async ({ name, count, changed, ...rest }) => {
        const byRequest = changed.map(([at, removed, added], index): [number, Change] => [
          at,
          (ids) =>
            added.reduce(
              (list, place) => withNew(`${index}-${place}`, place)(list),
              without(...removed)(ids),
            ),
        ]);
        try {
          const read = await readShifting(name, count, { ...rest, changes: Object.fromEntries(byRequest) });
          if (!read.mayHaveGap || changed.length === 0) expect(read.missed).toBe(0);
        } catch (thrown) {
          // The day fails and is read again.
          if (!(thrown instanceof BrandReportsError)) throw thrown;
        }
      }),
    );
  });
});

describe('pages that overlap by one record', () => {
  it.each<[Name, count: number, requests: number]>([
    ['the next position', 199, 2],
    ['the next position', 200, 3],
    ['the next position', 250, 3],
    ['the next position', 991, 10],
    ['the last position, from 0', 250, 3],
    ['opaque positions', 1_000, 10],
  ])(
    'cost a request only if that moves the border of a page: %s, %i records',
    async (name, count, requests) => {
      expect(await readShifting(name, count, { size: 100 })).toMatchObject({ missed: 0, requests });
    },
  );

  /** Ten records from a position on; the service promises more after every page with records. */
  const eager = (recordAt: (place: number) => JsonObject) =>
    pagedService(({ first }) => {
      const list = Array.from({ length: 10 }, (_, place) => recordAt(place)).slice(Number(first));
      return {
        data: { list, pageInfo: { hasNextPage: list.length > 0, endCursor: Number(first) + list.length } },
      };
    });

  it.each<[string, (place: number) => JsonObject, number[]]>([
    ['I8: may end with the overlap alone', (id) => ({ id }), [0, 9, 10, 10]],
    [
      'I1: are not requested of records without a key, which would be in the day twice',
      (at) => ({ at }),
      [0, 10, 10],
    ],
  ])('%s', async (_name, recordAt, positions) => {
    const { service, requests } = eager(recordAt);
    await Array.fromAsync(pages(requestOf(service, position, 10)));
    expect(requests.map(({ first }) => first)).toEqual(positions);
  });
});

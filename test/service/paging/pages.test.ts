import { recordsOfList } from '../../../shared/records/record-list.ts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Json,
  type JsonObject,
  parseJson,
  rawNumber,
  stringifyJson,
} from '../../../shared/base/json.ts';
import type { ReportService } from '../../../shared/ports.ts';
import type { PageSize } from '../../../shared/reports/definition.ts';
import type { Page, PagedStyle, PageRequest, Resume } from '../../../shared/service/paging/page.ts';
import { fetchPage, isUnchanged, pages } from '../../../shared/service/paging/pages.ts';
import {
  answersInTurn,
  cursorService,
  numberedService,
  pagedService,
  positionService,
} from '../../fakes/paged-service.ts';

const PAGE_SIZE: PageSize = { field: 'page_size', min: 20, max: 100, default: 100 };
const LIMIT: PageSize = { field: 'limit', min: 1, max: 200, default: 200 };
const position: PagedStyle = { style: 'position', pageSize: PAGE_SIZE };
const numbered: PagedStyle = {
  style: 'numbered',
  pageSize: PAGE_SIZE,
  fixedFields: { sort_col: 'transid', sort_dir: 'asc' },
};
const byCursor: PagedStyle = { style: 'cursor', pageSize: LIMIT, countField: 'count' };

function requestOf(service: ReportService, paging: PagedStyle, more: Partial<PageRequest> = {}): PageRequest {
  return {
    service,
    action: 'report/any',
    paging,
    pageSize: 20,
    firstPage: 1,
    fields: {},
    key: 'id',
    ...more,
  };
}

async function collect(request: PageRequest, resume?: Resume): Promise<Page[]> {
  const all: Page[] = [];
  for await (const page of pages(request, resume)) all.push(page);
  return all;
}

/** A full read that is interrupted after `keep` pages, and resumed by another process from the contents of progress.json. */
async function interrupted(request: PageRequest, keep: number): Promise<Page[]> {
  const kept: Page[] = [];
  for await (const page of pages(request)) {
    kept.push(page);
    if (kept.length === keep) break;
  }
  const last = kept.at(-1);
  if (!last || last.next === null) return kept;
  const cursor = parseJson(stringifyJson(last.next));
  return [...kept, ...(await collect(request, { cursor, seen: kept.map(({ seen }) => seen), last }))];
}

function recordsOf(all: readonly Page[]): JsonObject[] {
  return all.flatMap(({ records }) => recordsOfList(records));
}

/** Drops the overlap of pages by key, as the consumer does. */
function distinct(records: readonly JsonObject[]): JsonObject[] {
  return [...new Map(records.map((record) => [record.id, record])).values()];
}

function identified(count: number): JsonObject[] {
  return Array.from({ length: count }, (_, index) => ({ id: `id-${index}`, amount: index % 3 }));
}

function expectProvenEnd(all: readonly Page[]): void {
  expect(all.map(({ next }) => next === null)).toEqual(all.map((_, index) => index === all.length - 1));
}

const counts = fc.oneof(fc.integer({ min: 0, max: 130 }), fc.constantFrom(0, 1, 19, 20, 21, 40, 60));
const cut = fc.integer({ min: 1, max: 9 });
const cap = fc.integer({ min: 5, max: 100 });

describe('a full read has every record exactly once and in order, uninterrupted or resumed', () => {
  it('I1: by positions, whatever endCursor means', async () => {
    const interpretation = fc.record({
      overlap: fc.integer({ min: 0, max: 4 }),
      cap,
      write: fc.constantFrom('text' as const, 'number' as const, 'padded' as const, 'opaque' as const),
      eager: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(counts, interpretation, cut, async (count, read, keep) => {
        const records = identified(count);
        const request = requestOf(positionService(records, read).service, position);
        const whole = await collect(request);
        expectProvenEnd(whole);
        expect(distinct(recordsOf(whole))).toEqual(records);
        expect(distinct(recordsOf(await interrupted(request, keep)))).toEqual(records);
      }),
    );
  });

  it('I1: by page numbers, whatever the service returns past the last page', async () => {
    const interpretation = fc.record({
      pastTheEnd: fc.constantFrom('empty' as const, 'repeat' as const),
      firstPage: fc.constantFrom(0, 1),
      cap,
      list: fc.constantFrom('list', 'orders'),
    });
    await fc.assert(
      fc.asyncProperty(counts, interpretation, cut, async (count, read, keep) => {
        const records = identified(count);
        const { service } = numberedService(records, read);
        const request = requestOf(service, numbered, { firstPage: read.firstPage });
        const whole = await collect(request);
        expectProvenEnd(whole);
        expect(recordsOf(whole)).toEqual(records);
        expect(recordsOf(await interrupted(request, keep))).toEqual(records);
      }),
    );
  });

  it('I1: by cursors, with duplicates, however they end', async () => {
    const opaque = {
      write: (at: number) => `c-${at}`,
      read: (cursor: Json | undefined) => Number(stringifyJson(cursor ?? null).slice(3, -1)),
    };
    const far = 9_007_199_254_740_993n;
    const digits = {
      write: (at: number) => rawNumber(String(far + BigInt(at))),
      read: (cursor: Json | undefined) => Number(BigInt(stringifyJson(cursor ?? null)) - far),
    };
    const plain = { write: (at: number) => at, read: Number };
    const interpretation = fc
      .record({
        end: fc.constantFrom(null, '' as const, 'absent' as const),
        place: fc.constantFrom('data' as const, 'envelope' as const),
        cap,
        empty: fc.integer({ min: 0, max: 3 }),
        cursor: fc.constantFrom(opaque, digits, plain),
      })
      .map(({ cursor, ...rest }) => ({ ...rest, ...cursor }));
    await fc.assert(
      fc.asyncProperty(counts, interpretation, cut, async (count, read, keep) => {
        const records = Array.from({ length: count }, (_, index) => ({ amount: index % 2 }));
        const request = requestOf(cursorService(records, read).service, byCursor);
        const whole = await collect(request);
        expectProvenEnd(whole);
        expect(recordsOf(whole)).toEqual(records);
        expect(recordsOf(await interrupted(request, keep))).toEqual(records);
      }),
    );
  });
});

/** An end in every style, for a read that continues past a fault. */
const terminal: JsonObject = { list: [], pageInfo: { hasNextPage: false }, cursor: null };
const group = (name: string): JsonObject => ({ list: [{ id: `${name}1` }, { id: `${name}2` }] });

const more: JsonObject = { pageInfo: { hasNextPage: true, endCursor: '2' } };
const twice = (data: JsonObject) => [data, data];

describe('a response with nothing in place of its list', () => {
  const nothing: [string, JsonObject][] = [
    ['empty data', {}],
    ['null', { list: null }],
    ['an empty object', { list: {} }],
    ['null, in another place, with a number', { total: 0, orders: null, cursor: null }],
    [
      'null, and its page information',
      { list: null, pageInfo: { hasNextPage: false }, cursor: null, count: 0 },
    ],
    ['null in each place', { list: null, pageInfo: null, cursor: null }],
  ];
  const styles = { positions: position, 'page numbers': numbered, cursors: byCursor };
  const cases = Object.entries(styles).flatMap(([style, paging]) =>
    nothing.map(([what, data]) => [`${what}, by ${style}`, paging, data] as const),
  );

  it.each(cases)(
    'I8: is an empty first page, if a second response agrees: %s',
    async (_name, paging, data) => {
      const { service, requests } = answersInTurn(...twice(data), group('x'));
      const all = await collect(requestOf(service, paging));
      expect([recordsOf(all), all.length, requests.length]).toEqual([[], 1, 2]);
      expectProvenEnd(all);
    },
  );

  it.each(cases)(
    'I8: counts for nothing if a second response has records: %s',
    async (_name, paging, data) => {
      const { service } = answersInTurn(data, { ...group('x'), ...terminal, ...group('x') }, terminal);
      expect(recordsOf(await collect(requestOf(service, paging)))).toEqual([{ id: 'x1' }, { id: 'x2' }]);
    },
  );

  it.each(nothing)('I8: ends page numbers, if a second response agrees: %s', async (_name, data) => {
    const { service } = answersInTurn(group('x'), data, group('y'), ...twice(data));
    const all = await collect(requestOf(service, numbered));
    expect(recordsOf(all).map(({ id }) => id)).toEqual(['x1', 'x2', 'y1', 'y2']);
    expectProvenEnd(all);
  });
});

/** One of each kind; end-of-pass.test.ts has all cases. */
describe('a full read whose end is not proven fails', () => {
  it.each<[string, PagedStyle, JsonObject[], string]>([
    ['no list', position, [{ pageInfo: { hasNextPage: false } }], 'missing_list'],
    ['null, and a next position', position, twice({ list: null, ...more }), 'missing_list'],
    ['null, and a next cursor', byCursor, twice({ list: null, cursor: 'a' }), 'missing_list'],
    ['null, and a count of records', byCursor, twice({ list: null, count: 5 }), 'count_mismatch'],
    [
      'nothing after a page that names a position',
      position,
      [{ ...group('x'), ...more }, {}, {}],
      'missing_list',
    ],
    [
      'nothing after a page that names a cursor',
      byCursor,
      [{ ...group('x'), cursor: 'a' }, {}, {}],
      'missing_list',
    ],
    ['no list but two others', numbered, [{ orders: [], refunds: [] }], 'missing_list'],
    ['an object for a list', numbered, [{ list: { id: '1' } }], 'missing_list'],
    [
      'an object of records, and null',
      numbered,
      [{ orders: { 1: { id: '1' } }, error: null }],
      'missing_list',
    ],
    ['a record that is text', byCursor, [{ list: [{ id: '1' }, 'two'] }], 'bad_record'],
    [
      'a fourth empty page',
      byCursor,
      ['a', 'b', 'c', 'd'].map((cursor) => ({ list: [], cursor })),
      'empty_pages',
    ],
  ])('I8: with %s', async (_name, paging, answers, code) => {
    const { service } = answersInTurn(...answers, terminal);
    await expect(collect(requestOf(service, paging))).rejects.toMatchObject({
      kind: 'contract',
      code,
      message: expect.stringMatching(/^report\/any: .{20,}/),
    });
  });

  it.each([
    [
      'positions',
      position,
      (number: number) => ({ pageInfo: { hasNextPage: true, endCursor: 1_000 + number } }),
    ],
    ['page numbers', numbered, () => ({})],
    ['cursors', byCursor, (number: number) => ({ cursor: `cursor ${number}` })],
  ])('I8: with new %s and new records without end', async (_name, paging, more) => {
    const { service, requests } = pagedService((_fields, number) => ({
      data: { list: [{ id: `id-${number}` }], ...more(number) },
    }));
    const seen = Array.from({ length: 99_990 }, (_, index) => `seen ${index}`);
    await expect(collect(requestOf(service, paging), { cursor: 7, seen })).rejects.toMatchObject({
      kind: 'contract',
      code: 'endless',
      message: expect.stringMatching(/100000 pages.*pageSize/),
    });
    expect(requests.length).toBeLessThanOrEqual(12);
  });
});

describe('one page alone', () => {
  const samePage = (request: PageRequest, read: Page) =>
    isUnchanged(read, (cursor) => fetchPage(request, cursor));
  const interpretation = { pastTheEnd: 'empty' as const, firstPage: 1, cap: 100, list: 'list' };

  it('is unchanged as long as its records, their order and its next page are', async () => {
    const records = identified(50);
    const request = requestOf(numberedService(records, interpretation).service, numbered);
    const [first, second] = await collect(request);
    if (!first || !second) throw new Error('there are two pages');
    expect(await samePage(request, first)).toBe(true);
    expect(await samePage(request, second)).toBe(true);
    expect(await samePage(request, { ...second, cursor: 1 })).toBe(false);
    expect(await samePage(request, { ...second, next: 4 })).toBe(false);
    const shifted = requestOf(numberedService(records.slice(1), interpretation).service, numbered);
    expect(await samePage(shifted, second)).toBe(false);
    const turned = requestOf(numberedService(records.toReversed(), interpretation).service, numbered);
    expect(await samePage(turned, second)).toBe(false);
  });
});

describe('looking ahead', () => {
  const endless = () =>
    pagedService((_fields, number) => ({ data: { list: [{ id: number }], cursor: `c${number}` } }));

  it('fetches one page ahead while the last page is processed', async () => {
    const { service, requests } = endless();
    const pass = pages(requestOf(service, byCursor));
    await pass.next();
    expect(requests).toHaveLength(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(requests).toHaveLength(2);
    await pass.next();
    expect(requests).toHaveLength(3);
    await pass.return();
  });

  it('is aborted when the consumer stops, and its failure is ignored', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    const gate = Promise.withResolvers<never>();
    const { service, signals } = pagedService((_fields, number) =>
      number === 1 ? { data: { list: [{ id: 1 }], cursor: 'a' } } : gate.promise,
    );
    for await (const page of pages(requestOf(service, byCursor))) {
      expect(page.records.count).toBe(1);
      break;
    }
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true]);
    gate.reject(new Error('given up'));
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('throws a failure only after the page before it', async () => {
    const { service } = pagedService((_fields, number) => {
      if (number > 1) throw new Error('gone');
      return { data: { list: [{ id: 1 }], cursor: 'a' } };
    });
    const pass = pages(requestOf(service, byCursor));
    expect((await pass.next()).value?.records.count).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(pass.next()).rejects.toThrow('gone');
    expect(await pass.next()).toEqual({ done: true, value: undefined });
  });
});

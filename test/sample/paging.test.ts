import { describe, expect, it } from '@jest/globals';
import { textOf } from '../../sample/actions/select.ts';
import { recordsOfDay } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import type { SampleService } from '../../sample/server.ts';
import { isCanonicalInteger, type Json, type JsonObject, rawNumber } from '../../shared/json.ts';
import { call, listOf, objectOf, seededRecords, startAcme } from './call.ts';

const records = seededRecords(130);
const day = '2026-11-01';
// The day that ends New York's summer time has 25 hours.
const start = Date.parse('2026-11-01T04:00:00Z') / 1000;
const end = Date.parse('2026-11-02T05:00:00Z') / 1000;

function truth(service: SampleService, report: Parameters<typeof recordsOfDay>[1]): JsonObject[] {
  const { acme } = service.brands;
  return acme === undefined ? [] : recordsOfDay(acme, report, day);
}

/** All pages of `fetchPage`, which returns a page and the cursor of the next one. */
async function allPages<C>(
  first: C,
  fetchPage: (cursor: C) => Promise<[JsonObject[], C | undefined]>,
): Promise<JsonObject[][]> {
  const pages: JsonObject[][] = [];
  for (let next: C | undefined = first; next !== undefined; ) {
    if (pages.length > 50) throw new Error('There is no end to the pages');
    const [page, following]: [JsonObject[], C | undefined] = await fetchPage(next);
    pages.push(page);
    next = following;
  }
  return pages;
}

describe('positions', () => {
  it.each<[string, Partial<Interpretations>, number, string]>([
    ['the last place from 0', { endCursor: 'last' }, 1, '19'],
    ['the last place from 0, a page beginning after it', { endCursor: 'last', first: 'exclusive' }, 0, '19'],
    ['the next place', { endCursor: 'next' }, 0, '20'],
    ['the last place from 1', { endCursor: 'last_from_one' }, 1, '20'],
    [
      'the last place from 1, a page beginning after it',
      { endCursor: 'last_from_one', first: 'exclusive' },
      0,
      '20',
    ],
    ['ten digits', { endCursor: 'padded' }, 1, '0000000019'],
    ['ten digits, a page beginning after it', { endCursor: 'padded', first: 'exclusive' }, 0, '0000000019'],
    ['a token', { endCursor: 'opaque' }, 1, ''],
    ['a token, a page beginning after it', { endCursor: 'opaque', first: 'exclusive' }, 0, ''],
    ['the last place, with pages shorter than requested', { endCursor: 'last', pageCap: 7 }, 1, '6'],
  ])('lead to every click where endCursor is %s', async (_name, interpretations, overlap, firstEndCursor) => {
    const service = await startAcme({ interpretations }, records);
    const endCursors: Json[] = [];
    const pages = await allPages<Json>(0, async (first) => {
      const { data } = await call(service, 'report/clicks_list', {
        start_time: start,
        end_time: end - 1,
        page_size: 20,
        first,
      });
      const { hasNextPage, endCursor = null } = objectOf(data.pageInfo);
      endCursors.push(endCursor);
      const text = textOf(endCursor) ?? '';
      return [listOf(data), hasNextPage ? (isCanonicalInteger(text) ? rawNumber(text) : text) : undefined];
    });
    const [firstPage = [], ...others] = pages;
    expect(endCursors.length).toBeGreaterThan(2);
    expect(textOf(endCursors[0])).toContain(firstEndCursor);
    for (const [index, page] of others.entries())
      expect(page.slice(0, overlap)).toEqual(pages[index]?.slice(pages[index].length - overlap));
    expect([...firstPage, ...others.flatMap((page) => page.slice(overlap))]).toEqual(
      truth(service, 'clicks_list'),
    );
  });

  it('end with a full page', async () => {
    const service = await startAcme({}, { clicks_list: records.clicks_list.slice(0, 20) });
    const { data } = await call(service, 'report/clicks_list', { page_size: 20 });
    expect(listOf(data)).toHaveLength(20);
    expect(data.pageInfo).toEqual({ hasNextPage: false, endCursor: '19' });
  });
});

describe('page numbers', () => {
  const fields = { start_time: start, end_time: end - 1, page_size: 20, sort_dir: 'asc' };
  const rows = 20;

  it.each<[string, Partial<Interpretations>, number, number]>([
    ['from 1 to an empty page', {}, 1, 0],
    ['from 0', { firstPage: 0 }, 0, 0],
    ['from 1 to a page that repeats itself', { pastLastPage: 'repeat' }, 1, 1],
    ['with pages shorter than requested', { pageCap: 9 }, 1, 0],
  ])('lead to every order %s', async (_name, interpretations, firstPage, repeats) => {
    const service = await startAcme({ interpretations }, records);
    const orders = truth(service, 'order_list');
    const full = Math.ceil(orders.length / Math.min(rows, interpretations.pageCap ?? rows));
    const pages: JsonObject[][] = [];
    for (let page = firstPage; page < firstPage + full + 1; page += 1) {
      const { data } = await call(service, 'report/order_list', { ...fields, page_number: page });
      pages.push(listOf(data));
    }
    expect(full).toBeGreaterThan(2);
    expect(pages.slice(0, full).flat()).toEqual(orders);
    expect(pages[full]).toEqual(repeats === 0 ? [] : pages[full - 1]);
  });

  it('may be omitted for the first page, newest transaction first', async () => {
    const service = await startAcme({}, records);
    const { data } = await call(service, 'report/order_list', { start_time: start, end_time: end - 1 });
    expect(listOf(data)).toEqual(truth(service, 'order_list').reverse().slice(0, 20));
  });
});

describe('cursors', () => {
  const days = { start_date: '20261101', end_date: '20261101' };

  it.each<
    [string, 'transaction_list' | 'amazon_attribution_report', Partial<Interpretations>, Json | undefined]
  >([
    ['transaction', 'transaction_list', {}, null],
    ['transaction', 'transaction_list', { finalCursor: 'absent' }, undefined],
    ['transaction', 'transaction_list', { finalCursor: 'empty', cursorIn: 'envelope' }, ''],
    ['transaction', 'transaction_list', { listKey: 'transactions', pageCap: 13 }, null],
    ['attribution', 'amazon_attribution_report', {}, null],
    ['attribution', 'amazon_attribution_report', { finalCursor: 'absent', cursorIn: 'envelope' }, undefined],
    ['attribution', 'amazon_attribution_report', { finalCursor: 'empty', pageCap: 3 }, ''],
  ])('lead to every %s record (%s under %j)', async (_name, report, interpretations, final) => {
    const service = await startAcme({ interpretations }, records);
    const holder = interpretations.cursorIn === 'envelope' ? 'envelope' : 'data';
    const listKey = report === 'transaction_list' ? (interpretations.listKey ?? 'list') : 'list';
    let last: Json | undefined = 'none yet';
    const pages = await allPages<JsonObject>({}, async (cursor) => {
      const envelope = await call(service, `report/${report}`, { ...days, ...cursor, limit: 20 });
      last = holder === 'envelope' ? envelope.cursor : envelope.data.cursor;
      const list = listOf(envelope.data, listKey);
      expect(envelope.data.count).toBe(list.length);
      return [list, typeof last === 'string' && last !== '' ? { cursor: last } : undefined];
    });
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.flat()).toEqual(truth(service, report));
    expect(last).toBe(final);
  });

  it('end with a full page', async () => {
    const service = await startAcme({}, { transaction_list: records.transaction_list.slice(0, 20) });
    const { data } = await call(service, 'report/transaction_list', { limit: 20 });
    expect(data).toMatchObject({ count: 20, cursor: null });
  });

  it("expire with the service under cursorLife: 'restart'", async () => {
    const interpretations = { cursorLife: 'restart' } as const;
    const [one, another] = [
      await startAcme({ interpretations }, records),
      await startAcme({ interpretations }, records),
    ];
    const { cursor = null } = (await call(one, 'report/transaction_list')).data;
    expect((await call(one, 'report/transaction_list', { cursor })).code).toBe(0);
    expect((await call(another, 'report/transaction_list', { cursor })).code).toBe(1004);
  });

  it('expire after the number of requests that cursorLife gives', async () => {
    const service = await startAcme({ interpretations: { cursorLife: 2, endCursor: 'opaque' } });
    const { cursor = null } = (await call(service, 'report/transaction_list')).data;
    const { endCursor = null } = objectOf((await call(service, 'report/clicks_list')).data.pageInfo);
    expect((await call(service, 'report/transaction_list', { cursor })).code).toBe(0);
    expect((await call(service, 'report/transaction_list', { cursor })).code).toBe(1004);
    expect((await call(service, 'report/clicks_list', { first: endCursor })).code).toBe(1003);
  });

  it('expire after the time that cursorLife gives', async () => {
    let nowMs = Date.now();
    const service = await startAcme({
      interpretations: { cursorLife: { ms: 60_000 } },
      now: () => new Date(nowMs),
    });
    const { cursor = null } = (await call(service, 'report/transaction_list')).data;
    nowMs += 60_000;
    expect((await call(service, 'report/transaction_list', { cursor })).code).toBe(0);
    nowMs += 1;
    expect((await call(service, 'report/transaction_list', { cursor })).code).toBe(1004);
  });

  it('are the same for the same place until they are forgotten', async () => {
    const service = await startAcme();
    const cursor = async () => (await call(service, 'report/transaction_list')).data.cursor;
    const first = await cursor();
    expect(await cursor()).toBe(first);
    service.forgetCursors();
    expect(await cursor()).not.toBe(first);
  });

  describe.each(['report/transaction_list', 'report/amazon_attribution_report'])(
    'of %s, when dead',
    (action) => {
      it.each<[string, Interpretations['deadCursor']]>([
        ['are refused', 'refuse'],
        ['lead to an empty last page', 'empty'],
        ['lead to the first page, with a new cursor', 'restart'],
      ])('either %s', async (_name, deadCursor) => {
        const service = await startAcme({ interpretations: { deadCursor } });
        const { data: first } = await call(service, action);
        service.forgetCursors();
        const { code, data } = await call(service, action, { cursor: first.cursor ?? null });
        if (deadCursor === 'refuse') expect(code).toBe(1004);
        if (deadCursor === 'empty') expect(data).toEqual({ count: 0, list: [], cursor: null });
        if (deadCursor === 'restart') {
          expect(data).toEqual({ ...first, cursor: expect.any(String) });
          expect(data.cursor).not.toBe(first.cursor);
          const next = await call(service, action, { cursor: data.cursor ?? null });
          expect(listOf(next.data)).not.toEqual(listOf(first));
        }
      });
    },
  );

  it.each<[string, Interpretations['deadCursor'], Interpretations['first']]>([
    ['the first page again', 'restart', 'inclusive'],
    ['the first page again, beginning after the last place', 'restart', 'exclusive'],
    ['an empty last page', 'empty', 'inclusive'],
  ])('of clicks, when dead, lead to %s', async (_name, deadCursor, first) => {
    const service = await startAcme({ interpretations: { endCursor: 'opaque', deadCursor, first } });
    const { data } = await call(service, 'report/clicks_list');
    service.forgetCursors();
    const { endCursor = null } = objectOf(data.pageInfo);
    const again = (await call(service, 'report/clicks_list', { first: endCursor })).data;
    expect(listOf(again)).toEqual(deadCursor === 'restart' ? listOf(data) : []);
    expect(objectOf(again.pageInfo).hasNextPage).toBe(deadCursor === 'restart');
  });
});

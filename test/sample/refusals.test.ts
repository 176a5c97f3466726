import { beforeAll, describe, expect, it } from '@jest/globals';
import type { SampleService } from '../../sample/server.ts';
import { type JsonObject, rawNumber } from '../../shared/json.ts';
import { call, startAcme } from './call.ts';

const clicks = 'report/clicks_list';
const detail = 'report/clicks_detail';
const orders = 'report/order_list';
const transactions = 'report/transaction_list';
const attribution = 'report/amazon_attribution_report';

let service: SampleService;
beforeAll(async () => {
  service = await startAcme();
});

describe('a call that the interface forbids', () => {
  it.each<[string, string, JsonObject, string]>([
    ['a page size of 19', clicks, { page_size: 19 }, 'page_size: 19 is not an integer from 20 to 100'],
    ['a page size of 101', orders, { page_size: 101 }, 'page_size: 101 is not an integer from 20 to 100'],
    ['an integer as text', clicks, { page_size: '20' }, 'page_size: "20" is not an integer'],
    ['a fraction', clicks, { start_time: 1.5 }, 'start_time: 1.5 is not an integer'],
    ['an integer with a point', clicks, { page_size: rawNumber('20.0') }, 'page_size: 20.0'],
    ['an integer with an exponent', clicks, { page_size: rawNumber('2e1') }, 'page_size: 2e1'],
    ['a time below zero', clicks, { start_time: -1 }, 'start_time: -1'],
    ['a position below zero', clicks, { first: -1 }, 'first: -1 is not a position'],
    ['a position as text', clicks, { first: '0' }, 'first: "0" is not a position'],
    [
      'a position that no answer gave',
      clicks,
      { first: 'abc' },
      'first: not a position that the service gave',
    ],
    ['text as a number', clicks, { publisher_id: 1234 }, 'publisher_id: 1234 is not a string'],
    ['null', clicks, { channel_id: null }, 'channel_id: null is not a string'],
    ['a list', orders, { status: ['new'] }, 'status: ["new"]'],
    ['a field of another action', clicks, { cursor: 'x' }, '"cursor" is not a field of this action'],
    [
      'the name of a built-in property',
      clicks,
      { constructor: 'x' },
      '"constructor" is not a field of this action',
    ],
    ['a click without id and pbtid', detail, {}, 'at least one of id or pbtid'],
    ['a click id as text', detail, { id: '12' }, 'id: "12" is not an integer'],
    ['an unknown status', orders, { status: 'paid' }, 'status: "paid" is not one of new, void, effective'],
    ['an unknown type', orders, { type: 'normal' }, 'type: "normal" is not one of trans'],
    ['an unknown column to sort by', orders, { sort_col: 'status' }, 'sort_col: "status"'],
    ['an unknown direction', orders, { sort_dir: 'up' }, 'sort_dir: "up"'],
    ['a page before the first', orders, { page_number: 0 }, 'page_number: pages are counted from 1'],
    ['a limit of 201', transactions, { limit: 201 }, 'limit: 201 is not an integer from 1 to 200'],
    ['a limit of nothing', attribution, { limit: 0 }, 'limit: 0'],
    ['an unknown order status', transactions, { order_status: 'effective' }, 'order_status: "effective"'],
    ['an unknown status of a product', transactions, { sku_status: 'mixed' }, 'sku_status: "mixed"'],
    [
      'an unknown type of transaction',
      transactions,
      { transaction_type: 'trans' },
      'transaction_type: "trans"',
    ],
    ['a day with hyphens', transactions, { start_date: '2026-11-01' }, 'start_date: "2026-11-01"'],
    ['a day as a number', attribution, { end_date: 20261101 }, 'end_date: 20261101'],
    [
      'a day that no calendar has',
      attribution,
      { end_date: '20260229' },
      'end_date: "20260229" is not a day',
    ],
    [
      'a start after the end',
      transactions,
      { start_date: '20261102', end_date: '20261101' },
      'start_date must be',
    ],
    [
      'a start after the end there too',
      attribution,
      { start_date: '20261102', end_date: '20261101' },
      'start_date must be',
    ],
    ['a publisher as text', attribution, { publisher_uid: '81' }, 'publisher_uid: "81" is not an integer'],
    ['a cursor that is null', transactions, { cursor: null }, 'cursor: null is not a string'],
  ])('refuses %s', async (_name, action, fields, why) => {
    const { code, msg, data } = await call(service, action, fields);
    expect({ code, data }).toEqual({ code: 1003, data: {} });
    expect(msg).toContain(why);
  });

  it.each([
    ['no JSON', '{"page_size":'],
    ['a list', '[]'],
  ])('refuses a body that is %s', async (_name, body) => {
    expect((await call(service, clicks, {}, { body })).code).toBe(1003);
  });

  it('refuses a forged cursor', async () => {
    expect((await call(service, transactions, { cursor: 'MTAw' })).code).toBe(1004);
  });

  it('refuses the cursor of another listing', async () => {
    const { data } = await call(service, transactions, { limit: 1 });
    const { cursor } = data;
    expect((await call(service, transactions, { limit: 2, cursor: cursor ?? null })).code).toBe(0);
    expect((await call(service, transactions, { sku: 'B0', cursor: cursor ?? null })).code).toBe(1004);
  });

  it.each([
    ['an unknown action', 'report/refunds', '1.0'],
    ['the action whose fields are not given', 'order/new', '1.0'],
    ['another version', orders, '1.1'],
  ])('refuses %s', async (_name, action, version) => {
    expect((await call(service, action, {}, { query: { version } })).code).toBe(1002);
  });
});

describe('a query string', () => {
  it.each<[string, JsonObject, number]>([
    ['takes integers as their digits', { page_size: 20 }, 0],
    ['takes no other text for an integer', { page_size: '020' }, 1003],
    ['keeps to the bounds', { page_size: 19 }, 1003],
  ])('is parsed like the JSON body: it %s', async (_name, fields, code) => {
    expect((await call(service, orders, fields, { method: 'GET' })).code).toBe(code);
  });

  it('is answered like the body', async () => {
    const fields = { page_size: 30, first: 30, publisher_id: '1234' };
    const got = await call(service, clicks, fields, { method: 'GET' });
    expect(got).toEqual(await call(service, clicks, fields));
    expect(got.code).toBe(0);
  });
});

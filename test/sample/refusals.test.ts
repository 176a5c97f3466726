import { beforeAll, describe, expect, it } from '@jest/globals';
import type { SampleService } from '../../sample/server.ts';
import type { JsonObject } from '../../shared/json.ts';
import { forbiddenFields } from '../contracts/forbidden-fields.ts';
import { call, startAcme } from './call.ts';

const clicks = 'report/clicks_list';
const orders = 'report/order_list';
const transactions = 'report/transaction_list';

let service: SampleService;
beforeAll(async () => {
  service = await startAcme();
});

describe('a call that the interface forbids', () => {
  it.each(forbiddenFields)('refuses %s', async (_name, action, fields, reason) => {
    const { code, msg, data } = await call(service, action, fields);
    expect({ code, data }).toEqual({ code: 1003, data: {} });
    expect(msg).toContain(reason);
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

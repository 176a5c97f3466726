import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Fault } from '../../sample/faults.ts';
import type { SampleService } from '../../sample/server.ts';
import type { Json, JsonObject } from '../../shared/json.ts';
import { call, listOf, objectOf, request, startAcme } from './call.ts';

const clicks = 'report/clicks_list';
const transactions = 'report/transaction_list';
const attribution = 'report/amazon_attribution_report';

let service: SampleService;
beforeEach(async () => {
  service = await startAcme();
});

const always = (fault: Fault) => service.addFault({ on: {}, fault });

describe('faults of transport', () => {
  it.each<[string, Fault, number, Record<string, string>]>([
    ['a limit on the rate', { kind: 'status', status: 429, retryAfter: '7' }, 429, { 'retry-after': '7' }],
    ['an outage', { kind: 'status', status: 503 }, 503, {}],
    [
      'a redirect',
      { kind: 'redirect', location: 'https://else.example/' },
      302,
      { location: 'https://else.example/' },
    ],
    ['HTML', { kind: 'html' }, 200, { 'content-type': 'text/html' }],
    [
      'a cached response',
      { kind: 'headers', headers: { Age: '3600', Date: 'never' } },
      200,
      { age: '3600', date: 'never' },
    ],
  ])('answer with %s', async (_name, fault, status, headers) => {
    always(fault);
    const response = await request(service, clicks);
    await response.text();
    expect(response.status).toBe(status);
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
    expect(service.requests).toMatchObject([{ fault: fault.kind, status }]);
  });

  it('truncate the JSON in a complete HTTP body', async () => {
    always({ kind: 'cut_json' });
    const body = await (await request(service, clicks)).text();
    expect(body).toMatch(/^\{"code":0/);
    expect(() => JSON.parse(body)).toThrow();
  });

  it('end a body before its Content-Length', async () => {
    always({ kind: 'cut_off' });
    const response = await request(service, clicks);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(1000);
    await expect(response.text()).rejects.toThrow();
  });

  it('reset the connection', async () => {
    always({ kind: 'reset' });
    await expect(request(service, clicks)).rejects.toThrow();
    expect(service.requests).toMatchObject([{ fault: 'reset' }]);
    expect(service.requests[0]).not.toHaveProperty('status');
  });

  it('leave a request unanswered until the service closes', async () => {
    always({ kind: 'hang' });
    const hanging = request(service, clicks).catch(() => 'closed');
    while (service.requests.length === 0) await new Promise(setImmediate);
    await service.close();
    expect(await hanging).toBe('closed');
    service = await startAcme();
  });

  it('skew the clock, in the check and in the header', async () => {
    always({ kind: 'skewed_clock', skewMs: 3_600_000 });
    const response = await request(service, clicks);
    expect(await response.text()).toContain('clock');
    expect(Date.parse(response.headers.get('date') ?? '') - Date.now()).toBeGreaterThan(3_500_000);
  });
});

describe('faults of content', () => {
  it('answer with an error code', async () => {
    always({ kind: 'code', code: 77, msg: 'no' });
    expect(await call(service, clicks)).toEqual({ code: 77, msg: 'no', data: {} });
  });

  it('omit the list', async () => {
    always({ kind: 'missing_list' });
    const { code, data } = await call(service, transactions);
    expect(code).toBe(0);
    expect(data).not.toHaveProperty('list');
    expect(data).toHaveProperty('cursor');
  });

  it('claim that more follows an empty page', async () => {
    always({ kind: 'empty_page' });
    const { pageInfo, list } = (await call(service, clicks, { first: 100_000 })).data;
    expect({ pageInfo, list }).toMatchObject({ pageInfo: { hasNextPage: true }, list: [] });
    expect((await call(service, transactions)).data).toEqual({ count: 0, list: [], cursor: 'more' });
  });

  /** The cursors of a pass, as long as it goes, but not beyond five pages. */
  async function cursors(action: string): Promise<Json[]> {
    const cursors: Json[] = [];
    for (let next: JsonObject = {}; cursors.length < 5; ) {
      const { data } = await call(service, action, {
        ...next,
        ...(action === clicks ? { page_size: 20 } : { limit: 20 }),
      });
      if (action === clicks) {
        const { endCursor = null } = objectOf(data.pageInfo);
        cursors.push(endCursor);
        next = { first: Number(endCursor) };
      } else {
        cursors.push(data.cursor ?? null);
        next = { cursor: data.cursor ?? null };
      }
    }
    return cursors;
  }

  it.each([clicks, transactions, attribution])('repeat a cursor of %s', async (action) => {
    always({ kind: 'repeated_cursor' });
    const [a, ...others] = await cursors(action);
    expect(others).toEqual([a, a, a, a]);
  });

  it.each([clicks, transactions, attribution])('go round in a cycle of cursors of %s', async (action) => {
    always({ kind: 'cycling_cursor' });
    const [a, b, ...others] = await cursors(action);
    expect(a).not.toEqual(b);
    expect(others).toEqual([a, b, a]);
  });
});

describe('fault rules', () => {
  const broken: Fault = { kind: 'code', code: 9, msg: 'broken' };
  const codesOf = async (actions: readonly string[], fields: JsonObject = {}) => {
    const codes: Json[] = [];
    for (const action of actions) codes.push((await call(service, action, fields)).code);
    return codes;
  };

  it.each([
    ['applies to every request', {}, [9, 9, 9, 9]],
    ['applies to the first requests', { times: 2 }, [9, 9, 0, 0]],
    ['applies to the nth request alone', { nth: 2 }, [0, 9, 0, 0]],
    ['applies to the nth request and those after it', { nth: 2, times: 2 }, [0, 9, 9, 0]],
    ['counts the requests of its action only', { action: transactions, nth: 2 }, [0, 0, 0, 9]],
    ['ignores other brands', { brand: 'globex' }, [0, 0, 0, 0]],
    ['asks its predicate', { when: ({ action }: { action: string }) => action === clicks }, [9, 0, 9, 0]],
  ])('a rule %s', async (_name, on, codes) => {
    service.addFault({ on, fault: broken });
    expect(await codesOf([clicks, transactions, clicks, transactions])).toEqual(codes);
  });

  it('a rule sees the fields of the request', async () => {
    service.addFault({ on: { when: ({ fields }) => fields.start_date === '20261101' }, fault: broken });
    expect(await codesOf([transactions, attribution], { start_date: '20261101' })).toEqual([9, 9]);
    expect(await codesOf([transactions], { start_date: '20261102' })).toEqual([0]);
  });

  it('a rule can be given at the start, and be removed', async () => {
    const faulty = await startAcme({ faults: [{ on: { nth: 1 }, fault: broken }] });
    expect([(await call(faulty, clicks)).code, (await call(faulty, clicks)).code]).toEqual([9, 0]);
    const remove = faulty.addFault({ on: {}, fault: broken });
    expect((await call(faulty, clicks)).code).toBe(9);
    remove();
    expect(listOf((await call(faulty, clicks)).data)).toHaveLength(20);
  });
});

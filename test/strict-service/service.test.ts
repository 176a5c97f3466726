import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { isJsonObject, type Json, type JsonObject } from '../../shared/json.ts';
import { forbiddenFields } from '../contracts/forbidden-fields.ts';
import { servedPerPage } from './answer.ts';
import { holdingsOf, httpDate, type Table } from './data.ts';
import { firstInstant } from './days.ts';
import {
  allPairs,
  pairsIn,
  plainInterpretation,
  type Interpretation,
  interpretations,
} from './interpretations.ts';
import { contractFaults, type StrictService, startStrictService } from './service.ts';

const timeZone = 'America/New_York';
const now = Date.parse('2026-11-03T15:20:00Z');
const account = { bid: '42', token: 'a+b/c=', secret: 's3cret' };
const opened: StrictService[] = [];
afterEach(async () => {
  for (const service of opened.splice(0)) await service.close();
});

async function open(interpretation: Partial<Interpretation> = {}): Promise<StrictService> {
  const whole = { ...plainInterpretation, ...interpretation };
  const holdings = holdingsOf({
    seed: 1,
    timeZone,
    startDate: '2026-10-30',
    until: now,
    pageSize: servedPerPage(20, whole),
    limit: servedPerPage(5, whole),
  });
  const brands = [{ ...account, timeZone, holdings }];
  const service = await startStrictService({ brands, interpretation: whole, present: now });
  opened.push(service);
  return service;
}

interface Letter {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: string;
}

/**
 * A call that obeys docs/explanation/interface.md, section 5. The fields are its body, or part of the query of a GET.
 */
function letter(
  service: StrictService,
  action: string,
  fields: JsonObject,
  method = 'POST',
  at = Date.now(),
): Letter {
  const date = httpDate(at);
  const signed = `${account.token};${action};${date};${account.secret}`;
  const own = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return {
    method,
    path: new URL(service.baseUrl).pathname,
    query: {
      bid: account.bid,
      token: account.token,
      action,
      version: '1.0',
      ...(method === 'GET' && Object.fromEntries(own)),
    },
    headers: {
      'Content-Type': 'application/json',
      'X-ACME-DATE': date,
      'X-ACME-AUTHENTICATION': createHash('sha256').update(signed).digest('hex'),
    },
    body: method === 'GET' ? '' : JSON.stringify(fields),
  };
}

function post(
  service: StrictService,
  { method, path, query, headers, body }: Letter,
): Promise<{ status: number; text: string }> {
  const url = new URL(`${path}?${new URLSearchParams(query)}`, service.baseUrl);
  return new Promise((resolve, reject) => {
    request(url, { method, headers }, async (response) => {
      resolve({ status: response.statusCode ?? 0, text: await text(response) });
    })
      .on('error', reject)
      .end(body);
  });
}

async function call(
  service: StrictService,
  action: string,
  fields: JsonObject,
  method = 'POST',
): Promise<JsonObject> {
  const answer = await post(service, letter(service, action, fields, method));
  const envelope: unknown = JSON.parse(answer.text, (_name, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source
      ? JSON.rawJSON(source)
      : value,
  );
  if (!isJsonObject(envelope)) throw new Error(`no envelope: ${answer.text}`);
  expect(envelope).toMatchObject({ code: 0, msg: 'success' });
  return envelope;
}

const object = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
describe('the interpretations', () => {
  it('cover every pair of values that concerns one report', () => {
    const covered = new Set(interpretations.flatMap(({ interpretation }) => pairsIn(interpretation)));
    expect(allPairs.filter((pair) => !covered.has(pair))).toEqual([]);
  });
});

describe('the strict service', () => {
  it('has days of sizes that tempt a client into mistakes, and a day of 25 hours', async () => {
    const service = await open();
    const [brand] = service.brands;
    const sizes = (table: Table) =>
      [...(brand ? service.held(brand, table) : [])]
        .map(([day, held]) => `${day} ${held.length}`)
        .sort()
        .slice(-4);
    expect(sizes('clicks')).toEqual(['2026-10-30 21', '2026-11-01 60', '2026-11-02 1', '2026-11-03 20']);
    expect(sizes('transactions')).toEqual(['2026-10-30 15', '2026-10-31 1', '2026-11-01 5', '2026-11-02 6']);
    expect(firstInstant('2026-11-02', timeZone) - firstInstant('2026-11-01', timeZone)).toBe(25 * 3600_000);
  });

  it('returns the detail of a click by its id and its tracking flag', async () => {
    const service = await open();
    const [brand] = service.brands;
    const { id, pbtid } = brand?.holdings.clicks.find(({ record }) => record.pbtid !== '')?.record ?? {};
    const fields = { id: JSON.rawJSON(String(id)), pbtid: JSON.rawJSON(String(pbtid)) };
    const { data } = await call(service, 'report/clicks_detail', fields);
    expect(JSON.stringify(object(data).id)).toBe(id);
  });

  it('refuses a cursor of another query, and an expired cursor', async () => {
    const service = await open();
    const fields = { start_date: '20261030', end_date: '20261030', limit: 5 };
    const { data } = await call(service, 'report/transaction_list', fields);
    const { cursor = null } = object(data);
    await call(service, 'report/transaction_list', { ...fields, cursor });
    await post(
      service,
      letter(service, 'report/transaction_list', { ...fields, end_date: '20261031', cursor }),
    );
    service.forgetCursors();
    await post(service, letter(service, 'report/transaction_list', { ...fields, cursor }));
    expect(service.refusals).toEqual(['Error: cursor is not known', 'Error: cursor is not known']);
  });

  it.each([
    { cursors: 'that has expired by command', lifeInCalls: Number.POSITIVE_INFINITY },
    { cursors: 'that has expired after some calls', lifeInCalls: 1 },
  ])('responds to a cursor $cursors with an empty last page or the first page', async ({ lifeInCalls }) => {
    const service = await open();
    service.cursorLifeInCalls = lifeInCalls;
    const fields = { start_date: '20261030', end_date: '20261030', limit: 5 };
    const read = async (more: JsonObject = {}) =>
      object((await call(service, 'report/transaction_list', { ...fields, ...more })).data);
    const first = await read();
    const { cursor = null } = first;
    expect(await read({ cursor })).not.toEqual(first);
    if (lifeInCalls > 1) service.forgetCursors();
    service.deadCursors = 'empty';
    expect(await read({ cursor })).toEqual({ list: [], cursor: null });
    service.deadCursors = 'first page';
    const repeated = await read({ cursor });
    expect(repeated).toEqual({ ...first, cursor: expect.any(String) });
    expect(repeated.cursor).not.toBe(cursor);
    expect(await read({ cursor: repeated.cursor ?? null })).not.toEqual(first);
    expect(service.refusals).toEqual([]);
  });

  it.each<{
    forbidden: string;
    action?: string;
    fields?: JsonObject;
    bend?: (sent: Letter) => void;
    reason: RegExp;
  }>([
    { forbidden: 'another path', bend: (sent) => (sent.path = '/api'), reason: /path/ },
    ...['bid', 'token', 'action', 'version'].map((name) => ({
      forbidden: `${name} only in the body`,
      bend: (sent: Letter) => {
        sent.body = JSON.stringify({ [name]: sent.query[name] });
        delete sent.query[name];
      },
      reason: new RegExp(`${name} is not in the query`),
    })),
    { forbidden: 'version 1', bend: (sent) => (sent.query.version = '1'), reason: /version/ },
    { forbidden: 'an unknown token', bend: (sent) => (sent.query.token = 'other'), reason: /token/ },
    { forbidden: 'an unknown action', action: 'report/nothing', reason: /no action/ },
    {
      forbidden: 'no content type',
      bend: (sent) => delete sent.headers['Content-Type'],
      reason: /Content-Type/,
    },
    { forbidden: 'no date', bend: (sent) => delete sent.headers['X-ACME-DATE'], reason: /date header/ },
    {
      forbidden: 'an ISO date',
      bend: (sent) => (sent.headers['X-ACME-DATE'] = new Date().toISOString()),
      reason: /HTTP-date/,
    },
    {
      forbidden: 'another date than the signed one',
      bend: (sent) => (sent.headers['X-ACME-DATE'] = httpDate(Date.now() - 5000)),
      reason: /digest/,
    },
    {
      forbidden: 'a digest in capitals',
      bend: (sent) =>
        (sent.headers['X-ACME-AUTHENTICATION'] = sent.headers['X-ACME-AUTHENTICATION']?.toUpperCase() ?? ''),
      reason: /digest/,
    },
    {
      forbidden: 'a body that is not an object',
      bend: (sent) => (sent.body = '[]'),
      reason: /not a JSON object/,
    },
    {
      forbidden: 'a field in the query of a POST',
      bend: (sent) => (sent.query.page_size = '20'),
      reason: /page_size in the query/,
    },
    {
      forbidden: 'a GET if POST is set',
      bend: (sent) => Object.assign(sent, { method: 'GET', body: '' }),
      reason: /GET/,
    },
    {
      forbidden: 'an end before its start',
      fields: { start_time: 2, end_time: 1 },
      reason: /after end_time/,
    },
  ])('refuses $forbidden', async ({ action = 'report/clicks_list', fields = {}, bend, reason }) => {
    const service = await open();
    const sent = letter(service, action, fields);
    bend?.(sent);
    const { status, text: answer } = await post(service, sent);
    expect(service.refusals).toEqual([expect.stringMatching(reason)]);
    if (status === 404) expect(answer).toBe('');
    else expect(JSON.parse(answer, (_name, value) => value)).toMatchObject({ code: 10_001, data: {} });
    expect(status === 404).toBe(/path|not in the query/.test(String(reason)));
  });

  it.each(forbiddenFields)('refuses %s', async (_name, action, fields, reason) => {
    const service = await open();
    await post(service, letter(service, action, fields));
    expect(service.refusals).toEqual([expect.stringContaining(reason)]);
  });

  it.each([-75_000, 75_000])('refuses a clock that is %d ms off', async (drift) => {
    const service = await open();
    await post(service, letter(service, 'report/clicks_list', {}, 'POST', Date.now() + drift));
    expect(service.refusals).toEqual([expect.stringMatching(/drifted/)]);
  });

  it.each(contractFaults)('responds with the fault that a test sets: %s', async (fault) => {
    const service = await open();
    const fields = { start_date: '20261030', end_date: '20261030', limit: 5 };
    const first = await call(service, 'report/transaction_list', fields);
    const next = letter(service, 'report/transaction_list', {
      ...fields,
      cursor: object(first.data).cursor ?? '',
    });
    const whole = await post(service, next);
    service.fault = ({ offset }) => (offset > 0 ? fault : undefined);
    const broken = await post(service, next);
    expect(broken.status).toBe(200);
    expect(broken.text).not.toBe(whole.text);
  });
});

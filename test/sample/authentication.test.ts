import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { textOf } from '../../sample/actions/select.ts';
import { digestOf } from '../../sample/authenticate.ts';
import type { SampleService } from '../../sample/server.ts';
import { parseJson, stringifyJson } from '../../shared/json.ts';
import { call, objectOf, queryOf, request, startAcme } from './call.ts';

const vector = objectOf(
  parseJson(readFileSync(new URL('../fixtures/signature-vector.json', import.meta.url), 'utf8')),
);
const action = 'report/order_list';

let service: SampleService;
beforeAll(async () => {
  service = await startAcme();
});

describe('the digest', () => {
  it('matches the published example', () => {
    const { token, action: example, utcDate, secret, digest } = vector;
    const [a = '', b = '', c = '', d = ''] = [token, example, utcDate, secret].map(textOf);
    expect(digestOf(a, b, c, d)).toBe(digest);
  });
});

describe('routing', () => {
  const routing = { bid: '1001', token: 'a-token', action, version: '1.0' };

  it.each(Object.keys(routing))(
    'answers 404 with an empty body when %s is only in the body',
    async (name) => {
      const response = await request(service, action, routing, { query: { [name]: undefined } });
      expect([response.status, await response.text()]).toEqual([404, '']);
    },
  );

  it('answers 404 with an empty body on a path without a brand', async () => {
    const response = await fetch(`${service.url}/api/nobody?${queryOf(routing)}`);
    expect([response.status, await response.text()]).toEqual([404, '']);
  });

  it('accepts routing parameters repeated in the body', async () => {
    expect((await call(service, action, routing)).code).toBe(0);
  });

  it('answers 405 to methods other than GET and POST', async () => {
    expect((await request(service, action, {}, { method: 'PUT' })).status).toBe(405);
  });
});

describe('authentication', () => {
  const shifted = (seconds: number) => {
    const date = new Date(Date.now() + seconds * 1000).toUTCString();
    return {
      'X-SAMPLE-DATE': date,
      'X-SAMPLE-AUTHENTICATION': digestOf('a-token', action, date, 'a-secret'),
    };
  };
  const present = shifted(0);
  const isoDate = new Date().toISOString();

  it.each([
    ['another bid', { query: { bid: '1002' } }, 'unknown bid'],
    ['another token', { query: { token: 'b-token' } }, 'unknown token'],
    ['no date', { headers: { 'X-SAMPLE-DATE': undefined } }, 'date header'],
    ['no digest', { headers: { 'X-SAMPLE-AUTHENTICATION': undefined } }, 'digest'],
    ['no Content-Type', { body: '', headers: { 'Content-Type': undefined } }, 'Content-Type'],
    [
      'the Content-Type of a form',
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      'Content-Type',
    ],
    [
      'a Content-Type that only begins like JSON',
      { headers: { 'Content-Type': 'application/json5' } },
      'Content-Type',
    ],
    [
      'a date other than the hashed one',
      { headers: { 'X-SAMPLE-DATE': shifted(60)['X-SAMPLE-DATE'] } },
      'digest',
    ],
    [
      'an ISO date',
      {
        headers: {
          'X-SAMPLE-DATE': isoDate,
          'X-SAMPLE-AUTHENTICATION': digestOf('a-token', action, isoDate, 'a-secret'),
        },
      },
      'HTTP-date',
    ],
    ['an action other than the hashed one', { query: { action: 'report/clicks_list' } }, 'digest'],
    [
      'an uppercase digest',
      {
        headers: {
          ...present,
          'X-SAMPLE-AUTHENTICATION': present['X-SAMPLE-AUTHENTICATION'].toUpperCase(),
        },
      },
      'digest',
    ],
    ['a clock far behind', { headers: shifted(-600) }, 'clock'],
    ['a clock far ahead', { headers: shifted(600) }, 'clock'],
  ])('refuses %s', async (_name, changes, why) => {
    const { code, msg, data } = await call(service, action, {}, changes);
    expect({ code, data }).toEqual({ code: 1001, data: {} });
    expect(msg).toContain(why);
  });

  it.each([-280, 280])('accepts a clock that is off by %d seconds', async (seconds) => {
    expect((await call(service, action, {}, { headers: shifted(seconds) })).code).toBe(0);
  });

  it('uses the current credentials of the brand', async () => {
    const rotated = await startAcme();
    if (rotated.brands.acme) rotated.brands.acme.secret = 'b-secret';
    expect((await call(rotated, action)).code).toBe(0);
    expect((await call(rotated, action, {}, { headers: shifted(0) })).code).toBe(1001);
  });

  it('I9: neither its request log nor its answers contain a token or digest', async () => {
    const headers = shifted(0);
    const digest = headers['X-SAMPLE-AUTHENTICATION'];
    const refused = await call(service, action, {}, { query: { token: 'wrong' } });
    await call(service, action, {}, { headers });
    const kept = stringifyJson(JSON.parse(JSON.stringify([service.requests, refused])));
    for (const credential of ['a-token', 'a-secret', digest, 'wrong']) expect(kept).not.toContain(credential);
  });
});

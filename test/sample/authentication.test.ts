import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { digestOf } from '../../sample/authenticate.ts';
import type { SampleService } from '../../sample/server.ts';
import { stringifyJson } from '../../shared/json.ts';
import { call, closeServices, startAcme } from './call.ts';

afterAll(closeServices);

const action = 'report/order_list';

let service: SampleService;
beforeAll(async () => {
  service = await startAcme();
});

describe('authentication', () => {
  const shifted = (seconds: number) => {
    const date = new Date(Date.now() + seconds * 1000).toUTCString();
    return {
      'X-SAMPLE-DATE': date,
      'X-SAMPLE-AUTHENTICATION': digestOf('a-token', action, date, 'a-secret'),
    };
  };

  it.each([-280, 280])('accepts a clock that is off by %d seconds', async (seconds) => {
    expect((await call(service, action, {}, { headers: shifted(seconds) })).code).toBe(0);
  });

  it('uses the current credentials of the brand', async () => {
    const rotated = await startAcme();
    if (rotated.brands.acme) rotated.brands.acme.secret = 'b-secret';
    expect((await call(rotated, action)).code).toBe(0);
    expect((await call(rotated, action, {}, { headers: shifted(0) })).code).toBe(1001);
  });

  it('I9: has no token or digest in its request log and its responses', async () => {
    const headers = shifted(0);
    const digest = headers['X-SAMPLE-AUTHENTICATION'];
    const refused = await call(service, action, {}, { query: { token: 'wrong' } });
    await call(service, action, {}, { headers });
    const kept = stringifyJson(JSON.parse(JSON.stringify([service.requests, refused])));
    for (const credential of ['a-token', 'a-secret', digest, 'wrong']) expect(kept).not.toContain(credential);
  });
});

import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { createTimeBudget } from '../../shared/context/time-budget.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { type Json, type JsonObject, rawNumber, stringifyJson } from '../../shared/base/json.ts';
import type { CredentialSource, Credentials, HttpHeaders, SendRequest } from '../../shared/ports.ts';
import { type ServiceClientOptions, createServiceClient } from '../../shared/service/client.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { createRateLimiter } from '../../shared/service/rate-limit.ts';
import { SERVICE_RETRY, type TimeLeft, refusalOfPause } from '../../shared/service/retry.ts';
import { digestOf } from '../../shared/service/request.ts';
import { virtualTime } from '../fakes/virtual-time.ts';

const start = Date.parse('2026-11-03T15:20:00Z');
const action = 'report/order_list';
const old: Credentials = { bid: '12 34', token: 'tök+en/&=?', secret: 'schönes geheimnis' };
const success = { json: { code: 0, msg: 'success', data: { list: [] } } };
const refusal = { json: { code: 1001, msg: 'authentication failed', data: {} } };

const baseUrl = 'http://service.invalid/api/brand';

interface Received {
  /** Counted from 1. */
  number: number;
  method: string;
  path: string;
  query: URLSearchParams;
  /** By names in lower case. */
  headers: Readonly<Record<string, string>>;
  text: string;
}

type Sent = { status?: number; headers?: HttpHeaders };
/** `hang`: no answer ever comes. */
type Reply = (Sent & ({ json: Json } | { text: string })) | { failed: string } | 'hang';

function countedCredentials() {
  let reads = 0;
  const source: CredentialSource = {
    async read() {
      reads += 1;
      return { ...old };
    },
  };
  return { source, reads: () => reads };
}

async function started(
  script: (received: Received, time: ReturnType<typeof virtualTime>) => Reply | Promise<Reply>,
  {
    timeLeft = createTimeBudget(undefined, () => 0),
    ...options
  }: Partial<ServiceClientOptions> & { timeLeft?: TimeLeft } = {},
) {
  const time = virtualTime(start);
  const received: Received[] = [];
  const send: SendRequest = async ({ url, method, headers, body }, { onHeaders, signal }) => {
    client.requests += 1;
    const { pathname, searchParams } = new URL(url);
    const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    const one = {
      ...{ number: client.requests, method, path: pathname, query: searchParams, text: body ?? '' },
      headers: Object.fromEntries(lowerCase),
    };
    received.push(one);
    const reply = await script(one, time);
    if (reply === 'hang') {
      if (signal && !signal.aborted) await once(signal, 'abort');
      return { failed: 'aborted' };
    }
    if ('failed' in reply) return reply;
    const given = reply.headers ?? {};
    onHeaders(given);
    const text = 'json' in reply ? stringifyJson(reply.json) : reply.text;
    return { status: reply.status ?? 200, headers: given, body: Buffer.from(text) };
  };
  const log: JsonObject[] = [];
  const all: ServiceClientOptions = {
    brand: 'acme',
    baseUrl,
    service: 'ACME',
    method: 'POST',
    // Long enough for a busy machine: a test of a timeout sets its own.
    timeoutMs: 50_000,
    credentials: countedCredentials().source,
    limiter: createRateLimiter({
      requestsPerSecond: 1_000,
      claim: async () => 0,
      refusePause: refusalOfPause({ ...SERVICE_RETRY, ...options.retry }, timeLeft),
      monotonicMs: time.monotonicMs,
      sleep: time.sleep,
    }),
    wallMs: time.wallMs,
    random: () => 0.5,
    sleep: time.sleep,
    log: (entry) => log.push(JSON.parse(JSON.stringify(entry))),
    ...options,
    send,
  };
  const client = Object.assign(createServiceClient(all), { requests: 0 });
  return { client, service: { received, url: baseUrl }, time, log };
}

/** The error of a call that must fail. */
async function failure(call: Promise<unknown>): Promise<BrandReportsError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof BrandReportsError) return thrown;
  throw new Error(`a BrandReportsError was expected, not ${String(thrown)}`);
}

/** The error of a call, `undefined` if it succeeds. */
async function failureOrNothing(call: Promise<unknown>): Promise<BrandReportsError | undefined> {
  return call.then(
    () => undefined,
    () => failure(call),
  );
}

describe('a request', () => {
  it('has routing parameters in the query string, fields in a JSON body with all digits, and a signature', async () => {
    const { client, service } = await started(() => success);
    await client.call(action, { id: rawNumber('9007199254740993'), status: 'new' });
    const [request] = service.received;
    expect(request?.method).toBe('POST');
    expect(request?.path).toBe('/api/brand');
    expect(Object.fromEntries(request?.query ?? [])).toEqual({
      bid: old.bid,
      token: old.token,
      action,
      version: '1.0',
    });
    expect(request?.text).toBe('{"id":9007199254740993,"status":"new"}');
    expect(request?.headers['content-type']).toBe('application/json');
    expect(request?.headers['x-acme-date']).toBe(httpDate(start));
    expect(request?.headers['x-acme-authentication']).toBe(digestOf(old, action, httpDate(start)));
  });

  it('has the fields in the query string, and no body, if the method is GET', async () => {
    const { client, service } = await started(() => success, { method: 'GET' });
    await client.call(action, {
      first: 0,
      id: rawNumber('9007199254740993'),
      amazon_brand: 'Müller & Söhne',
    });
    const [request] = service.received;
    expect(request?.method).toBe('GET');
    expect(request?.text).toBe('');
    expect(Object.fromEntries(request?.query ?? [])).toMatchObject({
      action,
      version: '1.0',
      first: '0',
      id: '9007199254740993',
      amazon_brand: 'Müller & Söhne',
    });
  });

  it('keeps the path and the query of baseUrl', async () => {
    const { client, service } = await started(() => success, {
      baseUrl: `${baseUrl}/v/?tenant=a%20b#part`,
    });
    await client.call(action, {});
    expect(service.received[0]?.path).toBe('/api/brand/v/');
    expect(service.received[0]?.query.get('tenant')).toBe('a b');
    expect(service.received[0]?.query.get('token')).toBe(old.token);
  });
});

const html = '<!doctype html><title>Maintenance</title>';
/** One of each kind; envelope.test.ts has all of them. */
const refusedForGood: [string, Reply, string, string][] = [
  ['HTML with status 200', { text: html }, 'contract', 'not_json'],
  [
    'a non-zero code with records',
    { json: { code: 7, data: { list: [{ id: '1' }] } } },
    'auth',
    'service_code',
  ],
  ['status 401', { status: 401, text: '' }, 'auth', 'http_401'],
];

describe('a response that a retry cannot repair', () => {
  it.each(refusedForGood)('I8: fails the call without a retry: %s', async (_name, reply, kind, code) => {
    const { client } = await started(() => reply);
    expect(await failure(client.call(action, {}))).toMatchObject({
      kind,
      code,
      message: expect.stringMatching(/^acme report\/order_list: .{20,}/s),
    });
    expect(client.requests).toBe(1);
  });
});

const transient: [string, Reply][] = [
  ['status 503', { status: 503, text: html }],
  ['a reset connection', { failed: 'ECONNRESET' }],
  ['a body cut off', { failed: 'cut_off' }],
  ['JSON that is cut off', { text: '{"code":0,"data":{"list":[{"id":"1"}' }],
];

describe('a response that a retry may help', () => {
  it.each(transient)('I8: is retried, and the call succeeds: %s', async (_name, reply) => {
    const { client, time } = await started(({ number }) => (number <= 2 ? reply : success));
    expect((await client.call(action, {})).data).toEqual({ list: [] });
    expect(client.requests).toBe(3);
    expect(time.slept).toEqual(expect.arrayContaining([250, 500]));
  });

  it('I8: is an error after all attempts, never a page', async () => {
    const { client } = await started(() => ({ failed: 'ECONNRESET' }), { retry: { maxAttempts: 2 } });
    expect(await failure(client.call(action, {}))).toMatchObject({
      kind: 'transient',
      code: 'network',
      message: expect.stringContaining('2 attempts'),
    });
    expect(client.requests).toBe(2);
  });

  it.each([
    ['seconds', { 'retry-after': '40' }],
    ['a date', { 'retry-after': httpDate(start + 40_000) }],
  ])('makes every call wait for the whole Retry-After in %s', async (_name, headers) => {
    const arrived: number[] = [];
    const { client, time } = await started(({ number }, now) => {
      arrived.push(now.wallMs() - start);
      return number === 1 ? { status: 429, text: '', headers } : success;
    });
    await client.call(action, {});
    await client.call(action, {});
    expect(arrived[0]).toBe(0);
    expect(Math.min(...arrived.slice(1))).toBeGreaterThanOrEqual(40_000);
    expect(time.wallMs() - start).toBeLessThan(41_000);
  });

  it.each([429, 503])(
    'halves the rate with status %i, and successful responses raise the rate',
    async (status) => {
      const time = virtualTime(start);
      const limiter = createRateLimiter({
        requestsPerSecond: 100,
        claim: async () => 0,
        refusePause: () => undefined,
        monotonicMs: time.monotonicMs,
        sleep: time.sleep,
      });
      const { client } = await started(({ number }) => (number === 1 ? { status, text: '' } : success), {
        limiter,
      });
      await client.call(action, {});
      expect(limiter.rate()).toBe(52);
      await client.call(action, {});
      expect(limiter.rate()).toBe(54);
    },
  );

  it('is neither waited for nor retried in a stopped run', async () => {
    const stop = new AbortController();
    const { client } = await started(() => ({ status: 503, text: '' }), {
      signal: stop.signal,
      sleep: () => {
        stop.abort();
        return new Promise(() => undefined);
      },
    });
    expect(await failure(client.call(action, {}))).toMatchObject({ kind: 'transient', code: 'stopped' });
    expect(client.requests).toBe(1);
  });

  it('does not delay the abort of its call', async () => {
    const stop = new AbortController();
    const { client } = await started(
      () => {
        stop.abort();
        return 'hang';
      },
      { signal: new AbortController().signal, retry: { maxAttempts: 1 } },
    );
    expect(await failure(client.call(action, {}, stop.signal))).toMatchObject({ code: 'stopped' });
  });
});

/** The service as docs/explanation/interface.md, section 5, describes it: its own clock, at most 60 s from the date header, and one pair of credentials. */
function strict(valid: () => Credentials, aheadMs = 0) {
  return ({ headers, query }: Received, time: { wallMs(): number }): Reply => {
    const serviceMs = time.wallMs() + aheadMs;
    const date = String(headers['x-acme-date']);
    const signed = headers['x-acme-authentication'] === digestOf(valid(), query.get('action') ?? '', date);
    const near = Math.abs(Date.parse(date) - serviceMs) <= 60_000;
    const reply = signed && near ? success : refusal;
    return { ...reply, headers: { date: httpDate(serviceMs) } };
  };
}

describe('I10: clock and credentials', () => {
  it('I10: each attempt has a fresh date', async () => {
    const { client, service } = await started(
      ({ number }) => (number < 4 ? { status: 500, text: '' } : success),
      {
        retry: { baseMs: 4_000 },
      },
    );
    await client.call(action, {});
    expect(service.received.map(({ headers }) => headers['x-acme-date'])).toEqual(
      [0, 2_000, 6_000, 14_000].map((ms) => httpDate(start + ms)),
    );
    for (const { headers } of service.received)
      expect(headers['x-acme-authentication']).toBe(digestOf(old, action, String(headers['x-acme-date'])));
  });

  it.each([600_000, -600_000])(
    'I10: a clock that is %i ms off is learned from one refusal',
    async (aheadMs) => {
      const { source, reads } = countedCredentials();
      const { client } = await started(
        strict(() => old, aheadMs),
        { credentials: source },
      );
      await client.call(action, {});
      await client.call(action, {});
      expect(client.requests).toBe(3);
      expect(Math.abs((client.clockSkewMs ?? 0) - aheadMs)).toBeLessThanOrEqual(1_000);
      expect(reads()).toBe(1);
    },
  );

  it.each([
    ['the first response, which costs one more request', 1, 4],
    ['a later response, which costs nothing', 2, 3],
  ])('I10: one wrong date moves no time: %s', async (_name, wrong, requests) => {
    const accepts = strict(() => old);
    const { client, service } = await started((received, time) => {
      const date = httpDate(time.wallMs() + 20 * 86_400_000);
      return received.number === wrong ? { ...success, headers: { date } } : accepts(received, time);
    });
    for (let call = 0; call < 3; call += 1) await client.call(action, {});
    expect([client.requests, client.clockSkewMs]).toEqual([requests, 0]);
    expect(service.received.every(({ headers }) => headers['x-acme-date'] === httpDate(start))).toBe(true);
  });

  const limit: Reply = { json: { code: 10429, msg: 'Too many requests', data: {} } };
  const refusals: [string, Reply, string, string][] = [
    ['a non-zero code', limit, 'contract', 'service_code'],
    ['HTTP 401', { status: 401, text: '' }, 'auth', 'http_401'],
    ['HTTP 403', { status: 403, text: 'busy' }, 'auth', 'http_403'],
  ];
  it.each(refusals)('I10: %s is retried once these credentials are accepted', async (_name, reply) => {
    const { source, reads } = countedCredentials();
    const { client, time } = await started(({ number }) => (number === 2 || number === 3 ? reply : success), {
      credentials: source,
    });
    await client.call(action, {});
    await client.call(action, {});
    expect([client.requests, reads()]).toEqual([4, 2]);
    expect(time.slept).toEqual(expect.arrayContaining([250, 500]));
  });

  it.each(refusals)(
    'I10: %s that outlasts all attempts of a call is retried no more for its action',
    async (_name, reply, kind, code) => {
      const { source, reads } = countedCredentials();
      const { client } = await started(
        ({ number, query }) => (number === 1 || query.get('action') === 'other' ? success : reply),
        { credentials: source },
      );
      await client.call('other', {});
      for (const requests of [7, 8, 9]) {
        expect(await failure(client.call(action, {}))).toMatchObject({ kind, code });
        expect(client.requests).toBe(requests);
      }
      await client.call('other', {});
      expect(reads()).toBe(2);
    },
  );

  it('I10: a refusal of other credentials than the accepted ones is not retried', async () => {
    let reads = 0;
    const read = async () => {
      reads += 1;
      return { ...old, secret: `secret ${reads}` };
    };
    const { client } = await started(({ number }) => (number === 1 ? success : refusal), {
      credentials: { read },
    });
    await client.call(action, {});
    expect(await failure(client.call(action, {}))).toMatchObject({ kind: 'auth', code: 'service_code' });
    expect(client.requests).toBe(3);
  });

  it('a host that is not found is retried once the service has responded', async () => {
    const { client } = await started(({ number }) => (number === 2 ? { failed: 'ENOTFOUND' } : success));
    await client.call(action, {});
    await client.call(action, {});
    expect(client.requests).toBe(3);
  });
});

describe('I10: until the service has accepted a request', () => {
  const calls = (client: { call: (action: string, fields: JsonObject) => Promise<unknown> }, count: number) =>
    Promise.all(Array.from({ length: count }, (_, id) => failureOrNothing(client.call(action, { id }))));

  it.each([
    ['a non-zero code', refusal],
    ['HTTP 401', { status: 401, text: '' } as const],
    ['HTTP 403', { status: 403, text: 'no' } as const],
  ])(
    'no more requests are sent after two refusals, however many calls start together: %s',
    async (_name, reply) => {
      const { client, service } = await started(() => reply);
      const errors = await calls(client, 20);
      expect(service.received).toHaveLength(2);
      // The second refusal and the calls after it fail with one error.
      expect(new Set(errors).size).toBe(2);
      expect(errors.filter((error) => error?.code === 'refused')).toHaveLength(19);
      expect(await failure(client.call(action, {}))).toMatchObject({
        kind: 'auth',
        code: 'refused',
        message: expect.stringMatching(/^acme report\/order_list: .*sends no more/),
      });
      expect(service.received).toHaveLength(2);
    },
  );
});

describe('clocks that differ by more than a day', () => {
  const DAY = 86_400_000;
  const far = { kind: 'config', code: 'clocks_differ' };

  it.each([
    ['accepts every date', success],
    ['refuses for another reason', refusal],
    ['sends HTML', { text: '<html></html>' } as const],
    ['fails', { status: 503, text: '' } as const],
  ])('are found by two responses, even if the service %s', async (_name, reply) => {
    const { client } = await started((_received, time) => {
      return { ...reply, headers: { date: httpDate(time.wallMs() + 40 * DAY) } };
    });
    expect(await failure(client.call(action, {}))).toMatchObject(far);
    expect(client.requests).toBe(2);
  });

  it('stop nothing if no two responses agree: the machine’s clock counts', async () => {
    const { client } = await started(({ number }, time) => {
      return { ...success, headers: { date: httpDate(time.wallMs() + number * 40 * DAY) } };
    });
    await client.call(action, {});
    expect([client.requests, client.clockSkewMs]).toEqual([3, undefined]);
  });
});

describe('a call for the service’s time', () => {
  const forTime = { urgent: true, report: 'order_list', rank: 0, asksTime: true } as const;

  it('is not retried after a response that shows the time, even of an error', async () => {
    const { client } = await started((_received, time) => {
      return { status: 503, text: '', headers: { date: httpDate(time.wallMs()) } };
    });
    expect(await failure(client.inOrder(forTime).call(action, {}))).toMatchObject({ code: 'http_503' });
    expect(client.requests).toBe(1);
  });

  it('is retried until a response arrives', async () => {
    const { client } = await started(({ number }, time) =>
      number < 3 ? { failed: 'ECONNRESET' } : { ...success, headers: { date: httpDate(time.wallMs()) } },
    );
    await client.inOrder(forTime).call(action, {});
    expect(client.clockSkewMs).toBe(0);
  });
});

describe('the time that a run has left', () => {
  const overloaded = { status: 503, text: '', headers: { 'retry-after': '840' } } as const;
  const left = (leftMs: number, untilOverMs = Number.POSITIVE_INFINITY) => ({
    timeLeft: { leftMs: () => leftMs, untilOverMs: () => untilOverMs },
  });

  it('is not spent on a longer Retry-After: that call fails, and other calls are not sent', async () => {
    const { client, service, time } = await started(() => overloaded, left(60_000));
    // The first request of a run goes alone, and the second one waits for it.
    const [answered, waiting] = [failure(client.call(action, {})), failure(client.call(action, {}))];
    const message = expect.stringMatching(/840 s .*at most 60 s/);
    expect(await answered).toMatchObject({
      ...{ kind: 'transient', code: 'http_503', message },
      context: { retryAfterMs: 840_000 },
    });
    for (const unsent of [waiting, failure(client.call(action, {}))])
      expect(await unsent).toMatchObject({ kind: 'transient', code: 'out_of_time', message });
    expect(service.received).toHaveLength(1);
    expect(time.slept).toEqual([]);
  });
});

describe('I9: no output of the client contains a credential', () => {
  /** Everything in a request, echoed by a hostile service. */
  const echo = ({ headers, query }: Received) =>
    [
      old.token,
      old.secret,
      query.toString(),
      encodeURIComponent(old.secret),
      headers['x-acme-authentication'],
    ].join(' ');
  const echoes: [string, (received: Received) => Reply][] = [
    ['the message of a refusal', (received) => ({ json: { code: 1, msg: echo(received) } })],
    ['a message that is not text', (received) => ({ json: { code: 1, msg: { said: echo(received) } } })],
    ['a code', (received) => ({ json: { code: echo(received) } })],
    ['data', (received) => ({ json: { code: 0, data: [echo(received)] } })],
    ['HTML', (received) => ({ text: `<p>${echo(received)}</p>` })],
    [
      'a redirect',
      (received) => ({
        status: 302,
        text: echo(received),
        headers: { location: `/?${received.query.toString()}` },
      }),
    ],
    ['status 401', (received) => ({ status: 401, text: echo(received) })],
    ['truncated JSON', (received) => ({ text: `{"code":0,"msg":"${echo(received)}` })],
    ['a reset connection', () => ({ failed: 'ECONNRESET' })],
  ];

  it.each(echoes)('I9: a credential echoed in %s is redacted', async (_name, reply) => {
    const { client, log, service } = await started(reply, { retry: { maxAttempts: 2 } });
    const error = await failure(client.call(action, {}));
    const left = [
      error.stack,
      error.message,
      String(error.cause),
      JSON.stringify([error, error.context, log]),
    ].join('\n');
    for (const { headers, query } of service.received)
      for (const secret of [old.token, old.secret, query.get('token'), headers['x-acme-authentication']]) {
        expect(left).not.toContain(String(secret));
        expect(left).not.toContain(encodeURIComponent(String(secret)));
      }
    expect(left).not.toContain(service.url);
    expect(error.cause).toBeUndefined();
  });
});

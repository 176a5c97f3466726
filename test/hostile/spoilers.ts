/**
 * Lists the ways in which a hostile service spoils a response, by name, and how a run must end that gets only such
 * responses for a day. Either the day has exactly the service's records (`right`). Or it fails with an error of this
 * kind and code, and stays as it was before.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { ReportName } from '../../sample/brand.ts';
import type { ErrorKind } from '../../shared/errors.ts';
import { type Json, type JsonObject, isJsonObject, rawNumber, stringifyJson } from '../../shared/json.ts';
import type { Answer, Spoil } from './hostile-service.ts';

export interface Spoiler {
  name: string;
  ends: 'right' | readonly [ErrorKind, string];
  spoil: Spoil;
  /** The action whose responses it spoils; `transaction_list` if missing. */
  report?: ReportName;
  /** It takes many megabytes, or all the time that a request has: it runs alone, and never at random. */
  slow?: true;
  /** 1 if missing. */
  timeoutSeconds?: number;
  /** A lookup has no list, and treats whatever it gets as the record. */
  listsOnly?: true;
}

const MEGABYTE = 2 ** 20;

const sends =
  (bodyOf: (answer: Answer) => string | Buffer, headers: Record<string, string> = {}, status = 200): Spoil =>
  (answer) => {
    answer.response.writeHead(status, headers).end(bodyOf(answer));
  };

const changed = (change: (envelope: JsonObject) => Json): Spoil =>
  sends(({ envelope }) => stringifyJson(change(envelope)));

const data = (change: (data: JsonObject) => Json): Spoil =>
  changed((envelope) => ({ ...envelope, data: change(isJsonObject(envelope.data) ? envelope.data : {}) }));

const list = (change: (records: Json[]) => Json): Spoil =>
  data((all) =>
    Object.fromEntries(
      Object.entries(all).map(([key, value]) => [key, Array.isArray(value) ? change(value) : value]),
    ),
  );

/** Writes bytes to the connection, outside HTTP, and ends it. */
const raw =
  (bytesOf: (answer: Answer) => (string | Buffer)[]): Spoil =>
  (answer) => {
    for (const part of bytesOf(answer)) answer.socket.write(part);
    answer.socket.end();
  };

const without = (object: JsonObject, name: string): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([key]) => key !== name));

const head = (...headers: string[]) => ['HTTP/1.1 200 OK', ...headers, '', ''].join('\r\n');
const lengthOf = (body: Buffer, more = 0) => `content-length: ${body.length + more}`;
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

async function drip({ response }: Answer, text: string, pauseMs: number): Promise<void> {
  for (let at = 0; !response.destroyed; at = (at + 1) % text.length) {
    response.write(text.charAt(at));
    await sleep(pauseMs);
  }
}

/** Writes without end, as fast as the client reads. */
async function flood({ response }: Answer, chunk: Buffer): Promise<void> {
  while (!response.destroyed && response.writable) {
    if (!response.write(chunk))
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
  }
}

function ending(
  ends: Spoiler['ends'],
  spoils: Record<string, Spoil>,
  more: Omit<Spoiler, 'name' | 'ends' | 'spoil'> = {},
): Spoiler[] {
  return Object.entries(spoils).map(([name, spoil]) => ({ name, ends, spoil, ...more }));
}

const byEnd: Spoiler[] = [
  ...ending(
    'right',
    {
      'no count': data((all) => without(all, 'count')),
      'count 1e400': data((all) => ({ ...all, count: rawNumber('1e400') })),
      'count of 400 digits': data((all) => ({ ...all, count: rawNumber('9'.repeat(400)) })),
    },
    { listsOnly: true },
  ),
  ...ending('right', {
    'a wrong content type': sends(({ body }) => body, { 'content-type': 'text/html; charset=utf-16' }),
    gzip: sends(({ body }) => gzipSync(body), { 'content-encoding': 'gzip' }),
    brotli: sends(({ body }) => brotliCompressSync(body), { 'content-encoding': 'br' }),
    'gzip twice': sends(({ body }) => gzipSync(gzipSync(body)), { 'content-encoding': 'gzip, gzip' }),
    'an encoding that does not exist': sends(({ body }) => body, { 'content-encoding': 'zebra' }),
    'UTF-8 with a mark': sends(({ body }) => Buffer.concat([Buffer.from('\ufeff'), body])),
    'no content length, closed at the end': raw(({ body }) => [head('connection: close'), body]),
    'early hints before the answer': raw(({ body }) => [
      'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n',
      head(lengthOf(body), 'connection: close'),
      body,
    ]),
    'an answer that is followed by another one': raw(({ body }) => [
      head(lengthOf(body)),
      body,
      head('content-length: 2'),
      '{}',
    ]),
    'HTTP/1.0': raw(({ body }) => ['HTTP/1.0 200 OK\r\n\r\n', body]),
  }),
  ...ending(['auth', 'http_401'], {
    'status 401': sends(({ echo }) => echo, {}, 401),
  }),
  ...ending(['config', 'http_404'], {
    'status 404 without a body': sends(() => '', {}, 404),
  }),
  ...ending(
    ['contract', 'bad_cursor'],
    {
      'an object for the cursor': data((all) => ({ ...all, cursor: {} })),
      'true for the cursor': data((all) => ({ ...all, cursor: true })),
    },
    { listsOnly: true },
  ),
  ...ending(
    ['contract', 'bad_record'],
    {
      'a null among the records': list((all) => [...all, null]),
      'text among the records': list((all) => ['none', ...all]),
      'lists for records': list((all) => all.map((one) => [one])),
    },
    { listsOnly: true },
  ),
  ...ending(['contract', 'envelope'], {
    'a list for an envelope': changed((envelope) => [envelope]),
    'null for an envelope': changed(() => null),
    'code 0.0': changed((e) => ({ ...e, code: rawNumber('0.0') })),
    'code false': changed((e) => ({ ...e, code: false })),
    'code null': changed((e) => ({ ...e, code: null })),
    'code 1e400': changed((e) => ({ ...e, code: rawNumber('1e400') })),
    'no code': changed((e) => without(e, 'code')),
    'no data': changed((e) => without(e, 'data')),
    'null for data': changed((e) => ({ ...e, data: null })),
    'text for data': changed((e) => ({ ...e, data: 'none' })),
    'an error without a code': sends(({ echo }) => stringifyJson({ error: echo })),
    'a code that is text': sends(({ echo }) => stringifyJson({ code: 'E42', msg: echo })),
  }),
  ...ending(['contract', 'http_418'], {
    'status 418': sends(({ echo }) => echo, {}, 418),
  }),
  ...ending(
    ['contract', 'missing_list'],
    {
      'null for the list': list(() => null),
      'an object for the list': list((all) => Object.fromEntries(all.entries())),
      'no list': data((all) => without(all, 'list')),
      'an error in data': sends(({ echo }) => stringifyJson({ code: 0, data: { error: echo } })),
    },
    { listsOnly: true },
  ),
  ...ending(['contract', 'not_json'], {
    'an empty body': sends(() => ''),
    'an envelope nested 100,000 deep': sends(() => `{"code":0,"data":${nested(100_000)}}`),
    HTML: sends(({ echo }) => `<!doctype html><title>${echo}</title>`, { 'content-type': 'text/html' }),
    'status 204': sends(() => '', {}, 204),
  }),
  ...ending(
    ['contract', 'not_json'],
    {
      'a record nested 100,000 deep': sends(({ body }) =>
        body.toString().replace('[', `[{"deep":${nested(100_000)}},`),
      ),
    },
    { listsOnly: true },
  ),
  ...ending(['contract', 'not_utf8'], {
    'Latin-1': sends(({ body }) => Buffer.from(body.toString().replace('{', '{"note":"été",'), 'latin1')),
    'UTF-16': sends(({ body }) => Buffer.from(body.toString(), 'utf16le')),
    'UTF-16 with its mark': sends(({ body }) => Buffer.from(`\ufeff${body.toString()}`, 'utf16le')),
  }),
  ...ending(['contract', 'redirect'], {
    'status 304': sends(() => '', {}, 304),
  }),
  ...ending(
    ['contract', 'service_code'],
    {
      'a cursor of almost a megabyte': data((all) => ({ ...all, cursor: 'x'.repeat(MEGABYTE - 1_000) })),
    },
    { listsOnly: true },
  ),
  ...ending(
    ['contract', 'too_large'],
    {
      'a cursor of a megabyte': data((all) => ({ ...all, cursor: 'x'.repeat(MEGABYTE) })),
    },
    { listsOnly: true },
  ),
  ...ending(['contract', 'service_code'], {
    'a code of its own beside the records': changed((e) => ({ ...e, code: 42 })),
    'a negative code with what the request bore': sends(({ echo }) => stringifyJson({ code: -1, msg: echo })),
  }),
  ...ending(
    ['contract', 'too_large'],
    {
      'a page without end': (answer) => {
        answer.response.write('{"code":0,"data":{"list":[{"a":"');
        return flood(answer, Buffer.alloc(MEGABYTE, 'x'));
      },
      // Consecutive members of a gzip file are one text. The test never holds the whole text in memory.
      'a gzip bomb': sends(
        () => Buffer.concat(new Array<Buffer>(256).fill(gzipSync(Buffer.alloc(MEGABYTE, ' '), { level: 1 }))),
        { 'content-encoding': 'gzip' },
      ),
    },
    { timeoutSeconds: 30, slow: true },
  ),
  ...ending(['transient', 'http_429'], {
    'a Retry-After of 10^30 seconds': sends(() => '', { 'retry-after': `1${'0'.repeat(30)}` }, 429),
  }),
  ...ending(
    ['transient', 'http_500'],
    {
      'an error page without end': (answer) => {
        answer.response.writeHead(500);
        return flood(answer, Buffer.alloc(MEGABYTE, 'x'));
      },
    },
    { timeoutSeconds: 30, slow: true },
  ),
  ...ending(['transient', 'http_500'], {
    'status 500': sends(({ echo }) => echo, {}, 500),
  }),
  ...ending(['transient', 'http_503'], {
    'a Retry-After in another century': sends(
      () => '',
      { 'retry-after': 'Fri, 01 Jan 2126 00:00:00 GMT' },
      503,
    ),
    'a Retry-After that is over': sends(() => '', { 'retry-after': 'Mon, 01 Jan 1926 00:00:00 GMT' }, 503),
  }),
  ...ending(['transient', 'network'], {
    'a connection that ends in the middle of a body': raw(({ body }) => [
      head(lengthOf(body)),
      body.subarray(0, body.length / 2),
    ]),
    'a connection that ends before the last byte': raw(({ body }) => [head(lengthOf(body, 1)), body]),
    'a reset connection': ({ socket }) => void socket.resetAndDestroy(),
    'a chunked body without its end': raw(({ body }) => [
      head('transfer-encoding: chunked'),
      `${body.length.toString(16)}\r\n`,
      body,
      '\r\n',
    ]),
    'a plain body that claims to be gzip': sends(({ body }) => body, { 'content-encoding': 'gzip' }),
    'gzip with a flipped byte': sends(
      ({ body }) => {
        const packed = gzipSync(body);
        packed.writeUInt8(packed.readUInt8(3) ^ 0xff, 3);
        return packed;
      },
      { 'content-encoding': 'gzip' },
    ),
    'a content length that is no number': raw(({ body }) => [head('content-length: many'), body]),
    'two content lengths': raw(({ body }) => [head(lengthOf(body), lengthOf(body, -20)), body]),
    'a switch of protocols': raw(() => [
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ]),
    'headers that are too large': raw(({ body }) => [
      head(`x-large: ${'x'.repeat(200_000)}`, lengthOf(body)),
      body,
    ]),
    'an invalid status line': raw(({ body }) => ['ICY 200 fine\r\n\r\n', body]),
  }),
  ...ending(
    ['transient', 'timeout'],
    {
      'a slow drip': (answer) => drip(answer, ' ', 50),
      'headers that never come': () => {},
    },
    { slow: true },
  ),
  ...ending(['transient', 'truncated'], {
    'JSON cut at any byte': sends(({ body, random }) => body.subarray(0, random.whole(1, body.length - 1))),
    'gzip cut in the middle': sends(
      ({ body }) => {
        const packed = gzipSync(body);
        return packed.subarray(0, packed.length - 20);
      },
      { 'content-encoding': 'gzip' },
    ),
    'a content length that is too short': raw(({ body }) => [head(lengthOf(body, -20)), body]),
  }),
];

const redirects = [301, 302, 303, 307, 308].map(
  (status): Spoiler => ({
    name: `a redirect by ${status} to the same address`,
    ends: ['contract', 'redirect'],
    spoil: (answer) => {
      answer.response.writeHead(status, { location: answer.echo.split(' ')[0] ?? '/' }).end();
    },
  }),
);

const dates = ['Mon, 01 Jan 1926 00:00:00 GMT', 'Fri, 01 Jan 2126 00:00:00 GMT', 'yesterday', ''].map(
  (date): Spoiler => ({
    name: `the date "${date}"`,
    ends: 'right',
    spoil: sends(({ body }) => body, { date }),
  }),
);

const pageInfo = (value: Json): Spoil => data((all) => ({ ...all, pageInfo: value }));

const positions: Spoiler[] = (
  [
    ['no page info', 'page_info', data((all) => without(all, 'pageInfo'))],
    ['null for page info', 'page_info', pageInfo(null)],
    ['text for hasNextPage', 'page_info', pageInfo({ hasNextPage: 'true', endCursor: '3' })],
    ['a next page without a position', 'page_info', pageInfo({ hasNextPage: true })],
    ['a list for a position', 'page_info', pageInfo({ hasNextPage: true, endCursor: [3] })],
    ['the first position as the next one', 'repeated_cursor', pageInfo({ hasNextPage: true, endCursor: 0 })],
    [
      'a position of 400 digits',
      'repeated_cursor',
      pageInfo({ hasNextPage: true, endCursor: rawNumber('9'.repeat(400)) }),
    ],
    ['a position of 1e400', 'service_code', pageInfo({ hasNextPage: true, endCursor: rawNumber('1e400') })],
  ] as const
).map(([name, code, spoil]) => ({
  name,
  ends: ['contract', code],
  spoil,
  report: 'clicks_list',
  listsOnly: true,
}));

/** A page of records that are new each time, and the cursor of another page. */
export const endlessChain: Spoil = (answer) => {
  const { random } = answer;
  const records = Array.from({ length: 4 }, () => ({ transaction: random.next(), amount: random.next() }));
  const next = { list: records, count: records.length, cursor: String(random.next()) };
  return changed(() => ({ code: 0, msg: 'success', data: next }))(answer);
};

export const spoilers: readonly Spoiler[] = [...byEnd, ...redirects, ...dates, ...positions];

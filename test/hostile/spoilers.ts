/**
 * What a hostile service does to an answer, by name, and how a run must end that meets nothing else for a day: with
 * exactly the service's records (`right`), or with an error of this kind and code, and the day as it was before.
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
  /** Whose answers; `transaction_list` where it is missing. */
  report?: ReportName;
  /** It takes many megabytes or all the time that a request has: by itself, not among random ones. */
  slow?: true;
  /** 1 where it is missing. */
  timeoutSeconds?: number;
  /** A lookup has no list, and takes what it is given for the record. */
  listsOnly?: true;
}

const MEGABYTE = 2 ** 20;

/** Sends a body as a plain answer, with `headers` added. */
const sends =
  (bodyOf: (answer: Answer) => string | Buffer, headers: Record<string, string> = {}, status = 200): Spoil =>
  (answer) => {
    answer.response.writeHead(status, headers).end(bodyOf(answer));
  };

/** Sends the envelope changed. */
const changed = (change: (envelope: JsonObject) => Json): Spoil =>
  sends(({ envelope }) => stringifyJson(change(envelope)));

/** Sends the envelope with changed `data`. */
const data = (change: (data: JsonObject) => Json): Spoil =>
  changed((envelope) => ({ ...envelope, data: change(isJsonObject(envelope.data) ? envelope.data : {}) }));

/** Sends the envelope with a changed list of records. */
const list = (change: (records: Json[]) => Json): Spoil =>
  data((all) =>
    Object.fromEntries(
      Object.entries(all).map(([key, value]) => [key, Array.isArray(value) ? change(value) : value]),
    ),
  );

/** Writes bytes to the connection, without anything that HTTP asks for, and ends it. */
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

/** Writes without end, as fast as they are taken. */
async function flood({ response }: Answer, chunk: Buffer): Promise<void> {
  while (!response.destroyed && response.writable) {
    if (!response.write(chunk))
      await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
  }
}

const cut: Spoiler[] = [
  {
    name: 'a connection that ends in the middle of a body',
    ends: ['transient', 'network'],
    spoil: raw(({ body }) => [head(lengthOf(body)), body.subarray(0, body.length / 2)]),
  },
  {
    name: 'a connection that ends before the last byte',
    ends: ['transient', 'network'],
    spoil: raw(({ body }) => [head(lengthOf(body, 1)), body]),
  },
  {
    name: 'JSON cut at any byte',
    ends: ['transient', 'truncated'],
    spoil: sends(({ body, random }) => body.subarray(0, random.whole(1, body.length - 1))),
  },
  { name: 'an empty body', ends: ['contract', 'not_json'], spoil: sends(() => '') },
  {
    name: 'a reset connection',
    ends: ['transient', 'network'],
    spoil: ({ socket }) => void socket.resetAndDestroy(),
  },
  {
    name: 'a chunked body without its end',
    ends: ['transient', 'network'],
    spoil: raw(({ body }) => [
      head('transfer-encoding: chunked'),
      `${body.length.toString(16)}\r\n`,
      body,
      '\r\n',
    ]),
  },
];

const types: Spoiler[] = [
  {
    name: 'a list for an envelope',
    ends: ['contract', 'envelope'],
    spoil: changed((envelope) => [envelope]),
  },
  { name: 'null for an envelope', ends: ['contract', 'envelope'], spoil: changed(() => null) },
  {
    name: 'code 0.0',
    ends: ['contract', 'envelope'],
    spoil: changed((e) => ({ ...e, code: rawNumber('0.0') })),
  },
  { name: 'code false', ends: ['contract', 'envelope'], spoil: changed((e) => ({ ...e, code: false })) },
  { name: 'code null', ends: ['contract', 'envelope'], spoil: changed((e) => ({ ...e, code: null })) },
  {
    name: 'code 1e400',
    ends: ['contract', 'envelope'],
    spoil: changed((e) => ({ ...e, code: rawNumber('1e400') })),
  },
  { name: 'no code', ends: ['contract', 'envelope'], spoil: changed((e) => without(e, 'code')) },
  { name: 'no data', ends: ['contract', 'envelope'], spoil: changed((e) => without(e, 'data')) },
  { name: 'null for data', ends: ['contract', 'envelope'], spoil: changed((e) => ({ ...e, data: null })) },
  { name: 'text for data', ends: ['contract', 'envelope'], spoil: changed((e) => ({ ...e, data: 'none' })) },
  { name: 'null for the list', ends: ['contract', 'missing_list'], spoil: list(() => null), listsOnly: true },
  {
    name: 'an object for the list',
    ends: ['contract', 'missing_list'],
    spoil: list((all) => Object.fromEntries(all.entries())),
    listsOnly: true,
  },
  {
    name: 'a null among the records',
    ends: ['contract', 'bad_record'],
    spoil: list((all) => [...all, null]),
    listsOnly: true,
  },
  {
    name: 'text among the records',
    ends: ['contract', 'bad_record'],
    spoil: list((all) => ['none', ...all]),
    listsOnly: true,
  },
  {
    name: 'lists for records',
    ends: ['contract', 'bad_record'],
    spoil: list((all) => all.map((one) => [one])),
    listsOnly: true,
  },
  {
    name: 'no list',
    ends: ['contract', 'missing_list'],
    spoil: data((all) => without(all, 'list')),
    listsOnly: true,
  },
  { name: 'no count', ends: 'right', spoil: data((all) => without(all, 'count')), listsOnly: true },
  {
    name: 'count 1e400',
    ends: 'right',
    spoil: data((all) => ({ ...all, count: rawNumber('1e400') })),
    listsOnly: true,
  },
  {
    name: 'count of 400 digits',
    ends: 'right',
    spoil: data((all) => ({ ...all, count: rawNumber('9'.repeat(400)) })),
    listsOnly: true,
  },
  {
    name: 'an object for the cursor',
    ends: ['contract', 'bad_cursor'],
    spoil: data((all) => ({ ...all, cursor: {} })),
    listsOnly: true,
  },
  {
    name: 'true for the cursor',
    ends: ['contract', 'bad_cursor'],
    spoil: data((all) => ({ ...all, cursor: true })),
    listsOnly: true,
  },
  {
    name: 'a cursor of a megabyte',
    ends: ['contract', 'service_code'],
    spoil: data((all) => ({ ...all, cursor: 'x'.repeat(MEGABYTE) })),
    listsOnly: true,
  },
  {
    name: 'a record nested 100,000 deep',
    ends: ['contract', 'not_json'],
    spoil: sends(({ body }) => body.toString().replace('[', `[{"deep":${nested(100_000)}},`)),
    listsOnly: true,
  },
  {
    name: 'an envelope nested 100,000 deep',
    ends: ['contract', 'not_json'],
    spoil: sends(() => `{"code":0,"data":${nested(100_000)}}`),
  },
];

const errorsInside: Spoiler[] = [
  {
    name: 'an error without a code',
    ends: ['contract', 'envelope'],
    spoil: sends(({ echo }) => stringifyJson({ error: echo })),
  },
  {
    name: 'an error in data',
    ends: ['contract', 'missing_list'],
    spoil: sends(({ echo }) => stringifyJson({ code: 0, data: { error: echo } })),
    listsOnly: true,
  },
  {
    name: 'a code that is text',
    ends: ['contract', 'envelope'],
    spoil: sends(({ echo }) => stringifyJson({ code: 'E42', msg: echo })),
  },
  {
    name: 'a code of its own beside the records',
    ends: ['contract', 'service_code'],
    spoil: changed((e) => ({ ...e, code: 42 })),
  },
  {
    name: 'a negative code with what the request bore',
    ends: ['contract', 'service_code'],
    spoil: sends(({ echo }) => stringifyJson({ code: -1, msg: echo })),
  },
  {
    name: 'HTML',
    ends: ['contract', 'not_json'],
    spoil: sends(({ echo }) => `<!doctype html><title>${echo}</title>`, { 'content-type': 'text/html' }),
  },
];

const encodings: Spoiler[] = [
  {
    name: 'a wrong content type',
    ends: 'right',
    spoil: sends(({ body }) => body, { 'content-type': 'text/html; charset=utf-16' }),
  },
  { name: 'gzip', ends: 'right', spoil: sends(({ body }) => gzipSync(body), { 'content-encoding': 'gzip' }) },
  {
    name: 'brotli',
    ends: 'right',
    spoil: sends(({ body }) => brotliCompressSync(body), { 'content-encoding': 'br' }),
  },
  {
    name: 'gzip twice',
    ends: 'right',
    spoil: sends(({ body }) => gzipSync(gzipSync(body)), { 'content-encoding': 'gzip, gzip' }),
  },
  {
    name: 'a plain body that claims to be gzip',
    ends: ['transient', 'network'],
    spoil: sends(({ body }) => body, { 'content-encoding': 'gzip' }),
  },
  {
    name: 'gzip cut in the middle',
    ends: ['transient', 'truncated'],
    spoil: sends(
      ({ body }) => {
        const packed = gzipSync(body);
        return packed.subarray(0, packed.length - 20);
      },
      { 'content-encoding': 'gzip' },
    ),
  },
  {
    name: 'gzip with a flipped byte',
    ends: ['transient', 'network'],
    spoil: sends(
      ({ body }) => {
        const packed = gzipSync(body);
        packed.writeUInt8(packed.readUInt8(3) ^ 0xff, 3);
        return packed;
      },
      { 'content-encoding': 'gzip' },
    ),
  },
  {
    name: 'an encoding that does not exist',
    ends: 'right',
    spoil: sends(({ body }) => body, { 'content-encoding': 'zebra' }),
  },
  {
    name: 'Latin-1',
    ends: ['contract', 'not_utf8'],
    spoil: sends(({ body }) => Buffer.from(body.toString().replace('{', '{"note":"été",'), 'latin1')),
  },
  {
    name: 'UTF-16',
    ends: ['contract', 'not_utf8'],
    spoil: sends(({ body }) => Buffer.from(body.toString(), 'utf16le')),
  },
  {
    name: 'UTF-16 with its mark',
    ends: ['contract', 'not_utf8'],
    spoil: sends(({ body }) => Buffer.from(`\ufeff${body.toString()}`, 'utf16le')),
  },
  {
    name: 'UTF-8 with a mark',
    ends: 'right',
    spoil: sends(({ body }) => Buffer.concat([Buffer.from('\ufeff'), body])),
  },
];

const sizes: Spoiler[] = [
  {
    name: 'a page without end',
    ends: ['contract', 'too_large'],
    timeoutSeconds: 30,
    spoil: (answer) => {
      answer.response.write('{"code":0,"data":{"list":[{"a":"');
      return flood(answer, Buffer.alloc(MEGABYTE, 'x'));
    },
    slow: true,
  },
  {
    name: 'a gzip bomb',
    ends: ['contract', 'too_large'],
    timeoutSeconds: 30,
    // Members of a gzip file one behind the other are one text: all of it is never in the memory of the test.
    spoil: sends(
      () => Buffer.concat(new Array<Buffer>(256).fill(gzipSync(Buffer.alloc(MEGABYTE, ' '), { level: 1 }))),
      { 'content-encoding': 'gzip' },
    ),
    slow: true,
  },
  {
    name: 'an error page without end',
    ends: ['transient', 'http_500'],
    timeoutSeconds: 30,
    spoil: (answer) => {
      answer.response.writeHead(500);
      return flood(answer, Buffer.alloc(MEGABYTE, 'x'));
    },
    slow: true,
  },
  {
    name: 'a slow drip',
    ends: ['transient', 'timeout'],
    spoil: (answer) => drip(answer, ' ', 50),
    slow: true,
  },
  { name: 'headers that never come', ends: ['transient', 'timeout'], spoil: () => {}, slow: true },
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

const http: Spoiler[] = [
  {
    name: 'no content length, closed at the end',
    ends: 'right',
    spoil: raw(({ body }) => [head('connection: close'), body]),
  },
  {
    name: 'a content length that is too short',
    ends: ['transient', 'truncated'],
    spoil: raw(({ body }) => [head(lengthOf(body, -20)), body]),
  },
  {
    name: 'a content length that is no number',
    ends: ['transient', 'network'],
    spoil: raw(({ body }) => [head('content-length: many'), body]),
  },
  {
    name: 'two content lengths',
    ends: ['transient', 'network'],
    spoil: raw(({ body }) => [head(lengthOf(body), lengthOf(body, -20)), body]),
  },
  {
    name: 'early hints before the answer',
    ends: 'right',
    spoil: raw(({ body }) => [
      'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n',
      head(lengthOf(body), 'connection: close'),
      body,
    ]),
  },
  {
    name: 'a switch of protocols',
    ends: ['transient', 'network'],
    spoil: raw(() => ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n']),
  },
  { name: 'status 204', ends: ['contract', 'not_json'], spoil: sends(() => '', {}, 204) },
  { name: 'status 304', ends: ['contract', 'redirect'], spoil: sends(() => '', {}, 304) },
  {
    name: 'headers that are too large',
    ends: ['transient', 'network'],
    spoil: raw(({ body }) => [head(`x-large: ${'x'.repeat(200_000)}`, lengthOf(body)), body]),
  },
  {
    name: 'a status line that is none',
    ends: ['transient', 'network'],
    spoil: raw(({ body }) => ['ICY 200 fine\r\n\r\n', body]),
  },
  {
    name: 'an answer that is followed by another one',
    ends: 'right',
    spoil: raw(({ body }) => [head(lengthOf(body)), body, head('content-length: 2'), '{}']),
  },
  { name: 'HTTP/1.0', ends: 'right', spoil: raw(({ body }) => ['HTTP/1.0 200 OK\r\n\r\n', body]) },
];

const statuses: Spoiler[] = [
  { name: 'status 401', ends: ['auth', 'http_401'], spoil: sends(({ echo }) => echo, {}, 401) },
  { name: 'status 404 without a body', ends: ['config', 'http_404'], spoil: sends(() => '', {}, 404) },
  { name: 'status 418', ends: ['contract', 'http_418'], spoil: sends(({ echo }) => echo, {}, 418) },
  { name: 'status 500', ends: ['transient', 'http_500'], spoil: sends(({ echo }) => echo, {}, 500) },
  {
    name: 'a Retry-After of 10^30 seconds',
    ends: ['transient', 'http_429'],
    spoil: sends(() => '', { 'retry-after': `1${'0'.repeat(30)}` }, 429),
  },
  {
    name: 'a Retry-After in another century',
    ends: ['transient', 'http_503'],
    spoil: sends(() => '', { 'retry-after': 'Fri, 01 Jan 2126 00:00:00 GMT' }, 503),
  },
  {
    name: 'a Retry-After that is over',
    ends: ['transient', 'http_503'],
    spoil: sends(() => '', { 'retry-after': 'Mon, 01 Jan 1926 00:00:00 GMT' }, 503),
  },
];

const dates = ['Mon, 01 Jan 1926 00:00:00 GMT', 'Fri, 01 Jan 2126 00:00:00 GMT', 'yesterday', ''].map(
  (date): Spoiler => ({
    name: `the date "${date}"`,
    ends: 'right',
    spoil: sends(({ body }) => body, { date }),
  }),
);

/** Sends a changed `pageInfo`. */
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

/** A page of records that are new each time, and the cursor of another one. */
export const endlessChain: Spoil = (answer) => {
  const { random } = answer;
  const records = Array.from({ length: 4 }, () => ({ transaction: random.next(), amount: random.next() }));
  const next = { list: records, count: records.length, cursor: String(random.next()) };
  return changed(() => ({ code: 0, msg: 'success', data: next }))(answer);
};

/** Every spoiler. */
export const spoilers: readonly Spoiler[] = [
  ...cut,
  ...types,
  ...positions,
  ...errorsInside,
  ...encodings,
  ...sizes,
  ...redirects,
  ...http,
  ...statuses,
  ...dates,
];

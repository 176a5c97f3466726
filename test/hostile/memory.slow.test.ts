/** I12: a response below the limit of bytes that is huge once it is parsed, read by a run with the heap of a function. */
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/json.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const execute = promisify(execFile);
const MEGABYTE = 2 ** 20;
/** A little below what a response may have. */
const FULL = 32 * MEGABYTE - 200;
const MAX_PEAK_MB = 600;
/** V8's own choice for the memory of a function, 1,769 MB. */
const HEAP_OF_FUNCTION = ['--max-old-space-size=1592', '--max-semi-space-size=88'];

function full(piece: string): string {
  return Array(Math.floor(FULL / (piece.length + 1)))
    .fill(piece)
    .join(',');
}

/** As many different pieces as there is room for, at most so many. */
function different(piece: (index: number) => string, most = Number.POSITIVE_INFINITY): string {
  const pieces: string[] = [];
  for (let bytes = 0; pieces.length < most; ) {
    const next = piece(pieces.length);
    bytes += next.length + 1;
    if (bytes > FULL) break;
    pieces.push(next);
  }
  return pieces.join(',');
}

function page(list: string, beside = ''): string {
  return `{"code":0,"msg":"","data":{"list":[${list}],"cursor":null${beside}}}`;
}

const key = (index: number) => `"k${index.toString(36)}":0`;
const order = (index: number) =>
  `{"transid":"9${String(index).padStart(17, '0')}","status":"${['new', 'void'][index % 2]}","publisher_id":"${index % 50}",` +
  `"publisher_name":"Publisher ${index % 50}","amount":${index % 1000}.10,"commission":${index % 80}.05,"currency":"USD",` +
  `"note":null,"created":"2026-03-09T10:00:00Z","f1":"value ${index % 1000}","f2":${index},"f3":true,"f4":"${index * 31}",` +
  `"f5":"US","f6":"a longer text that repeats in all rows","f7":null,"f8":"B0${index % 997}","f9":1,"f10":"x","f11":"y"}`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let server: Server;
let body: Buffer;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' });
      response.end(body);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});
afterAll(() => {
  server.close();
});
afterEach(() => folder.remove());

/** A run that reads one day of transactions from a service that responds with this text. */
async function readingOf(text: string) {
  body = gzipSync(text);
  folder = await temporaryFolder();
  const { port } = Object(server.address());
  const run = fileURLToPath(new URL('one-run.ts', import.meta.url));
  const url = `http://127.0.0.1:${port}/api`;
  const args = [...HEAP_OF_FUNCTION, '--no-warnings', run, url, folder.path, 'transaction_list'];
  const { stdout } = await execute(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } });
  const { peakMb, ...ended } = parsedObject(stdout);
  expect(peakMb).toBeGreaterThan(0);
  expect(peakMb).toBeLessThan(MAX_PEAK_MB);
  return ended;
}

function parsedObject(text: string): JsonObject {
  const parsed = parseJson(text);
  if (isJsonObject(parsed)) return parsed;
  throw new TypeError(`a run has printed ${text}`);
}

describe('I12: a response that is huge once it is parsed', () => {
  it.each<[string, () => string, code: string]>([
    ['empty objects at the top', () => `{"x":[${full('{}')}]}`, 'too_large'],
    ['empty objects beside the records', () => page('', `,"x":{"y":[${full('{}')}]}`), 'too_large'],
    ['empty objects beside data', () => `${page('').slice(0, -1)},"x":[${full('{}')}]}`, 'too_large'],
    ['empty records', () => page(full('{}')), 'too_large'],
    ['tiny records', () => page(full('{"a":1}')), 'too_large'],
    ['records and a null', () => page(`${full('{}')},null`), 'too_large'],
    ['different fields of one record', () => page(`{${different(key)}}`), 'too_large'],
    ['different fields of all records', () => page(different((index) => `{${key(index)}}`)), 'too_large'],
    ['more fields than a page has', () => page(`{${different(key, 60_000)}}`), 'too_many_fields'],
    ['different keys at the top', () => `{${different(key)}}`, 'too_large'],
    ['different keys of data', () => page('', `,${different(key)}`), 'too_large'],
    ['objects in a field', () => page(`{"a":[${full('{}')}]}`), 'too_large'],
    ['lists in a field', () => page(`{"a":[${full('[]')}]}`), 'too_large'],
    ['repeated keys', () => page(`{${full('"a":1')}}`), 'too_large'],
    ['numbers that lose digits', () => page(`{"a":[${full('1.10')}]}`), 'too_large'],
    ['an escaped key before tiny records', () => page(`{"\\u0061":1},${full('{"a":1}')}`), 'too_large'],
    ['nesting', () => `{"x":${'['.repeat(FULL / 2)}${']'.repeat(FULL / 2)}}`, 'too_large'],
    ['a message of digits', () => `{"code":7,"msg":"${'0123456789abcdef'.repeat(FULL / 16)}"}`, 'too_large'],
    ['hexadecimal digits', () => '0123456789abcdef'.repeat(FULL / 16), 'not_json'],
    ['a page of the web', () => `<html>${'<p>x</p>'.repeat(FULL / 8)}</html>`, 'not_json'],
  ])('of %s fails its day', async (_name, text, code) => {
    expect(await readingOf(text())).toEqual({ outcome: 'failed', rows: 0, code });
  });

  it.each<[string, () => string, rows: number]>([
    ['half a million records', () => page(different((index) => `{"a":${index}}`, 500_000)), 500_000],
    ['40,000 fields', () => page(`{${different(key, 40_000)}}`), 1],
    ['one text', () => page(`{"a":"${'€'.repeat(FULL / 3)}"}`), 1],
    ['a million values in a field', () => page(`{"a":[${Array(1_000_000).fill('1.10').join(',')}]}`), 1],
  ])('of %s is read', async (_name, text, rows) => {
    expect(await readingOf(text())).toEqual({ outcome: 'published', rows });
  });

  it('of ordinary records is read, as large as a response may be', async () => {
    const ended = await readingOf(page(different(order)));
    expect(ended).toEqual({ outcome: 'published', rows: expect.any(Number) });
    expect(ended.rows).toBeGreaterThan(80_000);
  });
});

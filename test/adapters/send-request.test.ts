import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { type AddressInfo, type Server, type Socket, createServer as createTcpServer } from 'node:net';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import type { HttpHeaders, HttpRequest, HttpResult } from '../../shared/ports.ts';
import { runs } from '../fixtures/property-runs.ts';

const MAX_BYTES = 32 * 2 ** 20;
const TOO_LARGE = Buffer.alloc(MAX_BYTES + 1);
/** The lowest effort, because 32 MB are compressed several times. */
const gzipped = (bytes: Uint8Array) => gzipSync(bytes, { level: 1 });
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/api?token=abc`;
}

async function httpServer(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer);
  open.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return listening(server);
}

/** A server that receives each request as it arrives, and writes anything to its connection. */
async function tcpServer(onRequest: (socket: Socket, ofConnection: number) => void) {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    let requests = 0;
    socket.on('error', () => {});
    socket.on('data', () => onRequest(socket, ++requests));
  });
  open.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return listening(server);
}

const plain = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

interface Limits {
  timeoutMs?: number;
  signal?: AbortSignal;
  onHeaders?: (headers: HttpHeaders) => void;
}

// Long enough for a busy machine; tests of timeouts set their own.
const send = (url: string, { timeoutMs = 60_000, signal, onHeaders = () => {} }: Limits = {}) =>
  sendRequest({ url, method: 'GET', headers: {}, body: undefined }, { timeoutMs, signal, onHeaders });

const textOf = (result: HttpResult) => ('body' in result ? Buffer.from(result.body).toString() : result);

describe('a request', () => {
  it.each<[HttpRequest['method'], string | undefined]>([
    ['POST', '{"name":"Müller"}'],
    ['GET', undefined],
  ])('by %s arrives with its query, headers and body, and its response is returned', async (method, body) => {
    const arrived: unknown[] = [];
    const url = await httpServer(async (request, response) => {
      const sent = Buffer.concat(await request.toArray()).toString();
      arrived.push([request.method, request.url, request.headers['x-acme-date'], sent]);
      response.writeHead(202, { Date: 'today', 'Retry-After': '7', Age: '3' }).end('öffentlich');
    });
    const result = await sendRequest(
      { url, method, headers: { 'X-ACME-DATE': 'now' }, body },
      { timeoutMs: 60_000, signal: undefined, onHeaders: () => {} },
    );
    expect(arrived).toEqual([[method, '/api?token=abc', 'now', body ?? '']]);
    expect(result).toMatchObject({ status: 202, headers: { date: 'today', 'retry-after': '7', age: '3' } });
    expect(textOf(result)).toBe('öffentlich');
  });

  it('that is redirected is not sent elsewhere', async () => {
    let requests = 0;
    const url = await httpServer((_request, response) => {
      requests += 1;
      response.writeHead(302, { Location: '/elsewhere' }).end();
    });
    expect(await send(url)).toMatchObject({ status: 302 });
    expect(requests).toBe(1);
  });

  it('reports the headers before the body has arrived', async () => {
    const told = Promise.withResolvers<HttpHeaders>();
    const url = await httpServer(async (_request, response) => {
      response.writeHead(200, { Date: 'today' }).flushHeaders();
      await told.promise;
      response.end('whole');
    });
    expect(textOf(await send(url, { onHeaders: told.resolve }))).toBe('whole');
    expect(await told.promise).toMatchObject({ date: 'today' });
  });
});

describe('a connection', () => {
  it('is kept for the next request', async () => {
    const connections = new Set<Socket>();
    const url = await httpServer((request, response) => {
      connections.add(request.socket);
      response.end('one');
    });
    for (let request = 0; request < 5; request += 1) expect(textOf(await send(url))).toBe('one');
    expect(connections.size).toBe(1);
  });

  it('that is closed when the next request arrives fails it, and the next connection is new', async () => {
    const url = await tcpServer((socket, ofConnection) => {
      if (ofConnection === 1) socket.write(plain('one'));
      else socket.destroy();
    });
    expect(textOf(await send(url))).toBe('one');
    expect(await send(url)).toMatchObject({ failed: 'ECONNRESET' });
    expect(textOf(await send(url))).toBe('one');
  });
});

describe('a response that does not arrive whole', () => {
  it.each<[string, string, string]>([
    ['no HTTP', 'hello\r\n\r\n', 'HPE_INVALID_CONSTANT'],
    ['fewer bytes than announced', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"code":0}', 'cut_off'],
    [
      'a last chunk that is missing',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{"code":0}\r\n',
      'cut_off',
    ],
    [
      'a chunk without a length',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{"code":0}\r\nzz\r\n',
      'cut_off',
    ],
    [
      'a switch of protocols',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      'ECONNRESET',
    ],
    ['the beginning of its headers', 'HTTP/1.1 200 OK\r\nContent-', 'ECONNRESET'],
  ])('I8: is a failure: %s', async (_name, sent, failed) => {
    const url = await tcpServer((socket) => socket.end(sent));
    expect(await send(url)).toMatchObject({ failed });
  });

  it.each([
    ['with', 'Content-Length: 100', 'after 10 bytes of the 100 that Content-Length promised'],
    ['without', 'Transfer-Encoding: chunked', 'after 10 bytes'],
  ])('shows how many bytes came, %s a promised length', async (_name, header, detail) => {
    const chunk = header.startsWith('T') ? 'a\r\n' : '';
    const url = await tcpServer((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n${chunk}{"code":0}`),
    );
    expect(await send(url)).toEqual({ failed: 'cut_off', detail });
  });

  it.each(['before its headers', 'within its body'])('I8: fails after the timeout: %s', async (where) => {
    const url = await httpServer((_request, response) => {
      if (where === 'within its body') response.writeHead(200).write('{"code":0}');
    });
    expect(await send(url, { timeoutMs: 50 })).toMatchObject({ failed: 'timeout' });
  });

  it.each(['before the request', 'before its headers', 'within its body'])(
    'I8: fails if it is stopped %s',
    async (when) => {
      const stop = new AbortController();
      if (when === 'before the request') stop.abort();
      const url = await httpServer((_request, response) => {
        if (when === 'within its body') response.writeHead(200).write('{"code":0}');
        else stop.abort();
      });
      // The last bytes may arrive at this very moment.
      const onHeaders = () => void setImmediate(() => stop.abort());
      expect(await send(url, { signal: stop.signal, onHeaders })).toEqual({ failed: 'aborted' });
    },
  );

  it('I8: is a failure even if its last byte arrived before it was stopped', async () => {
    const stop = new AbortController();
    const url = await tcpServer((socket) => socket.write(plain('{"code":0}')));
    const onHeaders = () => stop.abort();
    expect(await send(url, { signal: stop.signal, onHeaders })).toEqual({ failed: 'aborted' });
  });

  it('of an error still has its status', async () => {
    const url = await tcpServer((socket) =>
      socket.end('HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nContent-Length: 100\r\n\r\nbusy'),
    );
    const result = await send(url);
    expect(result).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(textOf(result)).toBe('');
  });

  it.each<[string, Partial<HttpRequest>, string]>([
    ['a host that is not there', { url: 'http://service.invalid/' }, 'ENOTFOUND'],
    ['a port without a listener', { url: 'http://127.0.0.1:1/' }, 'ECONNREFUSED'],
    ['a header that cannot be sent', { headers: { 'X-ACME-DATE': 'two\nlines' } }, 'ERR_INVALID_CHAR'],
    ['TLS of a server without TLS', { url: 'https://' }, 'EPROTO'],
  ])('never rejects: %s', async (_name, change, failed) => {
    const url = await httpServer((_request, response) => void response.end());
    const request = { url, method: 'GET', headers: {}, body: undefined, ...change } as const;
    if (request.url === 'https://') request.url = url.replace('http:', 'https:');
    const result = await sendRequest(request, { timeoutMs: 60_000, signal: undefined, onHeaders: () => {} });
    // Some resolvers report that they are unavailable now.
    expect(failed === 'ENOTFOUND' ? ['ENOTFOUND', 'EAI_AGAIN'] : [failed]).toContain(
      'failed' in result ? result.failed : result,
    );
  });
});

describe('a body', () => {
  const encodings: [string, (bytes: Uint8Array) => Uint8Array][] = [
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['br', brotliCompressSync],
    ['identity', (bytes) => bytes],
    ['zebra', (bytes) => bytes],
  ];

  it.each(encodings)('in the encoding %s is returned as its own bytes', async (encoding, encode) => {
    let body: Uint8Array = Buffer.of();
    const url = await httpServer((_request, response) =>
      response.writeHead(200, { 'Content-Encoding': encoding }).end(encode(body)),
    );
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async (bytes) => {
        body = bytes;
        const result = await send(url);
        expect('body' in result && Buffer.from(result.body)).toEqual(Buffer.from(bytes));
      }),
      runs(20),
    );
  });

  it.each(['gzip', 'br'])('that claims to be %s and is not is a failure', async (encoding) => {
    const url = await httpServer((_request, response) =>
      response.writeHead(200, { 'Content-Encoding': encoding }).end('{"code":0,"data":{}}'),
    );
    expect(await send(url)).toEqual({ failed: expect.stringMatching(/^(Z_|ERR_)/) });
  });

  it.each<[string, string, Uint8Array]>([
    ['plain', 'identity', TOO_LARGE],
    ['a bomb of gzip', 'gzip', gzipped(TOO_LARGE)],
    ['a bomb of brotli', 'br', brotliCompressSync(TOO_LARGE, BROTLI)],
  ])('larger than any page is refused: %s', async (_name, encoding, body) => {
    const url = await httpServer((_request, response) =>
      response.writeHead(200, { 'Content-Encoding': encoding }).end(body),
    );
    expect(await send(url)).toEqual({ tooLargeBytes: MAX_BYTES });
  });

  it('of the largest size is returned', async () => {
    const url = await httpServer((_request, response) =>
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipped(Buffer.alloc(MAX_BYTES))),
    );
    const result = await send(url);
    expect('body' in result && result.body.length).toBe(MAX_BYTES);
  });
});

/**
 * Sends the requests of the service's client by Node's own HTTP client, which takes a third of the CPU time of `fetch`
 * and is loaded in a fraction of the time. Node's global agent keeps connections: it closes one that was idle for five
 * seconds, lets none keep the process alive, and obeys `NODE_USE_ENV_PROXY` as `fetch` does. Here a body is decompressed,
 * its size limited, and a part of it never taken for the whole (I8). A failure is told by its code alone, because errors
 * can hold the address, and the address holds the token (I9).
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip, inflate, inflateRaw } from 'node:zlib';
import type { HttpRequest, HttpResult, SendRequest } from '../ports.ts';
import { textOf } from './error-fields.ts';

// To import it would load `fetch`, because it exports WebSocket too.
const http = process.getBuiltinModule('node:http');

const MAX_BODY_BYTES = 32 * 2 ** 20;
/** zlib's own code for what is larger than it may be. */
const TOO_LARGE = 'ERR_BUFFER_TOO_LARGE';
const HEADERS = { Accept: '*/*', 'Accept-Encoding': 'gzip, deflate, br', 'User-Agent': 'brand-reports' };

export const sendRequest: SendRequest = async (request, { timeoutMs, signal, onHeaders }) => {
  if (signal?.aborted) return { failed: ABORTED };
  let client: ClientRequest | undefined;
  let stopped: string | undefined;
  // Without an AbortSignal of its own: http would watch every stream of the request for it, which costs a third of all.
  const stop = (reason: string) => {
    stopped ??= reason;
    client?.destroy();
  };
  const onAbort = () => stop(ABORTED);
  const timer = setTimeout(() => stop('timeout'), timeoutMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    client = openRequest(request);
    const response = await responseTo(client, request.body);
    onHeaders(response.headers);
    return await wholeOf(response, () => stopped !== undefined);
  } catch (thrown) {
    if (stopped !== undefined) return { failed: stopped };
    return { failed: codeOf(thrown), ...(thrown instanceof StaleConnection && { isStale: true }) };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
};

const ABORTED = 'aborted';

function openRequest({ url, method, headers }: HttpRequest): ClientRequest {
  // Loaded when it is used, because with it Node reads the certificates of all authorities.
  const { request: open } = url.startsWith('https:') ? process.getBuiltinModule('node:https') : http;
  return open(url, { method, headers: { ...HEADERS, ...headers } });
}

function responseTo(client: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let bytesBefore = 0;
  client.on('socket', ({ bytesRead }) => {
    bytesBefore = bytesRead;
  });
  let isAnswered = false;
  client.on('response', (response) => {
    isAnswered = true;
    resolve(response);
  });
  client.on('error', (error) => {
    const isUnanswered = client.socket?.bytesRead === bytesBefore;
    reject(
      client.reusedSocket && isUnanswered && isReset(error) ? new StaleConnection(codeOf(error)) : error,
    );
  });
  client.on('close', () => {
    // An answer that switches protocols is neither a response nor an error. An error with its stack is not made for nothing.
    if (!isAnswered) reject(failure('ECONNRESET'));
  });
  client.end(body);
  return promise;
}

function isReset(error: Error): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

class StaleConnection extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The body of an error only serves its message: where it cannot be read, the status counts all the same. */
async function wholeOf(response: IncomingMessage, isStopped: () => boolean): Promise<HttpResult> {
  const { statusCode: status = 0, headers } = response;
  try {
    const sent = await bytesOf(response);
    const body = await decompressed(sent, headers['content-encoding'], isStopped);
    return { status, headers, body };
  } catch (thrown) {
    if (status < 200 || status > 299) return { status, headers, body: new Uint8Array() };
    if (codeOf(thrown) === TOO_LARGE) return { tooLargeBytes: MAX_BODY_BYTES };
    throw thrown;
  }
}

function bytesOf(response: IncomingMessage): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isWhole = false;
  response.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes <= MAX_BODY_BYTES) return;
    reject(failure(TOO_LARGE));
    response.destroy();
  });
  response.on('end', () => {
    isWhole = true;
    resolve(Buffer.concat(chunks));
  });
  for (const event of ['error', 'close'])
    response.on(event, () => {
      // A whole response closes too, and an error with its stack costs more than reading it.
      if (!isWhole) reject(failure('cut_off'));
    });
  return promise;
}

type Decompress = (bytes: Uint8Array) => Promise<Uint8Array>;

// As in `fetch`, compressed data whose end is missing is no error: the JSON in it shows whether it is whole.
const zlibOptions = { maxOutputLength: MAX_BODY_BYTES, finishFlush: constants.Z_SYNC_FLUSH };
const brotliOptions = { maxOutputLength: MAX_BODY_BYTES, finishFlush: constants.BROTLI_OPERATION_FLUSH };
const decompressGzip: Decompress = (bytes) => promisify(gunzip)(bytes, zlibOptions);
const decompressors = new Map<string, Decompress>([
  ['gzip', decompressGzip],
  ['x-gzip', decompressGzip],
  ['br', (bytes) => promisify(brotliDecompress)(bytes, brotliOptions)],
  // Some servers leave out the header of zlib.
  [
    'deflate',
    (bytes) => promisify(((bytes[0] ?? 0) & 0x0f) === 8 ? inflate : inflateRaw)(bytes, zlibOptions),
  ],
]);

/** A body in an encoding that nobody knows stays as it is. */
async function decompressed(
  bytes: Uint8Array,
  encodings: string | undefined,
  isStopped: () => boolean,
): Promise<Uint8Array> {
  const steps = (encodings ?? '').split(',').map((name) => decompressors.get(name.trim().toLowerCase()));
  let body = bytes;
  for (const step of steps.reverse()) {
    // A response whose request was stopped may end as if it were whole.
    if (isStopped()) throw failure('cut_off');
    if (step && body.length > 0) body = await step(body);
  }
  return body;
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function codeOf(thrown: unknown): string {
  const code = textOf(thrown, 'code');
  return code === 'cut_off' || /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? code : 'network';
}

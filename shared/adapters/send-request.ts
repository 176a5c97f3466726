/**
 * Sends the requests of the service's client with Node's own HTTP client, which takes a third of the CPU time of `fetch` and
 * loads in a fraction of the time. Node's global agent keeps connections: it closes a connection after five idle seconds,
 * lets no connection keep the process alive, and obeys `NODE_USE_ENV_PROXY` as `fetch` does. This module decompresses a body,
 * limits its size, and never returns a part of a body as the whole (I8). It reports a failure by its code and its own words, because
 * errors can contain the address, and the address contains the token (I9).
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip } from 'node:zlib';
import type { HttpRequest, HttpResult, SendRequest } from '../ports.ts';
import { textOf } from './error-fields.ts';

// An import would load `fetch`, because node:http exports WebSocket too.
const http = process.getBuiltinModule('node:http');

const MAX_BODY_BYTES = 32 * 2 ** 20;
/** zlib's own code for output above the limit. */
const TOO_LARGE = 'ERR_BUFFER_TOO_LARGE';
const HEADERS = { Accept: '*/*', 'Accept-Encoding': 'gzip, br', 'User-Agent': 'brand-reports' };

export const sendRequest: SendRequest = async (request, { timeoutMs, signal, onHeaders }) => {
  if (signal?.aborted) return { failed: ABORTED };
  let client: ClientRequest | undefined;
  let stopped: string | undefined;
  // No AbortSignal of its own: http would watch every stream of the request for it, which costs a third of all CPU
  // time.
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
    const failed = stopped ?? codeOf(thrown);
    const detail =
      failed === ABORTED ? undefined : textOf(thrown, 'detail') || detailOf(request, failed, thrown);
    return { failed, ...(detail && { detail }) };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
};

const ABORTED = 'aborted';

function openRequest({ url, method, headers }: HttpRequest): ClientRequest {
  // Loaded on the first use, because loading it makes Node read the certificates of all authorities.
  const { request: open } = url.startsWith('https:') ? process.getBuiltinModule('node:https') : http;
  return open(url, { method, headers: { ...HEADERS, ...headers } });
}

function responseTo(client: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let isAnswered = false;
  client.on('response', (response) => {
    isAnswered = true;
    resolve(response);
  });
  client.on('error', reject);
  client.on('close', () => {
    // A response that switches protocols emits neither `response` nor `error`. The error is created only if needed,
    // because its stack is expensive.
    if (!isAnswered) reject(failure('ECONNRESET'));
  });
  client.end(body);
  return promise;
}

/** An error's body only serves its message: if it cannot be read, the status still counts. */
async function wholeOf(response: IncomingMessage, isStopped: () => boolean): Promise<HttpResult> {
  const { statusCode: status = 0, headers } = response;
  try {
    const sent = await bytesOf(response);
    // The response of a stopped request may end as if it were whole.
    if (isStopped()) throw failure('cut_off');
    const body = await decompressed(sent, headers['content-encoding']);
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
      // A whole response closes too, and creating an error with its stack costs more than reading the response.
      if (isWhole) return;
      const promised = response.headers['content-length'];
      const limit = promised === undefined ? '' : ` of the ${Number(promised)} that Content-Length promised`;
      reject(failure('cut_off', `after ${bytes} bytes${limit}`));
    });
  return promise;
}

/** Only the encodings that requests accept. A body in another encoding stays as it is, and cannot be parsed. */
async function decompressed(bytes: Uint8Array, encoding = ''): Promise<Uint8Array> {
  const maxOutputLength = MAX_BODY_BYTES;
  if (bytes.length === 0) return bytes;
  // As in `fetch`, truncated compressed data is no error: the JSON in it shows whether it is whole.
  switch (encoding.trim().toLowerCase()) {
    case 'gzip':
      return promisify(gunzip)(bytes, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH });
    case 'br':
      return promisify(brotliDecompress)(bytes, {
        maxOutputLength,
        finishFlush: constants.BROTLI_OPERATION_FLUSH,
      });
    default:
      return bytes;
  }
}

function failure(code: string, detail?: string): Error {
  return Object.assign(new Error(code), { code, detail });
}

/** More about a request without a response: what a person can correct on this machine. */
function detailOf({ url }: HttpRequest, failed: string, thrown: unknown): string {
  const isPlain = url.startsWith('http:');
  const message = textOf(thrown, 'message');
  // Of OpenSSL, and of a proxy that refuses to connect.
  const [, reason = ''] = /:SSL routines:[^:]*:([a-z0-9 ]+):/.exec(message) ?? [];
  const [proxyStatus = ''] = failed === 'ERR_PROXY_TUNNEL' ? (/\bHTTP\/1\.\d \d{3}/.exec(message) ?? []) : [];
  const isReset = isPlain && /^(ECONNRESET|HPE_)/.test(failed);
  const scheme = isReset ? 'if the service uses TLS, begin baseUrl with https:' : '';
  return [reason, proxyStatus, scheme, proxyText(isPlain ? 'HTTP_PROXY' : 'HTTPS_PROXY')]
    .filter(Boolean)
    .join('; ');
}

function proxyText(name: string): string {
  const { env } = process;
  if (!env[name] && !env[name.toLowerCase()]) return '';
  return env.NODE_USE_ENV_PROXY === '1'
    ? `through the proxy of ${name}, unless NO_PROXY names the host`
    : `${name} is set, but Node uses it only with NODE_USE_ENV_PROXY=1`;
}

function codeOf(thrown: unknown): string {
  const code = textOf(thrown, 'code');
  return code === 'cut_off' || /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? code : 'network';
}

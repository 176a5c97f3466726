import { isUtf8 } from 'node:buffer';
import { type Json, type JsonObject, numberText, stringifyJson } from '../json.ts';

/** A response: the body as text, empty where the body of an error could not be read. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  text: string;
  isUtf8: boolean;
}

/** `failed`: no whole response came; e.g. `timeout`, `cut_off` or the network's own `ECONNRESET`. */
export type HttpResult = HttpResponse | { failed: string } | { tooLargeBytes: number };

/** One signed request. */
export interface HttpRequest {
  url: string;
  method: 'POST' | 'GET';
  headers: Record<string, string>;
  body: string | undefined;
}

/** Routing parameters are always in the query string; the action's fields too where the method is GET (docs/interface.md, section 4). */
export function buildRequest(
  { baseUrl, method }: { baseUrl: string; method: HttpRequest['method'] },
  routing: Readonly<Record<string, string>>,
  fields: JsonObject,
  headers: Record<string, string>,
): HttpRequest {
  const parameters = { ...routing, ...(method === 'GET' && textFields(fields)) };
  const query = Object.entries(parameters).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const url = new URL(baseUrl);
  url.search = [url.search.slice(1), ...query].filter((part) => part !== '').join('&');
  return { url: url.href, method, headers, body: method === 'POST' ? stringifyJson(fields) : undefined };
}

// A slash is allowed in a query string, and docs/interface.md writes actions with a slash.
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%2F', '/');
}

function textFields(fields: JsonObject): Record<string, string> {
  const text = (value: Json) =>
    typeof value === 'string' ? value : (numberText(value) ?? stringifyJson(value));
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, text(value)]));
}

const MAX_BODY_BYTES = 32 * 2 ** 20;

/**
 * Sends one request and reads the whole response within `timeoutMs`. Never rejects and never follows a redirect.
 * @param onHeaders called as soon as status and headers have arrived
 */
export async function send(
  { url, ...init }: HttpRequest,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  onHeaders: (headers: Headers) => void,
): Promise<HttpResult> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const either = signal ? AbortSignal.any([timeout, signal]) : timeout;
  const failed = (error: unknown, otherwise: string) => ({
    failed: timeout.aborted ? 'timeout' : (networkCode(error) ?? otherwise),
  });
  let response: Response;
  try {
    response = await fetch(url, { ...init, redirect: 'manual', signal: either });
  } catch (error) {
    return failed(error, 'network');
  }
  const { status, headers } = response;
  onHeaders(headers);
  try {
    const body = await readBody(response);
    if (body === 'too large')
      return response.ok ? { tooLargeBytes: MAX_BODY_BYTES } : { status, headers, text: '', isUtf8: true };
    return { status, headers, text: new TextDecoder().decode(body), isUtf8: isUtf8(body) };
  } catch (error) {
    return response.ok ? failed(error, 'cut_off') : { status, headers, text: '', isUtf8: true };
  }
}

async function readBody(response: Response): Promise<Uint8Array | 'too large'> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return 'too large';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** I9: the code alone, because an error of fetch and its causes can hold the address, and the address holds the token. */
function networkCode(error: unknown): string | undefined {
  for (let link = error, depth = 0; depth < 5 && typeof link === 'object' && link !== null; depth += 1) {
    if ('code' in link && typeof link.code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(link.code))
      return link.code;
    link = 'cause' in link ? link.cause : undefined;
  }
  return undefined;
}

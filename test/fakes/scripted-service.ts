/**
 * Answers each request over real HTTP as the test's script defines.
 * Faults: a body that is cut off, a connection that is reset, a response that never comes.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type Json, parseJson, stringifyJson } from '../../shared/base/json.ts';
import { startHttpServer } from './http-server.ts';

export interface Received {
  /** The sequence number of the request, from 1. */
  number: number;
  method: string | undefined;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The body as JSON, or as text if it is not JSON. */
  body: Json;
  text: string;
}

/** `cutOff`: fewer bytes than the announced length. `reset`: the connection breaks. `hang`: no answer ever comes. */
export type Reply =
  | { json: Json; status?: number; headers?: Record<string, string> }
  | { text: string | Uint8Array; status?: number; headers?: Record<string, string> }
  | { cutOff: string }
  | 'reset'
  | 'hang';

/** Sends no `Date` unless the script sets one. */
export async function startScriptedService(script: (received: Received) => Reply | Promise<Reply>) {
  const received: Received[] = [];
  const server = await startHttpServer(async (request, sent, response) => {
    const text = sent.toString();
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://service.invalid');
    const { method, headers } = request;
    const one = {
      number: received.length + 1,
      method,
      path: pathname,
      query: searchParams,
      headers,
      body: parsed(text),
      text,
    };
    received.push(one);
    const reply = await script(one);
    response.sendDate = false;
    if (reply === 'hang') return;
    if (reply === 'reset') {
      request.socket.resetAndDestroy();
    } else if ('cutOff' in reply) {
      response.writeHead(200, { 'Content-Length': Buffer.byteLength(reply.cutOff) + 100 });
      response.write(reply.cutOff, () => request.socket.destroy());
    } else {
      response.writeHead(reply.status ?? 200, reply.headers);
      response.end('json' in reply ? stringifyJson(reply.json) : reply.text);
    }
  });
  return { ...server, url: `${server.url}/api/brand`, received };
}

function parsed(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

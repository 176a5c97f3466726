/**
 * Spoils the responses of another service. It forwards every request, and returns the response unchanged or through a
 * spoiler (`spoilers.ts`), which may also write to the connection itself. It signs nothing and has no records.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Json, type JsonObject, isJsonObject, parseJson } from '../../shared/json.ts';
import { type HttpServer, startHttpServer } from '../fakes/http-server.ts';
import type { Random } from '../simulation/random.ts';

/** A correct response, and functions that send another response instead. */
export interface Answer {
  /** As the service sent it. */
  body: Buffer;
  envelope: JsonObject;
  /** The contents of the request, to be sent back. */
  echo: string;
  response: ServerResponse;
  socket: Socket;
  random: Random;
}

export type Spoil = (answer: Answer) => void | Promise<void>;

export interface Asked {
  action: string;
  fields: JsonObject;
}

export interface HostileService extends HttpServer {
  /** Chooses the spoiler of each request; `undefined` for a correct response. */
  choose: (asked: Asked) => Spoil | undefined;
}

/** Starts in front of the service at `upstream`, without a path. */
export async function startHostileService(upstream: string, random: Random): Promise<HostileService> {
  const hostile: { choose: HostileService['choose'] } = { choose: () => undefined };

  async function serve(request: IncomingMessage, sent: Buffer, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', upstream);
    const headers = Object.entries(request.headersDistinct).flatMap(([name, values]): [string, string][] =>
      /^(x-|content-type)/.test(name) ? [[name, values?.[0] ?? '']] : [],
    );
    const answer = await fetch(url, { method: 'POST', headers, body: sent });
    const body = Buffer.from(await answer.arrayBuffer());
    response.setHeader('Date', answer.headers.get('date') ?? '');
    const fields = objectOf(sent);
    const spoil = hostile.choose({ action: url.searchParams.get('action') ?? '', fields });
    if (!spoil || !response.socket) return void response.writeHead(answer.status).end(body);
    const echo = `${request.url} ${JSON.stringify(request.headers)}`;
    await spoil({ body, envelope: objectOf(body), echo, response, socket: response.socket, random });
  }

  const server = await startHttpServer((request, sent, response) => {
    serve(request, sent, response).catch(() => response.destroy());
  });
  return Object.assign(hostile, server);
}

function objectOf(text: Buffer): JsonObject {
  const json: Json = parseJson(text.toString() || '{}');
  return isJsonObject(json) ? json : {};
}

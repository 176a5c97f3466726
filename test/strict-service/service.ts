/**
 * Runs the strict service: a second implementation of docs/explanation/interface.md, written independently of sample/
 * and of the pipeline, for the acceptance tests. It is the oracle for requests: it refuses everything that the document
 * does not allow and records every refusal, and a test fails if there is a refusal. It is also the oracle for the
 * contents of the lake (`held`). Its data tempt a client into mistakes: duplicates, days of exactly one page, ids
 * beyond 2^53, 25-hour days. The file `interpretations.ts` lists how the service can interpret the open points of the
 * document. The file `refuse.ts` checks a call, `answer.ts` finds and shapes its page, and the functions below apply a fault.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../shared/json.ts';
import { startHttpServer } from '../fakes/http-server.ts';
import { answers, type CursorRules, filtered, type Page } from './answer.ts';
import { type Held, type Holdings, shownIn, type Table } from './data.ts';
import { dayOf, dayOfCompact } from './days.ts';
import type { Interpretation } from './interpretations.ts';
import { type Account, Refusal, readCall, type SignedCall } from './refuse.ts';

export interface Brand extends Account {
  timeZone: string;
  holdings: Holdings;
}

/** A served call. `day`: the first day of its range, missing for a single instant; `offset`: of its first record. */
export interface Served {
  action: string;
  fields: SignedCall['fields'];
  day: string | undefined;
  offset: number;
  /** How often the same call was served before. */
  repeats: number;
}

/** Transient faults: a retry may succeed. */
export const passingFaults = ['503', '429', 'reset', 'cut off', 'hangs'] as const;
/** Responses that violate the interface. */
export const contractFaults = [
  'code is not 0',
  'HTML',
  'truncated body',
  'missing list',
  'repeated cursor',
  'cycling cursor',
] as const;
/** Faults of the detail of a single click. */
export const detailFaults = ['code is not 0', 'another click'] as const;
export type Fault =
  | (typeof passingFaults)[number]
  | (typeof contractFaults)[number]
  | (typeof detailFaults)[number]
  | 'echo of the credentials';

export interface StrictService {
  readonly baseUrl: string;
  readonly name: string;
  readonly brands: readonly Brand[];
  /** Why calls were refused. A client that obeys the interface causes no entry. */
  readonly refusals: string[];
  readonly served: Served[];
  /** Every digest that was received. */
  readonly digests: Set<string>;
  /** Decides which calls get a fault. */
  fault: (call: Served) => Fault | undefined;
  latencyMs: number;
  /** Only records that appeared before this instant (ms) are served. */
  present: number;
  /** Expires every cursor that the service has returned so far. */
  forgetCursors(): void;
  /** After how many more calls a cursor dies; by default never. If the number is finite, every cursor is a new one. */
  cursorLifeInCalls: number;
  /** How the service responds to a dead cursor. */
  deadCursors: CursorRules['dead'];
  /** The records that a brand's table must now have, by day, if its report is synced with `filters`. */
  held(brand: Brand, table: Table, filters?: Record<string, unknown>): Map<string, JsonObject[]>;
  close(): Promise<void>;
}

/**
 * Starts the service on a free port of 127.0.0.1, under the given interpretation.
 */
export async function startStrictService(options: {
  brands: readonly Brand[];
  interpretation: Interpretation;
  present: number;
}): Promise<StrictService> {
  const path = '/api/brand-side';
  const name = 'ACME';
  const { brands, interpretation } = options;
  const timesServed = new Map<string, number>();
  let generation = 0;

  const server = await startHttpServer((request, body, response) => {
    serve(request, body.toString(), response).catch((thrown: Error) => response.destroy(thrown));
  });

  async function serve(request: IncomingMessage, body: string, response: ServerResponse): Promise<void> {
    const digest = request.headers[`x-${name.toLowerCase()}-authentication`];
    if (typeof digest === 'string') service.digests.add(digest);
    await sleep(service.latencyMs);
    try {
      const call = readCall(request, body, {
        path,
        name,
        accounts: brands,
        interpretation,
        nowMs: Date.now(),
      });
      answer(call, response);
    } catch (thrown) {
      service.refusals.push(String(thrown));
      if (!(thrown instanceof Refusal)) throw thrown;
      if (thrown.unrouted) response.writeHead(404).end();
      else send(response, { code: 10_001, msg: thrown.message, data: {} });
    }
  }

  function answer(call: SignedCall, response: ServerResponse): void {
    const brand = brands.find(({ bid }) => bid === call.account.bid);
    const action = answers[call.action];
    if (!brand || !action) throw new Refusal(`no action ${call.action}`);
    const visible = (table: keyof Holdings) => shown(brand.holdings[table]);
    const cursors: CursorRules = {
      generation,
      callNumber: service.served.length,
      lifeInCalls: service.cursorLifeInCalls,
      dead: service.deadCursors,
    };
    const served = { call, interpretation, timeZone: brand.timeZone, visible, cursors };
    const page = action.find(served);
    const fault = service.fault(record(call, brand, page));
    if (fault !== undefined && failInTransport(fault, response)) return;
    if (fault === 'echo of the credentials') {
      const { token, secret } = brand;
      const msg = `echo of ${token}, ${encodeURIComponent(token)}, ${secret} and ${[...service.digests].at(-1)}`;
      send(response, { code: 10_003, msg, data: {} });
      return;
    }
    const { data, envelopeFields } = action.shape(bend(page, fault), served);
    if (fault === 'missing list') for (const key of ['list', 'records']) delete data[key];
    send(response, { code: 0, msg: 'success', data, ...envelopeFields }, fault);
  }

  const shown = (held: readonly Held[]) => held.filter(({ appearsAt }) => appearsAt < service.present);

  function record(call: SignedCall, brand: Brand, page: Page): Served {
    const { action, fields } = call;
    const key = [brand.bid, action, ...Object.entries(fields)].join();
    const repeats = timesServed.get(key) ?? 0;
    timesServed.set(key, repeats + 1);
    const served = { action, fields, day: firstDay(fields, brand), offset: page.offset, repeats };
    service.served.push(served);
    return served;
  }

  function firstDay(
    { start_date, start_time, end_time }: SignedCall['fields'],
    brand: Brand,
  ): string | undefined {
    if (start_date !== undefined) return dayOfCompact(String(start_date));
    if (start_time === undefined || start_time === end_time) return undefined;
    return dayOf(
      Number(start_time) * (interpretation.timestampUnit === 'seconds' ? 1000 : 1),
      brand.timeZone,
    );
  }

  const service: StrictService = {
    baseUrl: `${server.url}${path}`,
    name,
    brands,
    refusals: [],
    served: [],
    digests: new Set(),
    fault: () => undefined,
    latencyMs: 0,
    present: options.present,
    cursorLifeInCalls: Number.POSITIVE_INFINITY,
    deadCursors: 'refused',
    forgetCursors: () => {
      generation += 1;
    },
    held: (brand, table, filters = {}) => {
      const { held, recordOf } = shownIn(table, brand.holdings);
      const byDay = Map.groupBy(filtered(shown(held), filters), ({ at }) => dayOf(at, brand.timeZone));
      return new Map([...byDay].map(([day, records]) => [day, records.map(recordOf)]));
    },
    close: server.close,
  };
  return service;
}

/** Changes the next cursor or the records of a page for the faults that mislead a client. */
function bend(page: Page, fault: Fault | undefined): Page {
  if (fault === 'repeated cursor') return { ...page, next: page.offset };
  if (fault === 'cycling cursor') return { ...page, next: page.size };
  if (fault === 'another click')
    return { ...page, records: page.records.map((record) => ({ ...record, id: 1 })) };
  return page;
}

/** Responds with a transport fault. @returns whether nothing is left to send */
function failInTransport(fault: Fault, response: ServerResponse): boolean {
  switch (fault) {
    case '503':
      response.writeHead(503, { 'Content-Type': 'text/plain' }).end('upstream is busy');
      return true;
    case '429':
      response.writeHead(429, { 'Retry-After': '1' }).end();
      return true;
    case 'reset':
      response.socket?.resetAndDestroy();
      return true;
    case 'HTML':
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html><body>Maintenance</body></html>');
      return true;
    case 'code is not 0':
      send(response, { code: 10_002, msg: 'the report is not available', data: {} });
      return true;
    default:
      return fault === 'hangs';
  }
}

function send(response: ServerResponse, envelope: JsonObject, fault?: Fault): void {
  const whole = Buffer.from(JSON.stringify(envelope));
  const half = whole.subarray(0, Math.floor(whole.length / 2));
  const sent = fault === 'truncated body' || fault === 'cut off' ? half : whole;
  const length = fault === 'cut off' ? whole.length : sent.length;
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': length });
  if (fault === 'cut off') response.write(sent, () => response.destroy());
  else response.end(sent);
}

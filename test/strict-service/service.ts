import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../shared/json.ts';
import { answers, filtered, type Page } from './answer.ts';
import { type Held, type Holdings, shownIn, type Table } from './data.ts';
import { dayOf, dayOfCompact } from './days.ts';
import type { Reading } from './readings.ts';
import { type Account, Refusal, readCall, type SignedCall } from './refuse.ts';

export interface Brand extends Account {
  timeZone: string;
  holdings: Holdings;
}

/** A served call, as a fault or a test looks at it: the day it begins with (of a mere instant: none), and the place of its first record. */
export interface Served {
  action: string;
  fields: SignedCall['fields'];
  day: string | undefined;
  offset: number;
  /** How often this same call was served before. */
  repeats: number;
}

/** Faults of the way to the service: a later try may succeed. */
export const passingFaults = ['503', '429', 'reset', 'cut off', 'hangs'] as const;
/** Faults by which the service breaks its word. */
export const contractFaults = [
  'code is not 0',
  'HTML',
  'truncated body',
  'missing list',
  'repeated cursor',
  'cycling cursor',
] as const;
/** Faults of one click's details. */
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
  /** What was refused, and why; a client that follows the document leaves this empty. */
  readonly refusals: string[];
  readonly served: Served[];
  /** Every digest that was sent. */
  readonly digests: Set<string>;
  /** Decides which calls go wrong. */
  fault: (call: Served) => Fault | undefined;
  latencyMs: number;
  /** Only what appeared before this instant (ms) is shown. */
  present: number;
  /** Every cursor that was given out dies. */
  forgetCursors(): void;
  /** What a brand's table shows now, by day, where its report (of details: the clicks) is asked with `filters`. */
  held(brand: Brand, table: Table, filters?: Record<string, unknown>): Map<string, JsonObject[]>;
  close(): Promise<void>;
}

/**
 * The brand-side service of the interface document on a port of 127.0.0.1, read as `reading` says. It refuses
 * whatever the document forbids, and remembers every refusal.
 */
export async function startStrictService(options: {
  brands: readonly Brand[];
  reading: Reading;
  present: number;
}): Promise<StrictService> {
  const path = '/api/brand-side';
  const name = 'ACME';
  const { brands, reading } = options;
  const times = new Map<string, number>();
  let generation = 0;

  const server = createServer((request, response) => {
    void serve(request, response).catch((thrown: unknown) => response.destroy(thrown as Error));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const digest = request.headers[`x-${name.toLowerCase()}-authentication`];
    if (typeof digest === 'string') service.digests.add(digest);
    const body = await text(request);
    await sleep(service.latencyMs);
    try {
      const call = readCall(request, body, { path, name, accounts: brands, reading, nowMs: Date.now() });
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
    const asked = { call, reading, timeZone: brand.timeZone, visible, generation };
    const page = action.find(asked);
    const fault = service.fault(note(call, brand, page));
    if (fault !== undefined && failOnTheWay(fault, response)) return;
    if (fault === 'echo of the credentials') {
      const { token, secret } = brand;
      const msg = `echo of ${token}, ${encodeURIComponent(token)}, ${secret} and ${[...service.digests].at(-1)}`;
      send(response, { code: 10_003, msg, data: {} });
      return;
    }
    const { data, beside } = action.shape(bend(page, fault), asked);
    if (fault === 'missing list') for (const key of ['list', 'records']) delete data[key];
    send(response, { code: 0, msg: 'success', data, ...beside }, fault);
  }

  const shown = (held: readonly Held[]) => held.filter(({ appearsAt }) => appearsAt < service.present);

  function note(call: SignedCall, brand: Brand, page: Page): Served {
    const { action, fields } = call;
    const key = [brand.bid, action, ...Object.entries(fields)].join();
    const repeats = times.get(key) ?? 0;
    times.set(key, repeats + 1);
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
    return dayOf(Number(start_time) * (reading.timestampUnit === 'seconds' ? 1000 : 1), brand.timeZone);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const service: StrictService = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    name,
    brands,
    refusals: [],
    served: [],
    digests: new Set(),
    fault: () => undefined,
    latencyMs: 0,
    present: options.present,
    forgetCursors: () => {
      generation += 1;
    },
    held: (brand, table, filters = {}) => {
      const { held, recordOf } = shownIn(table, brand.holdings);
      const byDay = Map.groupBy(filtered(shown(held), filters), ({ at }) => dayOf(at, brand.timeZone));
      return new Map([...byDay].map(([day, ofDay]) => [day, ofDay.map(recordOf)]));
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return service;
}

/** Bends where the pages go on, or of what they speak, for the faults that lead a reader astray. */
function bend(page: Page, fault: Fault | undefined): Page {
  if (fault === 'repeated cursor') return { ...page, next: page.offset };
  if (fault === 'cycling cursor') return { ...page, next: page.size };
  if (fault === 'another click')
    return { ...page, records: page.records.map((record) => ({ ...record, id: 1 })) };
  return page;
}

/** True where the fault left nothing more to answer. */
function failOnTheWay(fault: Fault, response: ServerResponse): boolean {
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

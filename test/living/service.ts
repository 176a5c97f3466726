/**
 * The service of a brand that lives: real HTTP, in the time that the test sets. It judges requests and pages them by the
 * rules of the strict service, which were written from docs/interface.md alone, and counts them by report and day.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { addDays, dayOf, daysFrom } from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import { answers } from '../strict-service/answer.ts';
import type { Held } from '../strict-service/data.ts';
import { dayOfCompact } from '../strict-service/days.ts';
import type { Interpretation } from '../strict-service/interpretations.ts';
import { type Account, Refusal, type SignedCall, readCall } from '../strict-service/refuse.ts';
import { type HeldTable, type Living, type LivingBrand, isWithin, wordAt } from './life.ts';

/** One call that the interface allows. */
export interface CountedCall {
  action: string;
  /** The day that it asks for. */
  day: string;
  atMs: number;
}

export interface LivingService {
  readonly baseUrl: string;
  readonly name: string;
  readonly calls: CountedCall[];
  /** Why calls were refused that the interface does not allow; a good client leaves it empty. */
  readonly violations: string[];
  /** Whether clients may have a wrong clock, until an answer has told them the time. */
  mayDrift: boolean;
  /** How many lookups were refused, as the brand's life has it. */
  refusedLookups: number;
  /** Whether the service is out of order for a call: then it answers 503. */
  isDown: (call: CountedCall) => boolean;
  close(): Promise<void>;
}

const PATH = '/api/brand-side';
const NAME = 'ACME';

export async function startLivingService(options: {
  brand: LivingBrand;
  account: Account;
  interpretation: Interpretation;
  nowMs: () => number;
  /** A call has come: time goes on. */
  onCall: () => void;
}): Promise<LivingService> {
  const { brand, account, interpretation, nowMs, onCall } = options;
  const clicksById = new Map(
    [...brand.held.clicks.values()].flat().map((click) => [idOf(click), click] as const),
  );

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    onCall();
    response.setHeader('Date', new Date(nowMs()).toUTCString());
    try {
      const call = readCall(request, body, {
        path: PATH,
        name: NAME,
        accounts: [account],
        interpretation,
        nowMs: nowMs(),
      });
      const counted = { action: call.action, day: dayAsked(call), atMs: nowMs() };
      service.calls.push(counted);
      if (service.isDown(counted)) response.writeHead(503).end();
      else send(response, answer(call));
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      if (!service.mayDrift || !/clock has drifted/.test(thrown.message))
        service.violations.push(thrown.message);
      if (thrown.unrouted) response.writeHead(404).end();
      else send(response, { code: 10_001, msg: thrown.message, data: {} });
    }
  }

  function answer(call: SignedCall): JsonObject {
    const action = answers[call.action];
    if (!action) throw new Refusal(`no action ${call.action}`);
    const click = clickAsked(call);
    if (click?.refused?.some((span) => isWithin(span, nowMs()))) {
      service.refusedLookups += 1;
      return { code: 10_009, msg: 'the detail is not ready', data: {} };
    }
    const served = {
      call,
      interpretation,
      timeZone: brand.timeZone,
      visible: (table: HeldTable) => visible(table, click, call),
      cursors: {
        generation: 0,
        callNumber: service.calls.length,
        lifeInCalls: Number.POSITIVE_INFINITY,
        dead: 'refused' as const,
      },
    };
    const { data, envelopeFields } = action.shape(action.find(served), served);
    return { code: 0, msg: 'success', data, ...envelopeFields };
  }

  function visible(table: HeldTable, click: Living | undefined, call: SignedCall): Held[] {
    if (click) return [held(click, click.versions.findLast(({ record }) => record)?.record ?? {})];
    const [from, to] = rangeAsked(call);
    return daysFrom(from, to).flatMap((day) =>
      wordAt(brand, table, day, nowMs()).map(({ living, record }) => held(living, record)),
    );
  }

  function clickAsked({ action, fields }: SignedCall): Living | undefined {
    return action === 'report/clicks_detail' ? clicksById.get(String(fields.id)) : undefined;
  }

  function rangeAsked({ fields }: SignedCall): [from: string, to: string] {
    const { start_date, end_date, start_time, end_time } = fields;
    const [first = '', last = ''] = [brand.days[0], brand.days.at(-1)];
    if (start_date !== undefined || end_date !== undefined)
      return [dayOfCompact(String(start_date)) ?? first, addDays(dayOfCompact(String(end_date)) ?? last, 1)];
    const unitMs = interpretation.timestampUnit === 'seconds' ? 1000 : 1;
    const dayAt = (time: bigint | string | undefined) =>
      time === undefined ? undefined : dayOf(Number(time) * unitMs, brand.timeZone);
    return [dayAt(start_time) ?? first, dayAt(end_time) ?? last];
  }

  /** The end of a day's range, asked for alone, is asked for that day's sake. */
  function dayAsked(call: SignedCall): string {
    const click = clickAsked(call);
    if (click) return dayOf(click.atMs, brand.timeZone);
    const [from] = rangeAsked(call);
    const { start_time, end_time } = call.fields;
    return start_time !== undefined && start_time === end_time ? addDays(from, -1) : from;
  }

  const server = createServer((request, response) => {
    void serve(request, response).catch((thrown: unknown) => {
      service.violations.push(`this service is broken: ${String(thrown)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const service: LivingService = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    name: NAME,
    calls: [],
    violations: [],
    mayDrift: false,
    refusedLookups: 0,
    isDown: () => false,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return service;
}

function held({ atMs, detail }: Living, record: JsonObject): Held {
  return { at: atMs, appearsAt: atMs, record, ...(detail && { detail }) };
}

function idOf({ versions }: Living): string {
  return String(versions.find(({ record }) => record)?.record?.id);
}

function send(response: ServerResponse, envelope: JsonObject): void {
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify(envelope));
}

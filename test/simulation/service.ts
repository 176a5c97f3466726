/**
 * Simulates the service of a brand, in virtual time and without a network. It judges and pages requests by the rules of
 * the strict service, which were written only from docs/explanation/interface.md, and counts them by report and day.
 */
import { addDays, dayOf, daysFrom } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import type { HttpHeaders, HttpRequest, HttpResponse } from '../../shared/ports.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { type CursorRules, type Held, type Page, answers } from '../strict-service/answer.ts';
import { dayOfCompact } from '../strict-service/days.ts';
import type { Interpretation } from '../strict-service/interpretations.ts';
import { type Account, Refusal, type SignedCall, readCall } from '../strict-service/refuse.ts';
import { type HeldTable, type Living, type LivingBrand, wordAt } from './brand.ts';

/** One call that the interface allows. */
export interface CountedCall {
  action: string;
  /** The day that it requests. */
  day: string;
  atMs: number;
}

export interface SimulatedService {
  /** The account that the service accepts. */
  account: Account;
  /** Cursors of another generation are dead. */
  cursors: CursorRules;
  readonly calls: CountedCall[];
  /** Why the service refused calls that the interface does not allow. A good client causes no entry. */
  readonly violations: string[];
  /** The service calls it with each page that it serves. */
  onPage: (call: CountedCall, page: Page) => void;
  answer(request: HttpRequest): { status: number; text: string };
}

export const SERVICE = 'ACME';
export const ADDRESS = 'http://127.0.0.1:9/api/brand-side';

/** @param options.tolerated refusals that a client may receive although it obeys the interface */
export function simulatedService(options: {
  brand: LivingBrand;
  account: Account;
  interpretation: Interpretation;
  nowMs: () => number;
  tolerated?: RegExp;
}): SimulatedService {
  const { brand, account, interpretation, nowMs, tolerated } = options;

  function answer({ url, method, headers, body }: HttpRequest): { status: number; text: string } {
    const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    try {
      const call = readCall({ url, method, headers: Object.fromEntries(lowerCase) }, body ?? '', {
        path: new URL(ADDRESS).pathname,
        name: SERVICE,
        accounts: [service.account],
        interpretation,
        nowMs: nowMs(),
      });
      return { status: 200, text: JSON.stringify(envelopeOf(call)) };
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) service.violations.push(`this service is broken: ${String(thrown)}`);
      if (!(thrown instanceof Refusal)) throw thrown;
      if (!tolerated?.test(thrown.message)) service.violations.push(thrown.message);
      if (thrown.unrouted) return { status: 404, text: '' };
      return { status: 200, text: JSON.stringify({ code: 10_001, msg: thrown.message, data: {} }) };
    }
  }

  function envelopeOf(call: SignedCall): JsonObject {
    const action = answers[call.action];
    if (!action) throw new Refusal(`no action ${call.action}`);
    const click = requestedClick(call);
    const counted = { action: call.action, day: requestedDay(call, click), atMs: nowMs() };
    service.calls.push(counted);
    const served = {
      call,
      interpretation,
      timeZone: brand.timeZone,
      visible: (table: HeldTable) => visible(table, click, call),
      cursors: service.cursors,
    };
    const page = action.find(served);
    const { data, envelopeFields } = action.shape(page, served);
    service.onPage(counted, page);
    return { code: 0, msg: 'success', data, ...envelopeFields };
  }

  function visible(table: HeldTable, click: Living | undefined, call: SignedCall): Held[] {
    if (click) return [held(click, click.versions.findLast(({ record }) => record)?.record ?? {})];
    const [from, to] = requestedRange(call);
    return daysFrom(from, to).flatMap((day) =>
      wordAt(brand, table, day, nowMs()).map(({ living, record }) => held(living, record)),
    );
  }

  const clicksById = new Map<string, Living>();
  function requestedClick({ action, fields }: SignedCall): Living | undefined {
    if (action !== 'report/clicks_detail') return undefined;
    const id = String(fields.id);
    // Clicks are added as time goes by, and no click loses its id.
    if (!clicksById.has(id))
      for (const click of [...brand.held.clicks.values()].flat()) clicksById.set(idOf(click), click);
    return clicksById.get(id);
  }

  function requestedRange({ fields }: SignedCall): [from: string, to: string] {
    const { start_date, end_date, start_time, end_time } = fields;
    const [first = '', last = ''] = [brand.days[0], brand.days.at(-1)];
    if (start_date !== undefined || end_date !== undefined)
      return [dayOfCompact(String(start_date)) ?? first, addDays(dayOfCompact(String(end_date)) ?? last, 1)];
    const unitMs = interpretation.timestampUnit === 'seconds' ? 1000 : 1;
    const dayAt = (time: bigint | string | undefined) =>
      time === undefined ? undefined : dayOf(Number(time) * unitMs, brand.timeZone);
    return [dayAt(start_time) ?? first, dayAt(end_time) ?? last];
  }

  /** A query of only the end of a range belongs to the day that ends there. */
  function requestedDay(call: SignedCall, click: Living | undefined): string {
    if (click) return dayOf(click.atMs, brand.timeZone);
    const [from] = requestedRange(call);
    const { start_time, end_time } = call.fields;
    return start_time !== undefined && start_time === end_time ? addDays(from, -1) : from;
  }

  const service: SimulatedService = {
    account,
    cursors: { generation: 0, dead: 'refused' },
    calls: [],
    violations: [],
    onPage: () => {},
    answer,
  };
  return service;
}

/** A response as the client receives it; without `dateMs` it has no `Date` header. */
export function httpResponse(
  { status, text }: { status: number; text: string },
  { dateMs, ...more }: Omit<HttpHeaders, 'date'> & { dateMs?: number } = {},
): HttpResponse {
  const headers = { ...(dateMs !== undefined && { date: httpDate(dateMs) }), ...more };
  return { status, headers, body: Buffer.from(text) };
}

function held({ atMs, detail }: Living, record: JsonObject): Held {
  return { at: atMs, record, ...(detail && { detail }) };
}

function idOf({ versions }: Living): string {
  return String(versions.find(({ record }) => record)?.record?.id);
}

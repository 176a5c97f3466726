/**
 * Simulates the service of a brand, in virtual time and without a network. The code of the sample service answers, with
 * the records as they are at that instant. Every refusal of a call counts as a violation of the interface, and calls
 * are counted by report and day.
 */
import { addDays, dayOf, daysFrom } from '../../shared/base/days.ts';
import { type JsonObject, stringifyJson } from '../../shared/base/json.ts';
import type { HttpHeaders, HttpRequest, HttpResponse } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { textOf } from '../../sample/actions/select.ts';
import { answer as sampleAnswer } from '../../sample/answer.ts';
import { authenticate, signatureOf } from '../../sample/authenticate.ts';
import type { Held, SampleBrand } from '../../sample/brand.ts';
import { dayFromDigits } from '../../sample/calendar.ts';
import { createCursors } from '../../sample/cursors.ts';
import { type Envelope, refusal } from '../../sample/envelope.ts';
import { type Interpretations, defaultInterpretations } from '../../sample/interpretations.ts';
import { type Method, bodyFields, queryFields, routingOf } from '../../sample/request.ts';
import { type Living, type LivingBrand, heldTable, wordAt } from './brand.ts';
import type { Random } from './random.ts';

export type Account = Pick<SampleBrand, 'bid' | 'token' | 'secret'>;

/** What the interface leaves open, with the only method that the service accepts. */
export interface Interpretation extends Interpretations {
  method: Method;
}

export const plainInterpretation: Interpretation = {
  ...defaultInterpretations,
  ...{ method: 'POST', endCursor: 'next' },
};

export function interpretationAt(random: Random): Interpretation {
  return {
    method: random.pick(['POST', 'GET']),
    endTime: random.pick(['inclusive', 'exclusive']),
    equalTimes: random.pick(['answered', 'refused']),
    timestampUnit: random.pick(['seconds', 'milliseconds']),
    endDate: random.pick(['whole_day', 'midnight_inclusive', 'midnight_exclusive']),
    endCursor: random.pick(['last', 'next', 'last_from_one', 'padded', 'opaque']),
    first: random.pick(['inclusive', 'exclusive']),
    finalCursor: random.pick(['null', 'absent', 'empty']),
    cursorIn: random.pick(['data', 'envelope']),
    listKey: random.pick(['list', 'records']),
    pageCap: random.pick([Number.POSITIVE_INFINITY, 10, 3]),
    pastLastPage: random.pick(['empty', 'repeat']),
    firstPage: random.pick([1, 0]),
    cursorLife: 'forever',
    deadCursor: random.pick(['refuse', 'empty', 'restart']),
    detail: random.pick(['record', 'list', 'named']),
  };
}

/** The settings that an operator has to make under this interpretation; the pipeline detects everything else. */
export function settingsFor(interpretation: Interpretation): Record<string, string | number> {
  return {
    method: interpretation.method,
    timestampUnit: interpretation.timestampUnit,
    firstPage: interpretation.firstPage,
    endDate: interpretation.endDate === 'whole_day' ? 'whole_day' : 'midnight',
    ...(interpretation.equalTimes === 'refused' && { endTime: 'inclusive' }),
  };
}

/** One call that the service has answered. */
export interface CountedCall {
  action: string;
  /** The day that it requests. */
  day: string;
}

export interface SimulatedService {
  /** The account that the service accepts. */
  account: Account;
  readonly calls: CountedCall[];
  /** Why the service refused calls that the interface does not allow. A good client causes no entry. */
  readonly violations: string[];
  /** The service calls it after each page that it serves. */
  onPage: (call: CountedCall) => void;
  /** Ends every cursor given so far. */
  forgetCursors(): void;
  answer(request: HttpRequest): { status: number; text: string };
}

export const SERVICE = 'ACME';
export const ADDRESS = 'http://127.0.0.1:9/api/brand-side';
/** How far the date of a request may be from the service's clock. */
const DRIFT_SECONDS = 60;

/** @param options.tolerated refusals that a client may receive although it obeys the interface */
export function simulatedService(options: {
  brand: LivingBrand;
  account: Account;
  interpretation: Interpretation;
  nowMs: () => number;
  tolerated?: RegExp;
}): SimulatedService {
  const { brand, account, interpretation, nowMs, tolerated } = options;
  const cursors = createCursors(interpretation, { requests: () => service.calls.length, nowMs });

  function answer(request: HttpRequest): { status: number; text: string } {
    const envelope = envelopeOf(request);
    if (envelope === undefined) service.violations.push('a parameter of the query string is missing');
    else if (envelope.code !== 0 && !tolerated?.test(envelope.msg)) service.violations.push(envelope.msg);
    return envelope ? { status: 200, text: stringifyJson({ ...envelope }) } : { status: 404, text: '' };
  }

  function envelopeOf({ url, method, headers, body = '' }: HttpRequest): Envelope | undefined {
    const { searchParams } = new URL(url, ADDRESS);
    const routing = routingOf(searchParams);
    if (!routing) return undefined;
    const inQuery = queryFields(searchParams);
    const misplaced = method === 'GET' ? body !== '' : Object.keys(inQuery).length > 0;
    if (misplaced) return refusal('badField', `a ${method} has fields in the wrong place`);
    const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    const signed = { ...routing, ...signatureOf(Object.fromEntries(lowerCase), SERVICE) };
    const { timeZone } = brand;
    const served = { name: 'acme', baseUrl: ADDRESS, timeZone, ...service.account, records: NO_RECORDS };
    const refused = authenticate(served, signed, nowMs(), DRIFT_SECONDS);
    if (refused) return refused;
    if (method !== interpretation.method) return refusal('badField', `the method is ${method}`);
    const given = method === 'GET' ? inQuery : bodyFields(body);
    const call = { ...routing, method, given, interpretations: interpretation, cursors };
    return answerOf(call, served, given ?? {});
  }

  function answerOf(
    call: Omit<Parameters<typeof sampleAnswer>[0], 'brand'>,
    served: SampleBrand,
    fields: JsonObject,
  ): Envelope {
    const { action } = call;
    const report = Object.values(reports).find((one) => one.action === action);
    if (!report) return refusal('unknownAction', action);
    const click = action === 'report/clicks_detail' ? clickOf(String(textOf(fields.id))) : undefined;
    const [from, to] = requestedRange(fields);
    const inRange = (days: readonly string[]): Held[] =>
      days.flatMap((day) =>
        wordAt(brand, heldTable(report), day, nowMs()).map(({ living, record }) => ({
          at: living.atMs,
          record,
        })),
      );
    const held = click ? [{ at: click.atMs, record: click.detail ?? {} }] : inRange(daysFrom(from, to));
    const records = { ...NO_RECORDS, [report.name]: held };
    const envelope = sampleAnswer({ ...call, brand: { ...served, records } });
    if (envelope.code !== 0) return envelope;
    const { start_time, end_time } = fields;
    const isEndOnly = start_time !== undefined && textOf(start_time) === textOf(end_time);
    const day = click ? dayOf(click.atMs, brand.timeZone) : isEndOnly ? addDays(from, -1) : from;
    service.calls.push({ action, day });
    service.onPage({ action, day });
    return envelope;
  }

  const clicksById = new Map<string, Living>();
  function clickOf(id: string): Living | undefined {
    // Clicks are added as time goes by, and no click loses its id.
    if (!clicksById.has(id))
      for (const click of [...brand.held.clicks.values()].flat()) clicksById.set(idOf(click), click);
    return clicksById.get(id);
  }

  function requestedRange({ start_date, end_date, start_time, end_time }: JsonObject): [string, string] {
    const [first = '', last = ''] = [brand.days[0], brand.days.at(-1)];
    if (start_date !== undefined || end_date !== undefined)
      return [
        dayFromDigits(String(start_date)) ?? first,
        addDays(dayFromDigits(String(end_date)) ?? last, 1),
      ];
    const unitMs = interpretation.timestampUnit === 'seconds' ? 1000 : 1;
    const dayAt = (time: string | undefined) =>
      time === undefined ? undefined : dayOf(Number(time) * unitMs, brand.timeZone);
    return [dayAt(textOf(start_time)) ?? first, dayAt(textOf(end_time)) ?? last];
  }

  const service: SimulatedService = {
    account,
    calls: [],
    violations: [],
    onPage: () => {},
    forgetCursors: () => cursors.forget(),
    answer,
  };
  return service;
}

const NO_RECORDS: SampleBrand['records'] = {
  clicks_list: [],
  clicks_detail: [],
  order_list: [],
  transaction_list: [],
  amazon_attribution_report: [],
};

/** A response as the client receives it; without `dateMs` it has no `Date` header. */
export function httpResponse(
  { status, text }: { status: number; text: string },
  { dateMs, ...more }: Omit<HttpHeaders, 'date'> & { dateMs?: number } = {},
): HttpResponse {
  const headers = { ...(dateMs !== undefined && { date: httpDate(dateMs) }), ...more };
  return { status, headers, body: Buffer.from(text) };
}

function idOf({ versions }: Living): string {
  return String(versions.find(({ record }) => record)?.record?.id);
}

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { dayOfCompact } from './days.ts';
import type { Interpretation } from './interpretations.ts';

/** The credentials of a brand. */
export interface Account {
  bid: string;
  token: string;
  secret: string;
}

/** The fields of an action; integers are bigint, so that they are not rounded. */
export type Fields = Record<string, bigint | string>;

export interface SignedCall {
  account: Account;
  action: string;
  fields: Fields;
}

/**
 * A call that docs/explanation/interface.md forbids. If `unrouted`, the response is 404 without a body, otherwise a
 * code other than 0.
 */
export class Refusal extends Error {
  readonly unrouted: boolean;

  constructor(message: string, unrouted = false) {
    super(message);
    this.unrouted = unrouted;
  }
}

type Rule =
  | { kind: 'integer'; min: bigint; max?: bigint }
  | { kind: 'text' }
  | { kind: 'day' }
  | { kind: 'position' }
  | { kind: 'one of'; values: readonly string[] };

const text: Rule = { kind: 'text' };
const day: Rule = { kind: 'day' };
const timestamp: Rule = { kind: 'integer', min: 0n };
const pageSize: Rule = { kind: 'integer', min: 20n, max: 100n };
const limit: Rule = { kind: 'integer', min: 1n, max: 200n };
const oneOf = (...values: string[]): Rule => ({ kind: 'one of', values });

/** docs/explanation/interface.md, section 4, action by action. */
const actions: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  'report/clicks_list': {
    start_time: timestamp,
    end_time: timestamp,
    first: { kind: 'position' },
    page_size: pageSize,
    publisher_id: text,
    channel_id: text,
  },
  'report/clicks_detail': { id: { kind: 'integer', min: 0n }, pbtid: { kind: 'integer', min: 0n } },
  'report/order_list': {
    start_time: timestamp,
    end_time: timestamp,
    page_number: { kind: 'integer', min: 0n },
    page_size: pageSize,
    sort_dir: oneOf('desc', 'asc'),
    sort_col: oneOf('transid', 'commission', 'amount'),
    status: oneOf('new', 'void', 'effective'),
    type: oneOf(
      'trans',
      'manual_trans',
      'bonus',
      'campaign_proposal_pay',
      'campaign_bonus',
      'campaign_proposal_bonus',
    ),
    publisher_id: text,
    channel_id: text,
  },
  'report/transaction_list': {
    limit,
    cursor: text,
    start_date: day,
    end_date: day,
    order_status: oneOf('new', 'void', 'mixed', 'locked', 'paid'),
    sku_status: oneOf('new', 'void', 'locked', 'paid'),
    transaction_type: oneOf(
      'bonus',
      'manually_added',
      'normal',
      'campaign_bonus',
      'campaign_payment',
      'performance_bonus',
    ),
    amazon_country: text,
    amazon_brand: text,
    order_id: text,
    sku: text,
    publisher_id: text,
    group_id: text,
  },
  'report/amazon_attribution_report': {
    limit,
    cursor: text,
    start_date: day,
    end_date: day,
    publisher_uid: { kind: 'integer', min: 0n },
    country_code: text,
    asin: text,
  },
};

const routing = ['bid', 'token', 'action', 'version'];

/** Checks a request: its routing, its headers, then its fields. @throws Refusal if the document forbids it */
export function readCall(
  request: Pick<IncomingMessage, 'url' | 'method' | 'headers'>,
  body: string,
  service: {
    path: string;
    name: string;
    accounts: readonly Account[];
    interpretation: Interpretation;
    nowMs: number;
  },
): SignedCall {
  const url = new URL(request.url ?? '/', 'http://service');
  if (url.pathname !== service.path) throw new Refusal('the path is not the address of the service', true);
  const { bid, token, action } = readRouting(url.searchParams);
  const account = service.accounts.find((known) => known.bid === bid && known.token === token);
  if (!account) throw new Refusal('bid and token are not known');
  refuseHeaders(request, { account, action, name: service.name, nowMs: service.nowMs });
  const rules = actions[action];
  if (!rules) throw new Refusal(`no action ${action}`);
  const given =
    request.method === 'POST' ? readBody(request, url.searchParams, body) : readQuery(url.searchParams, body);
  if (request.method !== service.interpretation.method)
    throw new Refusal(`${request.method} is not the method of this interpretation`);
  const fields = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      readField(name, value, Object.hasOwn(rules, name) ? rules[name] : undefined, {
        fromQuery: request.method === 'GET',
        interpretation: service.interpretation,
      }),
    ]),
  );
  refuseTogether(action, fields, service.interpretation);
  return { account, action, fields };
}

/** docs/explanation/interface.md, section 5: the four routing parameters are in the query string, each once. */
function readRouting(query: URLSearchParams): { bid: string; token: string; action: string } {
  const [bid, token, action, version] = routing.map((name) => {
    const [value, ...more] = query.getAll(name);
    if (value === undefined) throw new Refusal(`${name} is not in the query string`, true);
    if (more.length > 0) throw new Refusal(`${name} is in the query string more than once`);
    return value;
  });
  if (version !== '1.0') throw new Refusal('version is not 1.0');
  return { bid: bid ?? '', token: token ?? '', action: action ?? '' };
}

/** docs/explanation/interface.md, section 5: content type, date and digest. */
function refuseHeaders(
  request: Pick<IncomingMessage, 'headers'>,
  call: { account: Account; action: string; name: string; nowMs: number },
): void {
  if (request.headers['content-type'] !== 'application/json')
    throw new Refusal(`Content-Type is ${request.headers['content-type']}`);
  const date = request.headers[`x-${call.name.toLowerCase()}-date`];
  if (typeof date !== 'string') throw new Refusal('the date header is missing');
  const at = Date.parse(date);
  if (Number.isNaN(at) || new Date(at).toUTCString() !== date)
    throw new Refusal(`the date header is not an HTTP-date: ${date}`);
  if (Math.abs(at - call.nowMs) > 60_000) throw new Refusal(`the clock has drifted: ${date}`);
  const digest = request.headers[`x-${call.name.toLowerCase()}-authentication`];
  const signed = `${call.account.token};${call.action};${date};${call.account.secret}`;
  if (digest !== createHash('sha256').update(signed).digest('hex')) throw new Refusal('the digest is wrong');
}

function readBody(
  request: Pick<IncomingMessage, 'method'>,
  query: URLSearchParams,
  body: string,
): Record<string, unknown> {
  const misplaced = [...query.keys()].filter((name) => !routing.includes(name));
  if (misplaced.length > 0) throw new Refusal(`${misplaced} in the query string of a ${request.method}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(body, (name, value, { source }) => {
      if (typeof value !== 'number') return value;
      if (!/^(0|-?[1-9]\d*)$/.test(source ?? '')) throw new Refusal(`${name} is not an integer: ${source}`);
      return BigInt(source ?? '');
    });
  } catch (thrown) {
    throw thrown instanceof Refusal ? thrown : new Refusal('the body is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Refusal('the body is not a JSON object');
  return { ...parsed };
}

function readQuery(query: URLSearchParams, body: string): Record<string, unknown> {
  if (body !== '') throw new Refusal('a GET has a body');
  const own = [...query].filter(([name]) => !routing.includes(name));
  if (new Set(own.map(([name]) => name)).size < own.length) throw new Refusal('a field is given twice');
  return Object.fromEntries(own);
}

function readField(
  name: string,
  value: unknown,
  rule: Rule | undefined,
  how: { fromQuery: boolean; interpretation: Interpretation },
): bigint | string {
  if (!rule) throw new Refusal(`no field ${name}`);
  if (rule.kind === 'integer') return readInteger(name, value, rule, how.fromQuery);
  if (rule.kind === 'position') return readPosition(name, value, how);
  if (typeof value !== 'string') throw new Refusal(`${name} is not a string: ${value}`);
  if (rule.kind === 'one of' && !rule.values.includes(value)) throw new Refusal(`${name} is ${value}`);
  if (rule.kind === 'day' && dayOfCompact(value) === undefined)
    throw new Refusal(`${name} is not a day: ${value}`);
  return value;
}

function readInteger(
  name: string,
  value: unknown,
  range: { min: bigint; max?: bigint },
  fromQuery: boolean,
): bigint {
  const integer =
    fromQuery && typeof value === 'string' && /^(0|-?[1-9]\d*)$/.test(value) ? BigInt(value) : value;
  if (typeof integer !== 'bigint') throw new Refusal(`${name} is not an integer: ${value}`);
  if (integer < range.min || (range.max !== undefined && integer > range.max))
    throw new Refusal(`${name} is out of range: ${integer}`);
  return integer;
}

/** An integer, as the document requires; text only if the service itself returns text as `endCursor`. */
function readPosition(
  name: string,
  value: unknown,
  how: { fromQuery: boolean; interpretation: Interpretation },
): bigint | string {
  const givesText = how.interpretation.position === 'padded' || how.interpretation.position === 'opaque';
  if (givesText && typeof value === 'string' && value !== '0') return value;
  return readInteger(name, value, { min: 0n }, how.fromQuery);
}

/** The document's rules on combinations of fields. */
function refuseTogether(action: string, fields: Fields, interpretation: Interpretation): void {
  const { start_date, end_date, start_time, end_time } = fields;
  if (start_date !== undefined && end_date !== undefined && start_date > end_date)
    throw new Refusal(`start_date ${start_date} is after end_date ${end_date}`);
  if (start_time !== undefined && end_time !== undefined) {
    if (start_time > end_time) throw new Refusal(`start_time ${start_time} is after end_time ${end_time}`);
    if (start_time === end_time && interpretation.equalTimes === 'refused')
      throw new Refusal(`start_time and end_time are both ${start_time}`);
  }
  if (action === 'report/clicks_detail' && fields.id === undefined && fields.pbtid === undefined)
    throw new Refusal('neither id nor pbtid');
  if (
    action === 'report/order_list' &&
    fields.page_number !== undefined &&
    Number(fields.page_number) < interpretation.firstPage
  )
    throw new Refusal(`page_number is ${fields.page_number}, the first is ${interpretation.firstPage}`);
}

/**
 * Classifies a response before anything in it is used. Otherwise an error page, a truncated body or a refusal with HTTP
 * 200 would count as a page without records, and a day would be committed empty (I8). The checks, in order: the
 * response is whole, its status is 2xx, it is a JSON object, its `code` is 0, and its `data` is an object or empty. Messages
 * quote only through `quote`, which redacts (I9). The records of a page are found in `data`.
 */
import { isUtf8 } from 'node:buffer';
import { BY_CHECK } from '../base/command-line.ts';
import type { ErrorCode } from '../base/error-codes.ts';
import { BrandReportsError, type ErrorContext, type ErrorKind } from '../base/errors.ts';
import {
  duplicateKeys,
  type Json,
  type JsonObject,
  isCanonicalInteger,
  isJsonObject,
  numberText,
  parseJson,
  stringifyJson,
} from '../base/json.ts';
import type { HttpResponse, HttpResult, ReportService, ServiceResponse } from '../ports.ts';
import { excessOf, formOf } from '../records/json-form.ts';
import { type RecordList, recordListOf, recordsOfList } from '../records/record-list.ts';
import { MAX_BESIDE_BYTES, splitEnvelope } from '../records/split-envelope.ts';
import { encodingOf, firstNotUtf8, isBlank, placeOf, shownText, textOf, withoutMark } from './body-text.ts';

/** `refused`: signing again may help, once. `transient`: a retry may help. `final`: neither helps. */
export type ResponseClass =
  | { is: 'success'; response: ServiceResponse }
  | { is: 'refused' | 'transient' | 'final'; error: BrandReportsError };

export interface ResponseContext {
  brand: string;
  action: string;
  /** Whether the service has accepted another request with the same credentials. */
  isProven: boolean;
  /** With `at`, the text around this position. */
  quote: (text: string, at?: number) => string;
}

/** I8: the class of a response by its status, form and `code` (docs/explanation/interface.md, sections 2 and 7). */
export function classifyResponse(result: HttpResult, context: ResponseContext): ResponseClass {
  if ('failed' in result) return classifyFailure(result, failureOf(context));
  if ('tooLargeBytes' in result) {
    const message = `the response is larger than ${result.tooLargeBytes} bytes, which no page is; check baseUrl`;
    return failureOf(context)('final', 'contract', 'too_large', message);
  }
  const { status } = result;
  const fail = failureOf(context, { status });
  return status >= 200 && status < 300
    ? classifyBody(result, context, fail)
    : classifyStatus(result, context, fail);
}

/** The codes that Node documents for certificates, and its codes of failures that no retry repairs. */
const OPERATORS: readonly (readonly [failed: RegExp, code: ErrorCode, next: string])[] = [
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_UNTRUSTED|INVALID_CA)\b/,
    'tls',
    'this machine does not trust who issued the certificate. If it is an authority of your company, of a proxy or of the service, set NODE_EXTRA_CA_CERTS to the file with its certificate (PEM)',
  ],
  [
    /^(EPROTO|HOSTNAME_MISMATCH|(ERR_SSL|ERR_TLS|CERT|CRL|ERROR_IN|PATH_LENGTH|INVALID_PURPOSE)\w*)\b/,
    'tls',
    "no TLS connection: check the scheme, host and port of baseUrl, and this machine's clock; the service needs TLS 1.2 or newer and a certificate that is valid now, for this host",
  ],
  [
    /^ENOTFOUND\b/,
    'unknown_host',
    'no host has this name: check the host of baseUrl, and the network of this machine',
  ],
  [
    /^ERR_PROXY_TUNNEL: HTTP\/1\.\d 4/,
    'network',
    'the proxy refused to connect: check its name and password, and that it allows the host',
  ],
];

function classifyFailure({ failed, detail }: { failed: string; detail?: string }, fail: Fail): ResponseClass {
  const shown = `${failed}${detail ? `: ${detail}` : ''}`;
  const operator = OPERATORS.find(([codes]) => codes.test(shown));
  if (operator) return fail('final', 'config', operator[1], `${operator[2]} (${shown})`);
  // The codes of zlib begin with Z_.
  const what = failed.startsWith('Z_')
    ? 'the body cannot be decompressed'
    : failed === 'EAI_AGAIN'
      ? 'the name of the host cannot be resolved at present'
      : 'no whole response arrived';
  const code = failed === 'timeout' ? 'timeout' : 'network';
  const message = `${what} (${shown}); if this persists, check baseUrl, timeoutSeconds and the network`;
  return fail('transient', 'transient', code, message);
}

type FailureClass = Exclude<ResponseClass['is'], 'success'>;
type Fail = (
  is: FailureClass,
  kind: ErrorKind,
  code: ErrorCode,
  message: string,
  more?: ErrorContext,
) => ResponseClass;

function failureOf({ brand, action }: ResponseContext, context: ErrorContext = {}): Fail {
  return (is, kind, code, message, more = {}) => ({
    is,
    error: new BrandReportsError(kind, code, `${brand} ${action}: ${message}`, {
      context: { ...context, ...more },
    }),
  });
}

function classifyStatus(
  response: HttpResponse,
  { quote, isProven }: ResponseContext,
  fail: Fail,
): ResponseClass {
  const { status } = response;
  const body = withoutMark(response.body);
  const found = `HTTP ${status} with ${encodingOf(body, response.headers['content-encoding'], quote) ?? shownText(body, quote)}`;
  if (status === 408 || status === 425 || status === 429 || status >= 500)
    return fail('transient', 'transient', `http_${status}`, found);
  if (status === 401 || status === 403)
    return fail('refused', 'auth', `http_${status}`, `${found}; ${toCheck(isProven)}`);
  if (status === 404 && isBlank(body)) {
    const message = `${found}: the service responds like this if bid, token, action or version is missing in the query string. This run sent them, so check that baseUrl is the service's address and that no proxy drops the query string`;
    return fail('final', 'config', 'http_404', message);
  }
  if (status >= 300 && status < 400) {
    const message = `HTTP ${status}: redirects are not followed, because they would carry the credentials elsewhere; set baseUrl to the service's own address`;
    return fail('final', 'contract', 'redirect', message);
  }
  const message = `${found}; allowed is HTTP 200 with a JSON object; check baseUrl`;
  return fail('final', 'contract', `http_${status}`, message);
}

function classifyBody(response: HttpResponse, context: ResponseContext, fail: Fail): ResponseClass {
  const { quote } = context;
  const body = withoutMark(response.body);
  const broken = (code: ErrorCode, message: string) => fail('final', 'contract', code, message);
  const tooLarge = (found: string) =>
    broken('too_large', `${found}; check baseUrl, and lower page_size or limit if the records are right`);
  const isText = isUtf8(body);
  const split = isText ? splitEnvelope(body) : undefined;
  if (split && 'besideBytes' in split) return tooLarge(besideText(split.besideBytes));
  if (split) return classifyEnvelope(split.rest, context, fail, split);
  const form = formOf(body);
  const { fault } = form;
  const around = (at: number) => {
    const before = textOf(body.subarray(0, at));
    return `${placeOf(body, at)}: "${quote(before + textOf(body.subarray(at)), before.length)}"`;
  };
  if (fault?.isEnd && /^\s*\{/.test(body.toString('latin1', 0, fault.at))) {
    const message = `the response is cut off after ${body.length} bytes; it ends in ${around(fault.at)}`;
    return fail('transient', 'transient', 'truncated', message);
  }
  const excess = excessOf(form);
  if (excess !== undefined) return tooLarge(`the response, which has to be parsed whole, has ${excess}`);
  const encoding =
    isText && !fault ? undefined : encodingOf(body, response.headers['content-encoding'], quote);
  if (encoding !== undefined)
    return broken(
      'not_utf8',
      `the response is ${encoding}; UTF-8 is expected, so report it to the service's operator`,
    );
  if (!isText) {
    const at = firstNotUtf8(body);
    const byte = (body[at] ?? 0).toString(16).toUpperCase();
    return broken(
      'not_utf8',
      `the response is not UTF-8: byte 0x${byte} is Latin-1, or damaged, at byte ${at + 1}, ${around(at)}`,
    );
  }
  if (fault && isBlank(body.subarray(0, fault.at)))
    return broken('not_json', `the response is not JSON but ${shownText(body, quote)}; check baseUrl`);
  if (fault)
    return broken(
      'not_json',
      `the response is not JSON from byte ${fault.at + 1} on, ${around(fault.at)}; report it to the service's operator`,
    );
  const envelope = parseUnlessDeep(textOf(body));
  if (envelope === undefined) return broken('not_json', 'the response is nested deeper than can be read');
  if (!isJsonObject(envelope))
    return broken('envelope', `the response is not a JSON object but ${shownText(body, quote)}`);
  const besideBytes = body.length > MAX_BESIDE_BYTES ? bytesBeside(envelope) : 0;
  if (besideBytes > MAX_BESIDE_BYTES) return tooLarge(besideText(besideBytes));
  return classifyEnvelope(envelope, context, fail);
}

function parseUnlessDeep(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function besideText(bytes: number): string {
  return `the response has ${bytes} bytes beside its records, ${MAX_BESIDE_BYTES} are allowed`;
}

function bytesBeside({ data, ...others }: JsonObject): number {
  const beside = isJsonObject(data) && Object.hasOwn(data, 'list') ? { ...data, list: [] } : {};
  return Buffer.byteLength(stringifyJson({ ...others, data: beside }));
}

function classifyEnvelope(
  envelope: JsonObject,
  { quote, isProven }: ResponseContext,
  fail: Fail,
  scanned?: ServiceResponse['scanned'],
): ResponseClass {
  const shown = (value: Json | undefined) => (value === undefined ? 'missing' : quote(JSON.stringify(value)));
  const broken = (what: string) => fail('final', 'contract', 'envelope', what);
  const code = typeof envelope.code === 'string' ? envelope.code : numberText(envelope.code);
  if (code === undefined || !isCanonicalInteger(code))
    return broken(`"code" of the response is ${shown(envelope.code)}, an integer is expected`);
  if (code !== '0') {
    const reason =
      typeof envelope.msg === 'string' ? `"${quote(envelope.msg)}"` : `msg ${shown(envelope.msg)}`;
    // With its word, so that a short bid does not hide it.
    const named = quote(`code ${code}`);
    const message = `${reason}: the service refused with ${named}; ${toCheck(isProven)}`;
    const context = { serviceCode: named.replace('code ', '') };
    // I10: a code names no cause, so it may be one of the credentials until the service accepts them.
    return fail('refused', isProven ? 'contract' : 'auth', 'service_code', message, context);
  }
  const data = isNothing(envelope.data) ? {} : envelope.data;
  if (!isJsonObject(data)) return broken(`"data" of the response is ${shown(data)}, an object is expected`);
  const pageInfo = isJsonObject(data.pageInfo) ? data.pageInfo : {};
  const [repeated] = [envelope, data, pageInfo].flatMap(duplicateKeys);
  if (repeated !== undefined)
    return broken(
      `the response has the key "${quote(repeated)}" more than once, so which of the values counts is unknown`,
    );
  return { is: 'success', response: { envelope, data, ...(scanned && { scanned }) } };
}

function toCheck(isProven: boolean): string {
  return isProven
    ? 'it accepts these credentials for other requests, so check the permission for this report, and the filters'
    : `check bid, token and secret, the clock, and the settings (service, firstPage, filters)${BY_CHECK}`;
}

/** Whether a service may have sent the value in place of an object or a list that would be empty. */
export function isNothing(value: Json | undefined): boolean {
  if (Array.isArray(value) || isJsonObject(value)) return Object.keys(value).length === 0;
  return value === null || value === undefined;
}

/** I8: whether the response has an empty value in place of the list of records. It proves less than an empty list. */
export function lacksList({ data, scanned }: Pick<ServiceResponse, 'data' | 'scanned'>): boolean {
  const lists = Object.entries(data).filter(([field, value]) =>
    'list' in data ? field === 'list' : field !== 'cursor' && typeof value === 'object',
  );
  const areNothing = lists.length > 0 && lists.every(([, list]) => !Array.isArray(list) && isNothing(list));
  return isNothing(data) || (!scanned && areNothing);
}

/** The error of a response that violates the interface; nothing in such a response is used. */
export function contractError(action: string, code: ErrorCode, message: string): BrandReportsError {
  return new BrandReportsError('contract', code, `${action}: ${message}`);
}

/**
 * I8: the records of a page: `data.list`, or otherwise the only array in `data`. docs/explanation/interface.md,
 * sections 4.3 and 4.4, do not define their place. @throws BrandReportsError `contract` if neither exists
 */
export function recordsOf(
  service: Pick<ReportService, 'quote'>,
  action: string,
  { data, scanned }: ServiceResponse,
): RecordList {
  if (scanned) return scanned.records;
  const arrays = Object.values(data).filter(Array.isArray);
  const list = 'list' in data ? data.list : arrays.length === 1 ? arrays[0] : undefined;
  if (!Array.isArray(list)) {
    const keys = service.quote(Object.keys(data).join(', '));
    const message = `no list of records in the response: "list" or a single array is expected in "data", which has ${keys === '' ? 'no keys' : `the keys ${keys}`}`;
    throw contractError(action, 'missing_list', message);
  }
  return recordListOf(objectsOf(action, list));
}

export function wholeData({ data, scanned }: ServiceResponse): JsonObject {
  return scanned ? { ...data, [scanned.field]: recordsOfList(scanned.records) } : data;
}

/** The list as objects. @throws BrandReportsError `contract` if an element is not an object */
export function objectsOf(action: string, list: readonly Json[]): JsonObject[] {
  if (list.every(isJsonObject)) return [...list];
  const position = list.findIndex((element) => !isJsonObject(element));
  const message = `element ${position} of the list is ${describeKind(list[position])}, an object is expected`;
  throw contractError(action, 'bad_record', message);
}

export function describeKind(value: Json | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return isJsonObject(value) ? 'an object' : typeof value === 'object' ? 'a number' : `a ${typeof value}`;
}

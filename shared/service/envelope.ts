import { BrandReportsError, type ErrorContext, type ErrorKind } from '../errors.ts';
import {
  type Json,
  type JsonObject,
  isCanonicalInteger,
  isJsonObject,
  numberText,
  parseJson,
} from '../json.ts';
import type { HttpResponse, HttpResult } from './http.ts';

/**
 * What an attempt came to. `refused`: signing again may help, once; `transient`: trying again may; `final`: nothing may.
 */
export type ResponseClass =
  | { is: 'success'; envelope: JsonObject; data: JsonObject }
  | { is: 'refused' | 'transient' | 'final'; error: BrandReportsError };

/** Whose answer is judged, and how text of it becomes fit for a message. */
export interface ResponseContext {
  brand: string;
  action: string;
  quote: (text: string) => string;
}

/** Judges an answer by status, form and `code`, before anything in it is used (interface document, sections 2 and 7). */
export function classifyResponse(exchange: HttpResult, subject: ResponseContext): ResponseClass {
  if ('failed' in exchange) {
    const code = exchange.failed === 'timeout' ? 'timeout' : 'network';
    const message = `no whole answer came (${exchange.failed}); if that stays so, look at baseUrl, timeoutSeconds and the network`;
    return verdictOn(subject)('transient', 'transient', code, message);
  }
  if ('tooLargeBytes' in exchange) {
    const message = `the answer is larger than ${exchange.tooLargeBytes} bytes, which no page is; look at baseUrl`;
    return verdictOn(subject)('final', 'contract', 'too_large', message);
  }
  const { status } = exchange;
  const say = verdictOn(subject, { status });
  return status >= 200 && status < 300
    ? judgeBody(exchange, subject, say)
    : judgeStatus(exchange, subject, say);
}

type Failed = Exclude<ResponseClass['is'], 'success'>;
type Say = (is: Failed, kind: ErrorKind, code: string, message: string) => ResponseClass;

function verdictOn({ brand, action }: ResponseContext, context: ErrorContext = {}): Say {
  return (is, kind, code, message) => ({
    is,
    error: new BrandReportsError(kind, code, `${brand} ${action}: ${message}`, {
      context: { brand, action, ...context },
    }),
  });
}

function judgeStatus({ status, text }: HttpResponse, { quote }: ResponseContext, say: Say): ResponseClass {
  const said = text.trim() === '' ? 'an empty body' : `"${quote(text)}"`;
  const met = `HTTP ${status} with ${said}`;
  if (status === 408 || status === 425 || status === 429 || status >= 500)
    return say('transient', 'transient', `http_${status}`, met);
  if (status === 401 || status === 403)
    return say(
      'refused',
      'auth',
      `http_${status}`,
      `${met}; look at bid, token and secret: "brand-reports check" tests them`,
    );
  if (status === 404 && text.trim() === '') {
    const message = `${met}, which is how the service answers where bid, token, action or version are missing in the query string; they were sent there, so baseUrl is not the service's address, or something on the way drops the query string`;
    return say('final', 'config', 'http_404', message);
  }
  if (status >= 300 && status < 400)
    return say(
      'final',
      'contract',
      'redirect',
      `HTTP ${status}: credentials follow no redirect; set baseUrl to the service's own address`,
    );
  return say(
    'final',
    'contract',
    `http_${status}`,
    `${met}, where only HTTP 200 with a JSON object is allowed; look at baseUrl`,
  );
}

function judgeBody(answer: HttpResponse, { quote }: ResponseContext, say: Say): ResponseClass {
  const { text } = answer;
  const broken = (code: string, met: string) => say('final', 'contract', code, met);
  let envelope: Json;
  try {
    envelope = parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError))
      return broken('not_json', 'the answer is nested deeper than can be read');
    if (text.trimStart().startsWith('{'))
      return say(
        'transient',
        'transient',
        'truncated',
        `the answer is cut off after ${text.length} characters`,
      );
    return broken('not_json', `the answer is no JSON but "${quote(text)}"; look at baseUrl`);
  }
  if (!answer.isUtf8) return broken('not_utf8', 'the answer is not UTF-8, its text would be altered');
  if (!isJsonObject(envelope)) return broken('envelope', `the answer is no JSON object but "${quote(text)}"`);
  return judgeEnvelope(envelope, quote, say);
}

function judgeEnvelope(envelope: JsonObject, quote: ResponseContext['quote'], say: Say): ResponseClass {
  const shown = (value: Json | undefined) => (value === undefined ? 'missing' : quote(JSON.stringify(value)));
  const code = typeof envelope.code === 'string' ? envelope.code : numberText(envelope.code);
  if (code === undefined || !isCanonicalInteger(code))
    return say(
      'final',
      'contract',
      'envelope',
      `"code" of the answer is ${shown(envelope.code)}, an integer is expected`,
    );
  if (code !== '0') {
    const said = typeof envelope.msg === 'string' ? `"${quote(envelope.msg)}"` : shown(envelope.msg);
    const message = `the service refused with code ${quote(code)}, msg ${said}; look at the credentials, the clock and the filters: "brand-reports check" tests them`;
    return say('refused', 'contract', 'service_code', message);
  }
  const { data } = envelope;
  if (!isJsonObject(data))
    return say(
      'final',
      'contract',
      'envelope',
      `"data" of the answer is ${shown(data)}, an object is expected`,
    );
  return { is: 'success', envelope, data };
}

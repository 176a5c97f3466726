/**
 * The client calls the brand's service during one run. All calls share one breaker, rate limiter, clock and set of
 * credentials. I10: every attempt has its own date header, and each possible cause of a refusal (clock, credentials) is tried once per run. I9:
 * text from outside is quoted only after redaction.
 */
import { fullJitterMs } from '../base/backoff.ts';
import { DAY_MS } from '../base/days.ts';
import { BrandReportsError, configError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { BrandLog } from '../base/log-events.ts';
import type {
  CredentialSource,
  Credentials,
  ReportService,
  SendRequest,
  ServiceResponse,
  Turn,
} from '../ports.ts';
import { createServiceClock, httpDate } from './server-clock.ts';
import { type ResponseClass, classifyResponse } from './envelope.ts';
import type { RateLimiter } from './rate-limit.ts';
import { createRefusalBreaker } from './refusal-breaker.ts';
import { NO_TURN } from './request-queue.ts';
import { buildRequest, signedHeaders } from './request.ts';
import {
  CLOCKS_DIFFER,
  type RetryPolicy,
  SERVICE_RETRY,
  type Sleep,
  pause,
  retryAfterMs,
  throwIfStopped,
} from './retry.ts';
import { type Signing, createSigningSession } from './signing-session.ts';

export interface ServiceClientOptions {
  brand: string;
  /** The address of the service, with the brand's path; it may have a query string of its own. */
  baseUrl: string;
  /** The SERVICE in the names of the two headers. */
  service: string;
  method: 'POST' | 'GET';
  /** For one attempt, including its body. */
  timeoutMs: number;
  credentials: CredentialSource;
  send: SendRequest;
  limiter: RateLimiter;
  retry?: Partial<RetryPolicy>;
  wallMs: () => number;
  random: () => number;
  sleep: Sleep;
  log?: BrandLog;
  /** Called after every attempt; `status` is missing if no response arrived. */
  onRequest?(info: { action: string; attempt: number; status: number | undefined }): void;
  signal?: AbortSignal;
}

interface Sent {
  response: ResponseClass;
  /** Whether the service has accepted the credentials of the request. */
  isProven: boolean;
  slotMs: number;
  requestedWaitMs: number | undefined;
}

/** How many responses a request may cost until two of them agree about the time. */
const MAX_DATES = 3;

export function clocksText(brand: string, machineMs: number, skewMs: number): string {
  const [machine, service] = [machineMs, machineMs + skewMs].map((ms) => new Date(ms).toISOString());
  return `${brand}: this machine's clock shows ${machine}, the service's ${service}. Correct the clock that is wrong.`;
}

function refusalOf(action: string, { code, context }: BrandReportsError): string {
  return [action, code, context.serviceCode].join(' ');
}

/** The calls are signed, rate-limited and retried (docs/explanation/interface.md, sections 4 to 8). */
export function createServiceClient(options: ServiceClientOptions): ReportService {
  const { brand, limiter, wallMs } = options;
  const log = options.log ?? (() => undefined);
  const policy = { ...SERVICE_RETRY, ...options.retry };
  const clock = createServiceClock(wallMs);
  const signer = createSigningSession(options, clock, log);
  const breaker = createRefusalBreaker();
  const answeredActions = new Set<string>();
  let accepted: Credentials | undefined;
  /** Actions with a code of refusals that outlasted all attempts of a call. */
  const lasting = new Set<string>();
  const eitherSignals = new WeakMap<AbortSignal, AbortSignal>();

  async function sendOnce(
    action: string,
    fields: JsonObject,
    signing: Signing,
    attempt: number,
    slotMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Sent> {
    const { bid, token } = signing.credentials;
    // I10: a fresh date for every attempt, by the service's clock.
    const date = httpDate(wallMs() + signing.skewMs);
    const headers = signedHeaders(options.service, action, signing.credentials, date);
    const request = buildRequest(options, { bid, token, action, version: '1.0' }, fields, headers);
    const sentMs = wallMs();
    const result = await options.send(request, {
      timeoutMs: options.timeoutMs,
      signal,
      onHeaders: (received) => clock.learn(received, sentMs, wallMs()),
    });
    throwIfStopped(signal);
    const status = 'status' in result ? result.status : undefined;
    options.onRequest?.({ action, attempt, status });
    const isProven = accepted === signing.credentials;
    const response = classifyResponse(result, { brand, action, isProven, quote: signer.quote });
    if (status === 429 || status === 503) limiter.slowDown(slotMs);
    if (response.is === 'success') limiter.speedUp();
    const mayWait = (response.is === 'transient' || response.is === 'refused') && 'headers' in result;
    return {
      ...{ response, isProven, slotMs },
      requestedWaitMs: mayWait ? retryAfterMs(result.headers, clock.nowMs()) : undefined,
    };
  }

  async function beforeRetry(
    action: string,
    error: BrandReportsError,
    failures: number,
    requestedWaitMs: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // With the requested wait, for the plan of the next attempt.
    const context = {
      ...error.context,
      ...(requestedWaitMs !== undefined && { retryAfterMs: requestedWaitMs }),
    };
    const gaveUp = (why: string) =>
      new BrandReportsError(error.kind, error.code, `${error.message}; ${why}`, { context });
    if (requestedWaitMs !== undefined) limiter.pauseFor(requestedWaitMs);
    if (failures >= policy.maxAttempts)
      throw gaveUp(`gave up after ${failures} attempts; a later run continues`);
    const waitMs = fullJitterMs(failures - 1, policy, options.random());
    const refusal = limiter.refusePause(Math.max(waitMs, requestedWaitMs ?? 0));
    if (refusal) throw gaveUp(refusal.message);
    const { status } = error.context;
    const shown = { action, code: error.code, failures, waitMs: Math.max(waitMs, requestedWaitMs ?? 0) };
    log({ event: 'request_retried', ...shown, ...(typeof status === 'number' && { status }) });
    await pause(waitMs, options.sleep, signal);
  }

  /** Sends again at once after a refusal, if a new signature may help. */
  async function tryOnce(
    turn: Turn,
    action: string,
    fields: JsonObject,
    attempt: number,
    signal: AbortSignal | undefined,
  ): Promise<Sent & { sent: number }> {
    await breaker.enter(signal);
    let signing: Signing | undefined;
    try {
      for (let sent = 1; ; sent += 1) {
        // Reading credentials may take long: between the slot and the request, the lease could end.
        await signer.sign();
        const slotMs = await limiter.take(turn, signal);
        signing ??= await signer.sign();
        throwIfStopped(signal);
        const tried = await sendOnce(action, fields, signing, attempt + sent - 1, slotMs, signal);
        const { response } = tried;
        if (response.is === 'success') {
          accepted = signing.credentials;
          breaker.accepted();
        }
        if (response.is !== 'refused') return { ...tried, sent };
        const error = breaker.refused(response.error);
        // I10: a refusal names no cause; signing again may help, once.
        const again: Signing | undefined = await signer.signAgain(signing);
        if (!again) return { ...tried, response: { is: 'refused', error }, sent };
        signing = again;
      }
    } finally {
      breaker.leave();
    }
  }

  async function request(
    turn: Turn,
    action: string,
    fields: JsonObject,
    callSignal?: AbortSignal,
  ): Promise<ServiceResponse> {
    const signal = eitherSignal(callSignal);
    for (let attempt = 1, failures = 1; ; failures += 1) {
      let tried = await tryOnce(turn, action, fields, attempt, signal);
      attempt += tried.sent;
      // A run with a single request must not be planned by a wrong clock, or by one wrong date.
      for (let dates = 1; clock.isUnsettled && dates < MAX_DATES; dates += 1) {
        // A transient failure is retried below. After a refusal, the request has been signed again.
        if (tried.response.is === 'transient' || tried.response.is === 'refused') break;
        tried = await tryOnce(turn, action, fields, attempt, signal);
        attempt += tried.sent;
      }
      // Nobody knows which day it is.
      const { skewMs = 0 } = clock;
      if (Math.abs(skewMs) > DAY_MS) throw configError(CLOCKS_DIFFER, clocksText(brand, wallMs(), skewMs));
      const { response, requestedWaitMs } = tried;
      if (response.is === 'success') {
        answeredActions.add(action);
        return response.response;
      }
      if (!mayPass(action, tried) || (turn.asksTime && clock.skewMs !== undefined)) throw response.error;
      if (response.is === 'refused') {
        if (failures === 1) limiter.slowDown(tried.slotMs);
        if (failures >= policy.maxAttempts) lasting.add(refusalOf(action, response.error));
      }
      await beforeRetry(action, response.error, failures, requestedWaitMs, signal);
    }
  }

  /**
   * I10: a refusal names no cause. With credentials that the service has accepted in this run, the cause may be a limit
   * of requests, so a retry may help. A call whose attempts are all refused shows that retries help no such refusal.
   */
  function mayPass(action: string, { response, isProven }: Sent): boolean {
    if (response.is === 'success' || response.is === 'transient') return true;
    if (response.is === 'refused') return isProven && !lasting.has(refusalOf(action, response.error));
    return response.error.code === 'unknown_host' && breaker.hasAccepted;
  }

  /** Aborts with the run or with the call. Calls with one signal share it: creating one costs as much as a small request. */
  function eitherSignal(callSignal: AbortSignal | undefined): AbortSignal | undefined {
    if (!callSignal || !options.signal) return callSignal ?? options.signal;
    const known = eitherSignals.get(callSignal) ?? AbortSignal.any([options.signal, callSignal]);
    eitherSignals.set(callSignal, known);
    return known;
  }

  function inOrder(turn: Turn): ReportService {
    return {
      call: (action, fields, signal) => request(turn, action, fields, signal),
      inOrder,
      quote: signer.quote,
      get hasAnswered() {
        return breaker.hasAccepted;
      },
      hasAnsweredTo: (action) => answeredActions.has(action),
      get clockSkewMs() {
        return clock.skewMs;
      },
    };
  }

  return inOrder(NO_TURN);
}

import { fullJitterMs } from '../backoff.ts';
import { BrandReportsError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { BrandLog } from '../log-events.ts';
import type { CredentialSource, ReportService } from '../ports.ts';
import { createServiceClock, httpDate } from './server-clock.ts';
import { type ResponseClass, classifyResponse } from './envelope.ts';
import { type RateLimiter, pausedTooLong } from './rate-limit.ts';
import { buildRequest, send } from './http.ts';
import {
  type RetryPolicy,
  SERVICE_RETRY,
  type Sleep,
  createRetryBudget,
  pause,
  retryAfterMs,
  throwIfStopped,
} from './retry.ts';
import { signedHeaders } from './signature.ts';
import { type Signing, createSigningSession } from './signing-session.ts';

export interface ServiceClientOptions {
  brand: string;
  /** The address of the service, brand path included; it may have a query string of its own. */
  baseUrl: string;
  /** What stands for SERVICE in the names of the two headers. */
  service: string;
  method: 'POST' | 'GET';
  /** For one attempt, its body included. */
  timeoutMs: number;
  credentials: CredentialSource;
  limiter: RateLimiter;
  retry?: Partial<RetryPolicy>;
  wallMs: () => number;
  /** In [0, 1). */
  random: () => number;
  sleep: Sleep;
  log?: BrandLog;
  /** Told of every attempt; without a status no answer came. */
  onRequest?(info: { action: string; attempt: number; status: number | undefined; ms: number }): void;
  signal?: AbortSignal;
}

export interface ServiceClient extends ReportService {
  /** Attempts sent so far. */
  readonly requests: number;
  /** Attempts that repeated a failed one. */
  readonly retries: number;
  /** What the machine's clock lacks against the service's, as far as it matters. */
  readonly clockSkewMs: number;
}

/** The brand-side service for the length of one run: signed, rate-limited, retried (interface document, sections 4 to 8). */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { brand, limiter, wallMs } = options;
  const log = options.log ?? (() => undefined);
  const policy = { ...SERVICE_RETRY, ...options.retry };
  const budget = createRetryBudget(policy.budget);
  const clock = createServiceClock(wallMs);
  const signer = createSigningSession(brand, options.credentials, clock, log);
  let requests = 0;
  let retries = 0;

  async function attemptAt(
    action: string,
    fields: JsonObject,
    signing: Signing,
    attempt: number,
    signal: AbortSignal | undefined,
  ): Promise<{ verdict: ResponseClass; askedWaitMs: number | undefined }> {
    const { bid, token } = signing.credentials;
    const date = httpDate(wallMs() + signing.skewMs);
    const headers = signedHeaders(options.service, action, signing.credentials, date);
    const request = buildRequest(options, { bid, token, action, version: '1.0' }, fields, headers);
    requests += 1;
    const sentMs = wallMs();
    const answer = await send(request, options.timeoutMs, signal, (received) => {
      clock.learn(received, sentMs, wallMs());
    });
    throwIfStopped(signal);
    const status = 'status' in answer ? answer.status : undefined;
    options.onRequest?.({ action, attempt, status, ms: wallMs() - sentMs });
    const verdict = classifyResponse(answer, { brand, action, quote: signer.quote });
    if (status === 429 || status === 503) limiter.slowDown(sentMs);
    if (verdict.is === 'success') limiter.speedUp();
    const waits = verdict.is === 'transient' && 'headers' in answer;
    return { verdict, askedWaitMs: waits ? retryAfterMs(answer.headers, clock.nowMs()) : undefined };
  }

  async function beforeRetry(
    action: string,
    error: BrandReportsError,
    failures: number,
    askedWaitMs: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (askedWaitMs !== undefined) limiter.pauseFor(askedWaitMs);
    if (askedWaitMs !== undefined && askedWaitMs > policy.maxWaitMs)
      throw gaveUp(error, pausedTooLong(askedWaitMs, policy.maxWaitMs).message);
    if (failures >= policy.maxAttempts)
      throw gaveUp(error, `gave up after ${failures} attempts; a later run goes on`);
    if (!budget.spend())
      throw gaveUp(error, 'too many requests of this run have failed for another try; a later run goes on');
    retries += 1;
    const waitMs = fullJitterMs(failures - 1, policy, options.random());
    const { status } = error.context;
    log({
      event: 'request_retried',
      action,
      ...(typeof status === 'number' && { status }),
      code: error.code,
      failures,
      waitMs: Math.max(waitMs, askedWaitMs ?? 0),
    });
    await pause(waitMs, options.sleep, signal);
  }

  async function call(action: string, fields: JsonObject, callSignal?: AbortSignal) {
    const signals = [options.signal, callSignal].filter((signal) => signal !== undefined);
    const signal = signals.length === 2 ? AbortSignal.any(signals) : signals[0];
    budget.earn();
    for (let attempt = 1, failures = 0; ; attempt += 1) {
      await limiter.take(policy.maxWaitMs, signal);
      const signing = await signer.sign();
      throwIfStopped(signal);
      const { verdict, askedWaitMs } = await attemptAt(action, fields, signing, attempt, signal);
      if (verdict.is === 'success') return { envelope: verdict.envelope, data: verdict.data };
      if (verdict.is === 'refused' && (await signer.refreshAfterRejection(signing))) {
        log({ event: 'request_signed_again', action, clockSkewMs: clock.skewMs });
        continue;
      }
      if (verdict.is !== 'transient') throw verdict.error;
      failures += 1;
      await beforeRetry(action, verdict.error, failures, askedWaitMs, signal);
    }
  }

  return {
    call,
    quote: signer.quote,
    get requests() {
      return requests;
    },
    get retries() {
      return retries;
    },
    get clockSkewMs() {
      return clock.skewMs;
    },
  };
}

function gaveUp(error: BrandReportsError, why: string): BrandReportsError {
  return new BrandReportsError(error.kind, error.code, `${error.message}; ${why}`, {
    context: error.context,
  });
}

import type { Backoff } from '../base/backoff.ts';
import { MINUTE_MS } from '../base/days.ts';
import { BrandReportsError } from '../base/errors.ts';
import type { HttpHeaders } from '../ports.ts';
import { parseHttpDate } from './server-clock.ts';

/** Waits; it may reject when the signal aborts. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

export interface RetryPolicy extends Backoff {
  /** Attempts at one call, the first one included. */
  maxAttempts: number;
  /** The longest `Retry-After` that a call waits for; a longer one fails the call at once. */
  maxWaitMs: number;
}

export const SERVICE_RETRY: RetryPolicy = {
  maxAttempts: 6,
  baseMs: 500,
  capMs: 30_000,
  maxWaitMs: 15 * MINUTE_MS,
};

/** The wait that a response's `Retry-After` (seconds or a date) requests, ms; `undefined` if it cannot be read. */
export function retryAfterMs(headers: HttpHeaders, nowMs: number): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const untilMs = parseHttpDate(text);
  // Compared with the date of the same response, so that only the service's own clock matters.
  return untilMs === undefined ? undefined : Math.max(0, untilMs - (parseHttpDate(headers.date) ?? nowMs));
}

/** How long a run can still wait, in milliseconds; Infinity without a limit. */
export interface TimeLeft {
  /** Until nothing new should start: 0 if that time has come. */
  leftMs(): number;
  /** Until the process may be gone. */
  untilOverMs(): number;
}

/** The pauses that a call does not wait for: pauses longer than any run waits, and pauses longer than this run has left. */
export function refusalOfPause(
  { maxWaitMs }: Pick<RetryPolicy, 'maxWaitMs'>,
  { leftMs }: Pick<TimeLeft, 'leftMs'>,
) {
  return (pauseMs: number): BrandReportsError | undefined => {
    const mostMs = Math.min(maxWaitMs, leftMs());
    if (pauseMs <= mostMs) return undefined;
    const message = `the next request may be sent in ${seconds(pauseMs)} (Retry-After or backoff), but this run waits at most ${seconds(mostMs)}; a later run continues`;
    return new BrandReportsError('transient', 'out_of_time', message);
  };
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}

const MAX_TIMER_MS = 2 ** 31 - 1;

/** @throws BrandReportsError `transient` `stopped` */
export async function pause(ms: number, sleep: Sleep, signal: AbortSignal | undefined): Promise<void> {
  throwIfStopped(signal);
  await sleepUnlessAborted(ms, sleep, signal);
  throwIfStopped(signal);
}

/** Sleeps until the time is over or the signal aborts, whatever `sleep` does then. An infinite time is never over. */
export async function sleepUnlessAborted(
  ms: number,
  sleep: Sleep,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  signal?.addEventListener('abort', stop, { once: true });
  const asleep = ms === Number.POSITIVE_INFINITY ? aborted : sleep(Math.min(ms, MAX_TIMER_MS), signal);
  try {
    await Promise.race([asleep, aborted]);
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** @throws BrandReportsError `transient` `stopped` if the signal has aborted */
export function throwIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw stopped();
}

/** The error of a stopped run: nothing has failed. */
export function stopped(): BrandReportsError {
  const message = 'the run was stopped before the service responded; start it again to continue';
  return new BrandReportsError('transient', 'stopped', message);
}

/** Whether an error concerns the run and not the day whose request failed, so that the day is left to the next run. */
export function concernsNoDay({ code }: BrandReportsError): boolean {
  return code === 'brand_busy' || code === 'lease_unavailable' || code === CLOCKS_DIFFER;
}

export const CLOCKS_DIFFER = 'clocks_differ';

/**
 * Whether a request was not sent because the run can send no more. That is no failure: the next run continues. The call
 * whose own response requested the pause fails instead; otherwise every run would begin with that call and end there.
 */
export function isEndOfRun({ code }: BrandReportsError): boolean {
  return code === 'stopped' || code === 'out_of_time' || code === 'brand_busy';
}

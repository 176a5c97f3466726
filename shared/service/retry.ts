import { BrandReportsError } from '../errors.ts';
import { parseHttpDate } from './server-clock.ts';

/** Waits; it may reject when the signal aborts. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

export interface RetryPolicy {
  /** Attempts at one call, the first one included. */
  attempts: number;
  /** The wait after the i-th failure is random below `min(capMs, baseMs · 2^(i-1))`. */
  baseMs: number;
  capMs: number;
  /** The longest `Retry-After` that is waited for; a longer one fails the call at once. */
  maxWaitMs: number;
  /** Retries that are paid for: `start` at first, `share` more with every call, `most` at a time. */
  budget: { start: number; share: number; most: number };
}

export const defaultRetryPolicy: RetryPolicy = {
  attempts: 6,
  baseMs: 500,
  capMs: 30_000,
  maxWaitMs: 15 * 60_000,
  budget: { start: 10, share: 0.2, most: 50 },
};

/** @param random in [0, 1) */
export function backoffMs({ baseMs, capMs }: RetryPolicy, failures: number, random: number): number {
  return random * Math.min(capMs, baseMs * 2 ** (failures - 1));
}

/** What keeps retries a small share of the calls, so that an outage is not multiplied. */
export function createRetryBudget({ start, share, most }: RetryPolicy['budget']) {
  let left = start;
  return {
    earn() {
      left = Math.min(most, left + share);
    },
    /** False where nothing is left. */
    spend(): boolean {
      if (left < 1) return false;
      left -= 1;
      return true;
    },
  };
}

/** How long an answer's `Retry-After` (seconds or a date) asks to wait; `undefined` without one that can be read. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const untilMs = parseHttpDate(text);
  // Against the date of the same answer no clock but the service's own matters.
  return untilMs === undefined
    ? undefined
    : Math.max(0, untilMs - (parseHttpDate(headers.get('date')) ?? nowMs));
}

const longestTimerMs = 2 ** 31 - 1;

/** Sleeps unless the run is stopped meanwhile. @throws BrandReportsError `transient` `stopped` */
export async function pause(ms: number, sleep: Sleep, signal: AbortSignal | undefined): Promise<void> {
  throwIfStopped(signal);
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([sleep(Math.min(ms, longestTimerMs), signal), stopped]);
  } catch (error) {
    throwIfStopped(signal);
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
  throwIfStopped(signal);
}

export function throwIfStopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted) {
    throw new BrandReportsError(
      'transient',
      'stopped',
      'the run was stopped before the service had answered; run it again to go on',
    );
  }
}

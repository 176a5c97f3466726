/**
 * The rate of requests to one brand's service. Without it several days in flight would send bursts that the setting
 * `requestsPerSecond` forbids. Requests queue for slots that are one interval apart; a throttled response halves the
 * rate, each success raises it by 2 % of the setting, and `Retry-After` stops everything until it is over.
 */
import { BrandReportsError } from '../errors.ts';
import { type Sleep, pause } from './retry.ts';

/** Decides when requests to one brand's service may start; shared by all reports of a run. */
export interface RateLimiter {
  /**
   * Resolves when the next request may start, first come, first served.
   * @throws BrandReportsError `transient` where the service requests a longer pause than `maxPauseMs`
   */
  take(maxPauseMs: number, signal?: AbortSignal): Promise<void>;
  /** The service throttled a request sent at `sentMs` (wall clock): halves the rate. */
  slowDown(sentMs: number): void;
  /** A request succeeded: raises the rate a little, up to the one set. */
  speedUp(): void;
  /** No request starts for this long, in milliseconds. */
  pauseFor(ms: number): void;
  /** The current rate, in requests per second. */
  readonly requestsPerSecond: number;
}

const DECREASE_FACTOR = 0.5;
/** Shares of the configured rate. */
const INCREASE_SHARE = 0.02;
const MIN_SHARE = 1 / 32;
/** Timers wake up to this late; the next request is not to be late because of it. */
const TIMER_DELAY_MS = 20;

/** Creates the limiter of one brand. Its rate is in requests per second, its times are in milliseconds. */
export function createRateLimiter(options: {
  requestsPerSecond: number;
  wallMs: () => number;
  sleep: Sleep;
}): RateLimiter {
  const { requestsPerSecond: maxRate, wallMs, sleep } = options;
  let rate = maxRate;
  let nextMs = Number.NEGATIVE_INFINITY;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let slowedAtMs = Number.NEGATIVE_INFINITY;
  let queue: Promise<unknown> = Promise.resolve();

  async function nextSlot(maxPauseMs: number, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const nowMs = wallMs();
      const intervalMs = 1000 / rate;
      if (pausedUntilMs - nowMs > maxPauseMs) throw pausedTooLong(pausedUntilMs - nowMs, maxPauseMs);
      // A wall clock that was set back must not make a request wait for more than one interval.
      nextMs = Math.min(nextMs, nowMs + intervalMs);
      const waitMs = Math.max(nextMs, pausedUntilMs) - nowMs;
      if (waitMs > 0) {
        await pause(waitMs, sleep, signal);
        continue;
      }
      nextMs = (nowMs - nextMs < TIMER_DELAY_MS ? nextMs : nowMs) + intervalMs;
      return;
    }
  }

  return {
    get requestsPerSecond() {
      return rate;
    },
    take(maxPauseMs, signal) {
      const slot = queue.then(() => nextSlot(maxPauseMs, signal));
      queue = slot.catch(() => undefined);
      return slot;
    },
    slowDown(sentMs) {
      // Several requests under way are throttled together: that counts once.
      if (sentMs < slowedAtMs) return;
      slowedAtMs = wallMs();
      rate = Math.max(maxRate * MIN_SHARE, rate * DECREASE_FACTOR);
    },
    speedUp() {
      rate = Math.min(maxRate, rate + maxRate * INCREASE_SHARE);
    },
    pauseFor(ms) {
      pausedUntilMs = Math.max(pausedUntilMs, wallMs() + ms);
    },
  };
}

/** The service requests a longer pause than a run waits. */
export function pausedTooLong(pauseMs: number, maxPauseMs: number): BrandReportsError {
  const seconds = (ms: number) => `${Math.ceil(ms / 1000)} s`;
  return new BrandReportsError(
    'transient',
    'retry_after',
    `the service requests a pause of ${seconds(pauseMs)} (Retry-After), but a run waits at most ${seconds(maxPauseMs)}; a later run continues`,
  );
}

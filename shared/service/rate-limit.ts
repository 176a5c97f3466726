import { BrandReportsError } from '../errors.ts';
import { type Sleep, pause } from './retry.ts';

/** When requests to one brand's service may begin; shared by everything that asks it. */
export interface RateLimiter {
  /**
   * Resolves when the next request may begin, in the order of asking.
   * @throws BrandReportsError `transient` where the service has asked for a longer pause than `maxPauseMs`
   */
  take(maxPauseMs: number, signal?: AbortSignal): Promise<void>;
  /** The service pushed back a request sent at `sentMs`: half the rate. */
  slowDown(sentMs: number): void;
  /** A request went well: a little more rate, up to the one set. */
  speedUp(): void;
  /** Nothing is sent for so long. */
  pauseFor(ms: number): void;
  /** The rate now. */
  readonly requestsPerSecond: number;
}

const decrease = 0.5;
const increase = 0.02;
const lowest = 1 / 32;
/** Timers wake late, by up to so much; that is no reason for the next request to be late too. */
const lateMs = 20;

export function createRateLimiter(options: {
  requestsPerSecond: number;
  wallMs: () => number;
  sleep: Sleep;
}): RateLimiter {
  const { requestsPerSecond: most, wallMs, sleep } = options;
  let rate = most;
  let nextMs = Number.NEGATIVE_INFINITY;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let slowedAtMs = Number.NEGATIVE_INFINITY;
  let queue: Promise<unknown> = Promise.resolve();

  async function turn(maxPauseMs: number, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const nowMs = wallMs();
      const intervalMs = 1000 / rate;
      if (pausedUntilMs - nowMs > maxPauseMs) throw pausedTooLong(pausedUntilMs - nowMs, maxPauseMs);
      // A wall clock that was set back must not make a request wait for more than its turn.
      nextMs = Math.min(nextMs, nowMs + intervalMs);
      const waitMs = Math.max(nextMs, pausedUntilMs) - nowMs;
      if (waitMs > 0) {
        await pause(waitMs, sleep, signal);
        continue;
      }
      nextMs = (nowMs - nextMs < lateMs ? nextMs : nowMs) + intervalMs;
      return;
    }
  }

  return {
    get requestsPerSecond() {
      return rate;
    },
    take(maxPauseMs, signal) {
      const mine = queue.then(() => turn(maxPauseMs, signal));
      queue = mine.catch(() => undefined);
      return mine;
    },
    slowDown(sentMs) {
      // Several requests under way meet the same wall: it counts once.
      if (sentMs < slowedAtMs) return;
      slowedAtMs = wallMs();
      rate = Math.max(most * lowest, rate * decrease);
    },
    speedUp() {
      rate = Math.min(most, rate + most * increase);
    },
    pauseFor(ms) {
      pausedUntilMs = Math.max(pausedUntilMs, wallMs() + ms);
    },
  };
}

/** The service asks for more patience than a run has. */
export function pausedTooLong(pauseMs: number, maxPauseMs: number): BrandReportsError {
  const seconds = (ms: number) => `${Math.ceil(ms / 1000)} s`;
  return new BrandReportsError(
    'transient',
    'retry_after',
    `the service asks for no request within ${seconds(pauseMs)} (Retry-After), a run waits ${seconds(maxPauseMs)} at most; a later run goes on`,
  );
}

/**
 * Limits the rate of requests to one brand's service. Without it, several days in flight would send bursts that the
 * setting `requestsPerSecond` forbids. The request to send is chosen when its slot arrives. A throttled response halves
 * the rate, each success raises it by 2 % of the highest rate, and `Retry-After` pauses all requests. A request that
 * gets no slot within the time of the run fails.
 */
import { MINUTE_MS } from '../days.ts';
import { BrandReportsError } from '../errors.ts';
import type { RateSource, Turn } from '../ports.ts';
import { createRequestQueue, waitInQueue } from './request-queue.ts';
import { type Sleep, sleepUnlessAborted } from './retry.ts';

export type RateLimiter = ReturnType<typeof createRateLimiter>;

const DECREASE_FACTOR = 0.5;
/** Shares of the highest rate. */
const INCREASE_SHARE = 0.02;
const MIN_SHARE = 1 / 32;
/** Timers wake up to this late. The next request must not be late because of it. */
const TIMER_DELAY_MS = 20;

/** How long a change of the highest rate may stay unnoticed. */
const RECHECK_MS = 1_000;

/**
 * A run that sends nothing waits this long for a slot even if its time is over. So it completes a unit of work however
 * little time it has, and the rate of a run that died is free after half of this time.
 */
const PATIENCE_MS = MINUTE_MS;

/** A rate that is not shared with other runs. */
export function fixedRate(requestsPerSecond: number): RateSource {
  return { requestsPerSecond, claim: async () => {} };
}

/**
 * Creates the limiter of one brand. Its times are milliseconds of a monotonic clock.
 * @param options `highest` is the current highest rate; while it is 0 every request waits. `leftMs` is how long the run
 * may still work; missing: without a limit. `refusePause` returns the error of requests that do not wait for such a long
 * pause; `undefined` if they wait
 */
export function createRateLimiter(options: {
  highest: RateSource;
  refusePause: (pauseMs: number) => BrandReportsError | undefined;
  leftMs?: () => number;
  monotonicMs: () => number;
  sleep: Sleep;
}) {
  const { highest, refusePause, leftMs = () => Number.POSITIVE_INFINITY, monotonicMs, sleep } = options;
  const queue = createRequestQueue();
  let share = 1;
  let highestBefore = highest.requestsPerSecond;
  /** When the last request was due to start; finite, because an interval may be infinite. */
  let lastMs = -Number.MAX_VALUE;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let waitingSinceMs: number | undefined;
  let slowedAtMs = Number.NEGATIVE_INFINITY;
  let isServing = false;
  let wake = () => {};

  async function serve(): Promise<void> {
    isServing = true;
    for (;;) {
      // Requests that are made together are all compared before the first of them is sent.
      await Promise.resolve();
      const pauseMs = pausedUntilMs - monotonicMs();
      refuseLongPause(pauseMs);
      if (queue.size === 0) break;
      if (pauseMs > 0) {
        await sleepUntilWoken(pauseMs);
        continue;
      }
      await highest.claim().catch(failAll);
      const nowMs = monotonicMs();
      const waitMs = nextSlotMs(nowMs) - nowMs;
      if (waitMs > 0) {
        refuseLateSlot(nowMs, waitMs);
        if (queue.size > 0) await sleepUntilWoken(Math.min(waitMs, RECHECK_MS));
        continue;
      }
      lastMs = -waitMs < TIMER_DELAY_MS ? nowMs + waitMs : nowMs;
      queue.next()?.start();
      waitingSinceMs = queue.size > 0 ? nowMs : undefined;
    }
    isServing = false;
  }

  function failAll(reason: unknown): void {
    for (const { fail } of queue.items()) fail(reason);
  }

  function nextSlotMs(nowMs: number): number {
    // After a rise one interval passes first, because another run may just have used the rate that it gave up.
    if (highest.requestsPerSecond > highestBefore) lastMs = nowMs;
    highestBefore = highest.requestsPerSecond;
    return lastMs + 1000 / (highestBefore * share);
  }

  function refuseLongPause(pauseMs: number): void {
    const refusal = pauseMs > 0 ? refusePause(pauseMs) : undefined;
    if (refusal) failAll(refusal);
  }

  /** @param waitMs infinite while the rate is 0, which may change at any moment */
  function refuseLateSlot(nowMs: number, waitMs: number): void {
    const sinceMs = Math.max(waitingSinceMs ?? nowMs, pausedUntilMs);
    const patienceMs = Math.max(leftMs(), sinceMs + PATIENCE_MS - nowMs);
    const isInTime = waitMs === Number.POSITIVE_INFINITY ? patienceMs > 0 : waitMs <= patienceMs;
    if (isInTime) return;
    const rate = Number((highest.requestsPerSecond * share).toPrecision(2));
    const message = `no request fits into the rest of the run's time: this run's share of the brand's rate is ${rate} requests per second at present; a later run continues`;
    failAll(new BrandReportsError('transient', 'out_of_time', message));
  }

  async function sleepUntilWoken(ms: number): Promise<void> {
    const woken = new AbortController();
    wake = () => woken.abort();
    await sleepUnlessAborted(ms, sleep, woken.signal);
  }

  return {
    refusePause,
    get requestsPerSecond(): number {
      return highest.requestsPerSecond * share;
    },
    /**
     * Resolves when this request may start, with the time of its slot.
     * @throws BrandReportsError the refusal of a pause that the service requests; `transient` `stopped`, `out_of_time`
     */
    async take(turn: Turn, signal?: AbortSignal): Promise<number> {
      const started = waitInQueue(queue, turn, signal);
      waitingSinceMs ??= monotonicMs();
      if (isServing) refuseLongPause(pausedUntilMs - monotonicMs());
      else void serve();
      // The request that the limiter slept for may have left the queue.
      await started.catch((error: unknown) => {
        wake();
        throw error;
      });
      return monotonicMs();
    },
    /** Halves the rate, because the service throttled the request of the slot at `slotMs`. */
    slowDown(slotMs: number): void {
      // Several requests under way are throttled together: that counts once.
      if (slotMs < slowedAtMs) return;
      slowedAtMs = monotonicMs();
      share = Math.max(MIN_SHARE, share * DECREASE_FACTOR);
    },
    speedUp(): void {
      share = Math.min(1, share + INCREASE_SHARE);
    },
    pauseFor(ms: number): void {
      pausedUntilMs = Math.max(pausedUntilMs, monotonicMs() + ms);
      refuseLongPause(pausedUntilMs - monotonicMs());
    },
  };
}

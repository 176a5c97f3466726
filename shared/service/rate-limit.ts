/**
 * Limits the rate of requests to one brand's service. Without it, several days in flight would send bursts that the
 * setting `requestsPerSecond` forbids. The request to send is chosen when its slot arrives. A throttled response halves
 * the rate, each success raises it by 2 % of the highest rate, and `Retry-After` pauses all requests. A request that
 * gets no slot within the time of the run fails.
 */
import { MINUTE_MS } from '../base/days.ts';
import { BrandReportsError } from '../base/errors.ts';
import type { Turn } from '../ports.ts';
import { createRequestQueue } from './request-queue.ts';
import { type Sleep, sleepUnlessAborted, stopped, throwIfStopped } from './retry.ts';

export type RateLimiter = ReturnType<typeof createRateLimiter>;

const DECREASE_FACTOR = 0.5;
/** Shares of the highest rate. */
const INCREASE_SHARE = 0.02;
const MIN_SHARE = 1 / 32;
/** Timers wake up to this late. The next request must not be late because of it. */
const TIMER_DELAY_MS = 20;

/** A run waits this long for a slot even if its time is over, so that it completes a unit of work. */
const PATIENCE_MS = MINUTE_MS;

/**
 * Creates the limiter of one brand. Its times are milliseconds of a monotonic clock.
 * @param options `claim` waits until this run may send requests, and returns since when: another run may have sent requests
 * until then. `leftMs` is how long the run may still work; missing: without a limit. `refusePause` returns the error of
 * requests that do not wait for such a long pause; `undefined` if they wait
 */
export function createRateLimiter(options: {
  requestsPerSecond: number;
  claim: () => Promise<number>;
  refusePause: (pauseMs: number) => BrandReportsError | undefined;
  leftMs?: () => number;
  monotonicMs: () => number;
  sleep: Sleep;
}) {
  const { claim, refusePause, leftMs = () => Number.POSITIVE_INFINITY, monotonicMs, sleep } = options;
  const queue = createRequestQueue<Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>>();
  let share = 1;
  const rate = () => options.requestsPerSecond * share;
  /** When the last request was due to start; finite, because an interval may be infinite. */
  let lastMs = -Number.MAX_VALUE;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
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
      const sinceMs = await claim().catch(failAll);
      if (sinceMs === undefined) continue;
      const nowMs = monotonicMs();
      lastMs = Math.max(lastMs, sinceMs);
      const waitMs = lastMs + 1000 / rate() - nowMs;
      if (waitMs > 0) {
        refuseLateSlot(waitMs);
        if (queue.size > 0) await sleepUntilWoken(waitMs);
        continue;
      }
      lastMs = -waitMs < TIMER_DELAY_MS ? nowMs + waitMs : nowMs;
      queue.next()?.resolve();
    }
    isServing = false;
  }

  function failAll(reason: unknown): undefined {
    for (let each = queue.next(); each; each = queue.next()) each.reject(reason);
  }

  function refuseLongPause(pauseMs: number): void {
    const refusal = pauseMs > 0 ? refusePause(pauseMs) : undefined;
    if (refusal) failAll(refusal);
  }

  function refuseLateSlot(waitMs: number): void {
    if (waitMs <= Math.max(leftMs(), PATIENCE_MS)) return;
    const message = `no request fits into the rest of the run's time: the rate is ${Number(rate().toPrecision(2))} requests per second at present; a later run continues`;
    failAll(new BrandReportsError('transient', 'out_of_time', message));
  }

  async function sleepUntilWoken(ms: number): Promise<void> {
    const woken = new AbortController();
    wake = () => woken.abort();
    await sleepUnlessAborted(ms, sleep, woken.signal);
  }

  return {
    refusePause,
    rate,
    /**
     * Resolves when this request may start, with the time of its slot.
     * @throws BrandReportsError the refusal of a pause that the service requests; `transient` `stopped`, `out_of_time`
     */
    async take(turn: Turn, signal?: AbortSignal): Promise<number> {
      throwIfStopped(signal);
      const { promise: started, ...waiting } = Promise.withResolvers<void>();
      const remove = queue.add(turn, waiting);
      const stop = () => {
        remove();
        waiting.reject(stopped());
      };
      signal?.addEventListener('abort', stop, { once: true });
      if (isServing) refuseLongPause(pausedUntilMs - monotonicMs());
      else void serve();
      // The request that the limiter slept for may have left the queue.
      try {
        await started;
        return monotonicMs();
      } catch (error) {
        wake();
        throw error;
      } finally {
        signal?.removeEventListener('abort', stop);
      }
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

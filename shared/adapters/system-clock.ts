import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../ports.ts';

/** The machine's clock; `now`, where given, replaces the current time (not that of leases and backoff). */
export function systemClock(now?: Date): Clock {
  return {
    now: () => now ?? new Date(),
    ...(now && { fixedNow: now }),
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    every(ms, tick) {
      const timer = setInterval(tick, ms).unref();
      return () => clearInterval(timer);
    },
  };
}

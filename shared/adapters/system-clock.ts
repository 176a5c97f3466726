import { setTimeout as sleep } from 'node:timers/promises';
import { configError } from '../errors.ts';
import type { Clock } from '../ports.ts';

/**
 * @param now the instant by which a run plans instead
 * @throws BrandReportsError `config` if `now` is in the future: days that have not happened have no data
 */
export function systemClock(now?: Date): Clock {
  if (now && now.getTime() > Date.now())
    throw configError(
      'now_ahead',
      `now ${now.toISOString()} is in the future. Allowed: an instant up to ${new Date().toISOString()}.`,
    );
  return {
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

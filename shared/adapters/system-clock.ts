import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, fullJitterMs } from '../base/backoff.ts';
import { configError } from '../base/errors.ts';
import type { Clock } from '../ports.ts';

/** @throws BrandReportsError `config` if `now`, by which a run plans, is in the future: such days have no data */
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

/** @param retry 0 for the first retry */
export async function sleepWithJitter(retry: number, backoff: Backoff): Promise<void> {
  await sleep(fullJitterMs(retry, backoff, Math.random()));
}

/** A unique id that sorts by the second of its creation: `20260131t091500-4f1c9a2b7d60`. */
export function newId(): string {
  const second = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').toLowerCase();
  // The 48 bits of a UUID that are all random. Node draws the bits of many UUIDs at once.
  return `${second}-${randomUUID().slice(-12)}`;
}

import type { Clock } from '../../shared/ports.ts';

/** A clock that shows the time of something that tests set, and never moves by itself. */
export function stillClock(of: { nowMs: number }): Clock {
  return {
    now: () => new Date(of.nowMs),
    wallMs: () => of.nowMs,
    monotonicMs: () => 0,
    sleep: async () => {},
    every: () => () => {},
  };
}

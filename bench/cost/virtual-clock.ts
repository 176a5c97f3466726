import type { Clock } from '../../shared/ports.ts';

export interface VirtualClock extends Clock {
  /** Sets the time, as for the start of another process. */
  startAt(ms: number): void;
}

/**
 * A clock that moves only by sleeping, and then at once; timers fire when the clock passes them. So the time that a run
 * waits, for example for its rate limit, is measured without waiting.
 */
export function virtualClock(): VirtualClock {
  let nowMs = 0;
  const timers = new Set<{ everyMs: number; nextMs: number; tick: () => void }>();

  function passUntil(ms: number): void {
    for (const timer of timers)
      while (timer.nextMs <= ms) {
        timer.nextMs += timer.everyMs;
        timer.tick();
      }
    nowMs = Math.max(nowMs, ms);
  }

  return {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    async sleep(ms) {
      passUntil(nowMs + ms);
    },
    every(everyMs, tick) {
      const timer = { everyMs, nextMs: nowMs + everyMs, tick };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    startAt(ms) {
      nowMs = ms;
    },
  };
}

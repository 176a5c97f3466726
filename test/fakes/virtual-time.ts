import { setImmediate } from 'node:timers/promises';

/** A clock that moves only when code sleeps on it or a test advances it, so that no test waits. */
export function virtualTime(startMs: number) {
  let nowMs = startMs;
  const slept: number[] = [];
  return {
    slept,
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    advance(ms: number) {
      nowMs += ms;
    },
    sleep: async (ms: number, signal?: AbortSignal) => {
      slept.push(ms);
      // Whatever can go on without waiting does so first, as with a real timer.
      await setImmediate();
      if (!signal?.aborted) nowMs += ms;
    },
  };
}

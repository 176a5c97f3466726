import { setImmediate } from 'node:timers/promises';

/** Moves only when code sleeps on it or a test advances it, so that no test waits. */
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
      // As with a real timer, code that does not wait runs first.
      await setImmediate();
      if (!signal?.aborted) nowMs += ms;
    },
  };
}

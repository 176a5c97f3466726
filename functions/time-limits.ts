import { MINUTE_MS } from '../shared/days.ts';

/** The part of Lambda's time that is reserved for publications in progress and for the response. */
const RESERVE_MS = 2 * MINUTE_MS;

/**
 * Limits a run so that it ends before Lambda's timeout. In the reserve the run starts nothing new. Halfway through the
 * reserve its requests are aborted, and publications end before the last eighth.
 */
export function timeLimits(remainingMs: number) {
  const reserveMs = Math.min(RESERVE_MS, remainingMs / 4);
  const endMs = performance.now() + remainingMs;
  return {
    deadline: { softMs: endMs - reserveMs, hardMs: endMs - reserveMs / 8 },
    signal: AbortSignal.timeout(Math.max(0, Math.floor(remainingMs - reserveMs / 2))),
  };
}

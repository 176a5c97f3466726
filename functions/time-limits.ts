import { MINUTE_MS } from '../shared/days.ts';

/** Of Lambda's time, reserved for publications in progress and for the response. */
const RESERVE_MS = 2 * MINUTE_MS;

/**
 * Limits of a run that ends before Lambda's timeout: in the reserve nothing new starts, halfway through it requests in
 * progress are aborted, and publications end before its last eighth.
 */
export function timeLimits(remainingMs: number) {
  const reserveMs = Math.min(RESERVE_MS, remainingMs / 4);
  const endMs = performance.now() + remainingMs;
  return {
    deadline: { softMs: endMs - reserveMs, hardMs: endMs - reserveMs / 8 },
    signal: AbortSignal.timeout(Math.max(0, Math.floor(remainingMs - reserveMs / 2))),
  };
}

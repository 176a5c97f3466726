// Computes how long to wait before another attempt. Without jitter, callers that failed together would try again
// together and fail together. To change a retry rule, change its constant, whose name ends in `_RETRY`.

export interface Backoff {
  /** The longest wait before the first retry. */
  baseMs: number;
  capMs: number;
}

/** Doubles from `baseMs` up to `capMs`. @param retry 0 for the first retry */
export function exponentialMs(retry: number, { baseMs, capMs }: Backoff): number {
  return Math.min(capMs, baseMs * 2 ** retry);
}

/** A random wait between 0 and the exponential backoff. @param retry 0 for the first retry @param random in [0, 1) */
export function fullJitterMs(retry: number, backoff: Backoff, random: number): number {
  return random * exponentialMs(retry, backoff);
}

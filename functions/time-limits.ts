/** What is kept of Lambda's time, for the publications under way and for the answer. */
const REST_MS = 120_000;

/** Nothing new is begun in the rest, requests under way are given up halfway, publications are over in good time. */
export function timeLimits(remainingMs: number) {
  const restMs = Math.min(REST_MS, remainingMs / 4);
  const endMs = Date.now() + remainingMs;
  return {
    deadline: { softMs: endMs - restMs, hardMs: endMs - restMs / 8 },
    signal: AbortSignal.timeout(Math.max(0, Math.floor(remainingMs - restMs / 2))),
  };
}

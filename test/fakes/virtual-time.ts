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
    sleep: async (ms: number) => {
      slept.push(ms);
      nowMs += ms;
    },
  };
}

/** Time that passes only by sleeping, at once. */
export function virtualTime(startMs: number) {
  let nowMs = startMs;
  const slept: number[] = [];
  return {
    slept,
    wallMs: () => nowMs,
    pass(ms: number) {
      nowMs += ms;
    },
    sleep: async (ms: number) => {
      slept.push(ms);
      nowMs += ms;
    },
  };
}

/** When a run has to end, in milliseconds of the monotonic clock (`Clock.monotonicMs`). */
export interface Deadline {
  /** After this time no new work starts. */
  softMs: number;
  /** After this time the process may be ended: a publication must be over. */
  hardMs: number;
}

export type TimeBudget = ReturnType<typeof createTimeBudget>;

/**
 * The time that a run has left. Without `tryStartDay`, a run with too little time would stop before its first day, and
 * so would every later run.
 * @param deadline it may move while the run works (Ctrl-C moves it to now); missing: no time limit
 */
export function createTimeBudget(deadline: Deadline | undefined, monotonicMs: () => number) {
  let daysStarted = 0;
  const until = (end: keyof Deadline) =>
    deadline ? Math.max(0, deadline[end] - monotonicMs()) : Number.POSITIVE_INFINITY;
  const leftMs = () => until('softMs');
  const untilOverMs = () => until('hardMs');
  const isUp = () => leftMs() === 0;
  return {
    // Both are 0 if the time has come, and Infinity without a limit.
    leftMs,
    untilOverMs,
    isUp,
    /** Whether the process may be ended at any moment. */
    isOver: () => untilOverMs() === 0,
    /** Counts a day as started, unless the time is up and the run has started one: every run reads at least one. */
    tryStartDay(): boolean {
      if (isUp() && daysStarted > 0) return false;
      daysStarted += 1;
      return true;
    },
  };
}

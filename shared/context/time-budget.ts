/** Until when a run may work, in milliseconds of the clock that nobody sets (`Clock.monotonicMs`). */
export interface Deadline {
  /** From then on nothing new starts. */
  softMs: number;
  /** From then on the process may be gone: a publication must be over. */
  hardMs: number;
}

/**
 * The time that a run has left. Without `tryStartDay` a run with too little time would stop before its first day, and
 * so would every run after it; without `fits` the end of the process would interrupt a publication, in every run.
 */
export interface TimeBudget {
  /** Nothing new should start. */
  isUp(): boolean;
  /** How long new work may still start, in milliseconds: 0 where time is up, Infinity without a limit. */
  leftMs(): number;
  /** How long until the process may be gone, in milliseconds: 0 where it may be gone, Infinity without a limit. */
  untilOverMs(): number;
  /** The process may be gone at any moment. */
  isOver(): boolean;
  /** Counts a day as started, unless time is up and the run has started one before: every run does one unit of work. */
  tryStartDay(): boolean;
  /** The last day was not read after all: it does not count as started. */
  giveDayBack(): void;
  /** Whether work of `needsMs` may start: it ends in time, or the run has done nothing else and never will have more. */
  fits(needsMs: number): boolean;
}

/** @param deadline may move while the run works (Ctrl-C moves it to now); missing: no time limit */
export function createTimeBudget(deadline: Deadline | undefined, monotonicMs: () => number): TimeBudget {
  let daysStarted = 0;
  const until = (end: keyof Deadline) =>
    deadline ? Math.max(0, deadline[end] - monotonicMs()) : Number.POSITIVE_INFINITY;
  const leftMs = () => until('softMs');
  const untilOverMs = () => until('hardMs');
  const isUp = () => leftMs() === 0;
  return {
    leftMs,
    untilOverMs,
    isUp,
    isOver: () => untilOverMs() === 0,
    giveDayBack() {
      daysStarted -= 1;
    },
    tryStartDay() {
      if (isUp() && daysStarted > 0) return false;
      daysStarted += 1;
      return true;
    },
    fits(needsMs) {
      if (deadline === undefined || monotonicMs() + needsMs <= deadline.hardMs) return true;
      return daysStarted === 1 && !isUp();
    },
  };
}

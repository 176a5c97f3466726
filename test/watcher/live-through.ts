import { MINUTE_MS } from '../../shared/days.ts';

/** One watcher run in a history: the time since the run before, the ids of the problems, and how the run ends. */
export interface HistoricWatch<Fate> {
  afterMinutes: number;
  wrong: string[];
  fate: Fate;
}

/** Performs the runs one after another. @returns the time of the last run, in milliseconds */
export function liveThrough<Fate>(
  history: readonly HistoricWatch<Fate>[],
  startMs: number,
  run: (nowMs: number, wrong: readonly string[], fate: Fate) => void,
): number {
  let nowMs = startMs;
  for (const { afterMinutes, wrong, fate } of history) {
    nowMs += afterMinutes * MINUTE_MS;
    run(nowMs, wrong, fate);
  }
  return nowMs;
}

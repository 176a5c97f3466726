import { MINUTE_MS } from '../../shared/days.ts';

/** One look in a history: how long after the one before, the ids of what is wrong then, and how the look ends. */
export interface HistoricWatch<Fate> {
  afterMinutes: number;
  wrong: string[];
  fate: Fate;
}

/** Looks one after another. @returns when the last look was, in milliseconds */
export function liveThrough<Fate>(
  history: readonly HistoricWatch<Fate>[],
  startMs: number,
  look: (nowMs: number, wrong: readonly string[], fate: Fate) => void,
): number {
  let nowMs = startMs;
  for (const { afterMinutes, wrong, fate } of history) {
    nowMs += afterMinutes * MINUTE_MS;
    look(nowMs, wrong, fate);
  }
  return nowMs;
}

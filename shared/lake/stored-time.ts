/*
 * A stored time that is later than the clock counts as now, because a machine whose clock was ahead wrote it. So it makes
 * nothing old, and no lease, pause or reading waits until the clock reaches it.
 */
import { MINUTE_MS } from '../base/days.ts';

/** The real clocks of a process. Commands that send no request have only the machine's, for both. */
export interface RealClocks {
  /** The earlier of the machine's and the service's clock. */
  earlierMs: () => number;
  laterMs: () => number;
}

/** Correct clocks differ by less. */
const TOLERANCE_MS = 10 * MINUTE_MS;

export function oneClock(nowMs: () => number): RealClocks {
  return { earlierMs: nowMs, laterMs: nowMs };
}

/** For readers that want the document as it is stored. */
export const NO_CLOCKS: RealClocks = oneClock(() => Number.POSITIVE_INFINITY);

/** Whether a stored time is later than both clocks. @param waitMs for the end of a wait: its longest duration */
export function isAhead(time: string, { laterMs }: RealClocks, waitMs = 0): boolean {
  return Date.parse(time) - waitMs > laterMs() + TOLERANCE_MS;
}

export function nowOf({ earlierMs }: RealClocks): string {
  return new Date(earlierMs()).toISOString();
}

export function ageMs(time: string, nowMs: number): number {
  return Math.max(0, nowMs - Date.parse(time));
}

/** Whether a stored time is less than `ms` away. A time that is further ahead holds nothing up. */
export function isWithin(ms: number, time: string, nowMs: number): boolean {
  return Math.abs(nowMs - Date.parse(time)) < ms;
}

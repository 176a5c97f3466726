/*
 * Reads a schedule, which is a rate of EventBridge Scheduler. Its interval decides when a report is overdue. When clocks
 * change, the time between two starts may be up to an hour longer.
 */
import { intervalMs } from '../days.ts';

/** The forms of a schedule, for messages. */
export const RATES =
  'a rate of 1 to 99999 minutes, hours or days: rate(15 minutes), rate(6 hours), rate(1 day)';

export const RATE = /^rate\(([1-9]\d{0,4} (?:minute|hour|day)s?)\)$/;

/** `rate(6 hours)` in milliseconds. @param schedule a checked setting */
export function rateMs(schedule: string): number {
  return intervalMs(RATE.exec(schedule)?.[1] ?? schedule);
}

/**
 * About when a schedule starts next, as wall time. A deployment spreads starts over the hour, so a rate counts from its
 * last known start. Without a known start, the next one is at most one interval away.
 * @param nowMs the wall time as if it were UTC, like the result @param lastMs the last start
 */
export function nextStartMs(schedule: string, nowMs: number, lastMs = nowMs): number {
  const everyMs = rateMs(schedule);
  return lastMs + everyMs * Math.max(1, Math.floor((nowMs - lastMs) / everyMs) + 1);
}

/*
 * Computes the longest gap of a schedule. Without it, a monthly report would count as overdue for half of each month,
 * and an alarm would wait for the wrong time. A schedule is text that EventBridge Scheduler accepts, `rate(…)` or
 * `cron(…)` (cron.ts). Settings refuse a schedule without a known longest gap. The gap is in wall time: when clocks
 * change, a gap is up to an hour longer.
 */
import { intervalMs } from '../days.ts';
import { longestCronGapMs, nextCronStart } from './cron.ts';

/** The forms of a schedule, for messages. */
const FORMS = 'e.g. rate(1 hour), rate(1 day), cron(5 6 * * ? *)';

/** `rate(6 hours)` in milliseconds; `undefined` for a cron expression. */
export function rateMs(schedule: string): number | undefined {
  const [, every] = /^rate\((.+)\)$/.exec(schedule) ?? [];
  return every === undefined ? undefined : intervalMs(every);
}

/**
 * The longest time from one start to the next, in milliseconds.
 * @throws RangeError for a schedule that has a `scheduleProblem`
 */
export function maxGapMs(schedule: string): number {
  const gap = cache.get(schedule) ?? longestGapMs(schedule);
  cache.set(schedule, gap);
  return gap;
}

/**
 * About when a schedule starts next, as wall time. A deployment spreads rates over the hour, so a rate counts from its
 * last known start. Without a known start, the next one is at most one interval away.
 * @param nowMs the wall time as if it were UTC, like the result @param lastMs the last start
 */
export function nextStartMs(schedule: string, nowMs: number, lastMs = nowMs): number | undefined {
  const [, cron] = CRON.exec(schedule) ?? [];
  if (cron !== undefined) return nextCronStart(cron, nowMs);
  const everyMs = maxGapMs(schedule);
  return lastMs + everyMs * Math.max(1, Math.floor((nowMs - lastMs) / everyMs) + 1);
}

/** What is allowed instead of this schedule; `undefined` if the schedule can be used. */
export function scheduleProblem(schedule: string): string | undefined {
  try {
    maxGapMs(schedule);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RangeError) return thrown.message;
    throw thrown;
  }
}

const CRON = /^cron\((.*)\)$/;

/** A cache: evaluating an expression takes milliseconds, and every day of a report needs it. */
const cache = new Map<string, number>();

function longestGapMs(schedule: string): number {
  const [rate] = /^rate\([1-9]\d{0,4} (?:minute|hour|day)s?\)$/.exec(schedule) ?? [];
  const [, cron] = CRON.exec(schedule) ?? [];
  if (cron !== undefined) return longestCronGapMs(cron);
  const everyMs = rate === undefined ? undefined : rateMs(rate);
  if (everyMs === undefined) throw new RangeError(FORMS);
  return everyMs;
}

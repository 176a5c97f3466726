import { intervalMs } from '../days.ts';

// A schedule is text as EventBridge Scheduler takes it: a rate or a cron expression.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `rate(6 hours)` in milliseconds; `undefined` of a cron expression. */
export function rateMs(schedule: string): number | undefined {
  const [, every] = /^rate\((.+)\)$/.exec(schedule) ?? [];
  return every === undefined ? undefined : intervalMs(every);
}

/**
 * How long the schedule waits from one turn to the next, at most. Of cron expressions the usual ones are understood:
 * every hour, some hours of a day, working days; any other is taken for a weekly one.
 */
export function maxGapMs(schedule: string): number {
  const everyMs = rateMs(schedule);
  if (everyMs !== undefined) return everyMs;
  const [, minutes = '', hours = '', days = ''] =
    /^cron\((\S+) (\S+) (\S+ \S+ \S+) \S+\)$/.exec(schedule) ?? [];
  if (/^\? \* (MON-FRI|2-6)$/.test(days)) return 3 * DAY_MS;
  if (!/^[*?] \* [*?]$/.test(days)) return 7 * DAY_MS;
  if (hours === '*') return stepOf(minutes, HOUR_MS / MINUTE_MS) * MINUTE_MS;
  return stepOf(hours, DAY_MS / HOUR_MS) * HOUR_MS;
}

/** How far apart the turns of a field such as `*`, `3/5` are; of any other, once in the whole of it. */
function stepOf(field: string, whole: number): number {
  if (field === '*') return 1;
  const [, step] = /^(?:\*|\d+)\/(\d+)$/.exec(field) ?? [];
  return step === undefined ? whole : Math.min(Math.max(1, Number(step)), whole);
}

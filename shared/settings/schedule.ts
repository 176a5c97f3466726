import { intervalMs } from '../days.ts';

/** The forms of a schedule of EventBridge Scheduler that the settings allow, for messages. */
export const RATES =
  'a rate of 1 to 99999 minutes, hours or days: rate(15 minutes), rate(6 hours), rate(1 day)';

export const HOURLY = 'rate(1 hour)';

export const RATE = /^rate\(([1-9]\d{0,4} (?:minute|hour|day)s?)\)$/;

/** `rate(6 hours)` in milliseconds. @param schedule a checked setting */
export function rateMs(schedule: string): number {
  return intervalMs(RATE.exec(schedule)?.[1] ?? schedule);
}

import { HOUR_MS } from '../shared/days.ts';
import { maxGapMs } from '../shared/settings/schedule.ts';

/** The period of the alarms: with a shorter one CloudWatch allows a window of a day at most. */
export const PERIOD_HOURS = 1;
/** CloudWatch allows no window longer than a week. */
const MAX_WINDOW_HOURS = 168;

/**
 * For how many hours no data is normal: the longest gap of the schedule, one hour for a run that is late or long, and
 * the current hour. `undefined` where that is longer than a window may be: no alarm can then tell a schedule that
 * stopped from one that waits.
 */
export function missingDataHours(schedule: string): number | undefined {
  const hours = Math.ceil(maxGapMs(schedule) / HOUR_MS) + 2;
  return hours <= MAX_WINDOW_HOURS ? hours : undefined;
}

/** One failure is left to the next run where that follows within the hour; otherwise the first one raises the alarm. */
export function failureWindow(schedules: readonly string[]): {
  evaluationPeriods: number;
  datapointsToAlarm: number;
} {
  const isHourly = schedules.every((schedule) => maxGapMs(schedule) <= HOUR_MS);
  return isHourly
    ? { evaluationPeriods: 3, datapointsToAlarm: 2 }
    : { evaluationPeriods: 1, datapointsToAlarm: 1 };
}

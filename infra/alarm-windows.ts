import { maxGapMs } from '../shared/settings/schedule.ts';

/** Alarms look at whole hours: a shorter period would allow a window of no more than a day. */
export const PERIOD_HOURS = 1;
/** CloudWatch takes no window longer than a week. */
const LONGEST_WINDOW_HOURS = 168;
const HOUR_MS = 3_600_000;

/**
 * For how long silence is a bad sign: a turn of the schedule, an hour for a run that is late or long, and the hour
 * under way. `undefined` where turns are so far apart that no alarm could tell a schedule that died from one that waits.
 */
export function missingDataHours(schedule: string): number | undefined {
  const hours = Math.ceil(maxGapMs(schedule) / HOUR_MS) + 2;
  return hours <= LONGEST_WINDOW_HOURS ? hours : undefined;
}

/** One failure is left to the next run where that comes within the hour; otherwise nobody waits for a second one. */
export function failureWindow(schedules: readonly string[]): {
  evaluationPeriods: number;
  datapointsToAlarm: number;
} {
  const isHourly = schedules.every((schedule) => maxGapMs(schedule) <= HOUR_MS);
  return isHourly
    ? { evaluationPeriods: 3, datapointsToAlarm: 2 }
    : { evaluationPeriods: 1, datapointsToAlarm: 1 };
}

import { rateMs } from '../shared/settings/schedule.ts';

/**
 * A schedule that does not start in the same second as the others. A rate counts from the moment of deployment, which
 * is the same one for all: those that divide the hour or the day become cron expressions with a minute of their own,
 * the others get a window in which Scheduler chooses. A cron expression is what somebody wanted, and stays.
 * @param slot the schedule's place among `slots`, from 0
 */
export function staggered(
  schedule: string,
  slot: number,
  slots: number,
): { expression: string; windowMinutes: number } {
  const everyMs = rateMs(schedule);
  if (everyMs === undefined) return exactly(schedule);
  const minutes = everyMs / 60_000;
  const offset = (withinMinutes: number) => Math.floor((withinMinutes * slot) / slots);
  if (minutes > 1 && minutes < HOUR && HOUR % minutes === 0)
    return exactly(`cron(${offset(minutes)}/${minutes} * * * ? *)`);
  if (minutes === HOUR) return exactly(`cron(${offset(HOUR)} * * * ? *)`);
  if (minutes === DAY) return exactly(`cron(${offset(HOUR)} ${HOUR_OF_A_DAILY_RUN} * * ? *)`);
  if (minutes % HOUR === 0 && DAY % minutes === 0)
    return exactly(`cron(${offset(HOUR)} 0/${minutes / HOUR} * * ? *)`);
  const expression = minutes === 1 ? 'rate(1 minute)' : `rate(${minutes} minutes)`;
  return { expression, windowMinutes: Math.min(minutes, MOST_WINDOW_MINUTES) };
}

function exactly(expression: string) {
  return { expression, windowMinutes: 0 };
}

const HOUR = 60;
const DAY = 24 * HOUR;
/** Late enough for yesterday to be closed, early enough to be in by the morning. */
const HOUR_OF_A_DAILY_RUN = 4;
const MOST_WINDOW_MINUTES = 15;

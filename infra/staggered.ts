import { MINUTE_MS } from '../shared/days.ts';
import { rateMs } from '../shared/settings/schedule.ts';

/**
 * A schedule that does not start at the same moment as the others. Rates count from the deployment, so all of them
 * would: rates that divide the hour or the day become cron expressions with a minute of their own, other rates get a
 * window in which Scheduler chooses the start. A cron expression stays as it is.
 * @param slot the schedule's number among `slots`, from 0
 */
export function staggered(
  schedule: string,
  slot: number,
  slots: number,
): { expression: string; windowMinutes: number } {
  const everyMs = rateMs(schedule);
  if (everyMs === undefined) return exactly(schedule);
  const minutes = everyMs / MINUTE_MS;
  const offset = (withinMinutes: number) => Math.floor((withinMinutes * slot) / slots);
  if (minutes > 1 && minutes < HOUR && HOUR % minutes === 0)
    return exactly(`cron(${offset(minutes)}/${minutes} * * * ? *)`);
  if (minutes === HOUR) return exactly(`cron(${offset(HOUR)} * * * ? *)`);
  if (minutes === DAY) return exactly(`cron(${offset(HOUR)} ${HOUR_OF_A_DAILY_RUN} * * ? *)`);
  if (minutes % HOUR === 0 && DAY % minutes === 0)
    return exactly(`cron(${offset(HOUR)} 0/${minutes / HOUR} * * ? *)`);
  const expression = minutes === 1 ? 'rate(1 minute)' : `rate(${minutes} minutes)`;
  return { expression, windowMinutes: Math.min(minutes, MAX_WINDOW_MINUTES) };
}

function exactly(expression: string) {
  return { expression, windowMinutes: 0 };
}

const HOUR = 60;
const DAY = 24 * HOUR;
/** Late enough for yesterday to be closed, early enough to be complete by the morning. */
const HOUR_OF_A_DAILY_RUN = 4;
const MAX_WINDOW_MINUTES = 15;

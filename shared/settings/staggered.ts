/*
 * Decides when the functions of a deployment start by themselves: each report of each brand in the brand's time zone,
 * and at different moments if the hour has room for them.
 */
import { MINUTE_MS } from '../days.ts';
import type { ReportRegistry } from '../reports/definition.ts';
import { rateMs } from './schedule.ts';
import type { Settings } from './settings.ts';

/** The starts of one report of one brand, as EventBridge Scheduler takes them. */
export interface Start {
  report: string;
  brand: string;
  timeZone: string;
  expression: string;
  /** Scheduler starts the function within this many minutes; 0: exactly at the minute. */
  windowMinutes: number;
}

/**
 * One start for each report that a brand has enabled. The reports of a brand are spread over the hour, because they
 * share its rate. The brands of a report are spread too, because one report takes longer than another.
 */
export function startsOf({ brands }: Pick<Settings, 'brands'>, reports: ReportRegistry): Start[] {
  const names = Object.keys(reports);
  const all = Object.entries(brands);
  const pairs = names.flatMap((report, nth) =>
    all.flatMap(([brand, { timeZone, reports: ofBrand }], index) => {
      const own = ofBrand[report];
      const phase = (nth / names.length + index / all.length) % 1;
      return own?.enabled ? [{ report, brand, timeZone, schedule: own.schedule, phase }] : [];
    }),
  );
  return pairs
    .sort((a, b) => a.phase - b.phase)
    .map(({ schedule, phase: _phase, ...pair }, slot) => ({
      ...pair,
      ...staggered(schedule, slot, pairs.length),
    }));
}

/**
 * A schedule that does not start at the same moment as the others. Rates count from the deployment, so all of them
 * would. Rates that divide the hour or the day become cron expressions with a minute of their own; other rates get a
 * window in which Scheduler chooses the start.
 * @param slot the schedule's number among `slots`, from 0
 */
export function staggered(
  schedule: string,
  slot: number,
  slots: number,
): { expression: string; windowMinutes: number } {
  const minutes = rateMs(schedule) / MINUTE_MS;
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

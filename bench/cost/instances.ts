/**
 * Computes how many instances of Lambda the starts of a deployment need, from the seconds of runs in the simulated day.
 */
import { reports } from '../../shared/reports/index.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { startsOf } from '../../shared/settings/staggered.ts';
import type { RunOfDay } from './steady-day.ts';

const HOURS = 24;
const MINUTE = 60;

export interface Instances {
  average: number;
  /** The maximum number of starts at the same moment, each at second zero of its minute. */
  worst: number;
  /** The longest wait of a start, in seconds, with at most so many instances. */
  longestWait: (quota: number) => number;
}

/**
 * @param settings with hourly rates
 * @param runs of one brand; all brands are in its zone, so their days end together
 */
export function instancesFor(settings: Settings, runs: readonly RunOfDay[]): Instances {
  const secondsOf = new Map(runs.map(({ report, hour, seconds }) => [`${report} ${hour}`, seconds]));
  const starts = Array.from({ length: HOURS }, (_, hour) => hour).flatMap((hour) =>
    startsOf(settings, reports).map(({ report, expression }) => ({
      at: (hour * MINUTE + Number(/^cron\((\d+) /.exec(expression)?.[1])) * MINUTE,
      seconds: secondsOf.get(`${report} ${hour}`) ?? 0,
    })),
  );
  starts.sort((a, b) => a.at - b.at);
  const waits = (quota: number) => {
    const freeAt: number[] = Array(quota).fill(0);
    return starts.map(({ at, seconds }) => {
      const first = freeAt.indexOf(Math.min(...freeAt));
      const began = Math.max(at, freeAt[first] ?? 0);
      freeAt[first] = began + seconds;
      return began - at;
    });
  };
  const running = (moment: number) =>
    starts.filter(({ at, seconds }) => at <= moment && moment < at + seconds).length;
  return {
    average: starts.reduce((sum, { seconds }) => sum + seconds, 0) / (HOURS * MINUTE * MINUTE),
    worst: Math.max(...[...new Set(starts.map(({ at }) => at))].map(running)),
    longestWait: (quota) => Math.max(...waits(quota)),
  };
}

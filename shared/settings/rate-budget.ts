import { maxGapMs } from './schedule.ts';
import type { ReportSettings, Settings } from './settings.ts';

/**
 * The backfill's share of a brand's rate. Half, so that years of history come in at a useful pace while the schedules
 * go on; and always kept apart, because scheduled functions cannot know whether a backfill is running.
 */
const BACKFILL_SHARE = 0.5;

/** As long as a function may run. */
const LONGEST_RUN_MS = 900_000;

/**
 * Requests a second for one of the runs that schedules start: those of a brand's reports may all be under way at the
 * same time, more than one of a report whose schedule is faster than a run may be long, and a backfill beside them.
 * @param names the brands that one run reads; their shares are the smallest of them
 */
export function scheduledRate({ brands, requestsPerSecond }: Settings, names: readonly string[]): number {
  const runs = names.map((name) => sum(Object.values(brands[name]?.reports ?? {}).map(runsAtOnce)));
  return (requestsPerSecond * (1 - BACKFILL_SHARE)) / Math.max(1, ...runs);
}

/** How many scheduled runs of a report of a brand may be under way at the same time. */
function runsAtOnce({ enabled, schedule }: ReportSettings): number {
  return enabled ? Math.ceil(LONGEST_RUN_MS / Math.min(maxGapMs(schedule), LONGEST_RUN_MS)) : 0;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Requests a second for each of the months that the one running backfill reads at the same time. */
export function backfillRate({ requestsPerSecond, deployment }: Settings): number {
  return (requestsPerSecond * BACKFILL_SHARE) / deployment.backfillConcurrency;
}

import type { Settings } from './settings.ts';

/**
 * The backfill's share of a brand's rate. Half, so that years of history come in at a useful pace while the schedules
 * go on; and always kept apart, because scheduled functions cannot know whether a backfill is running.
 */
const BACKFILL_SHARE = 0.5;

/**
 * Requests a second for one of the functions that sync a report each: those of a brand may all run at the same time,
 * beside a backfill.
 * @param names the brands that one run reads; their shares are the smallest of them
 */
export function scheduledRate({ brands, requestsPerSecond }: Settings, names: readonly string[]): number {
  const functions = names.map(
    (name) => Object.values(brands[name]?.reports ?? {}).filter(({ enabled }) => enabled).length,
  );
  return (requestsPerSecond * (1 - BACKFILL_SHARE)) / Math.max(1, ...functions);
}

/** Requests a second for each of the months that the one running backfill reads at the same time. */
export function backfillRate({ requestsPerSecond, deployment }: Settings): number {
  return (requestsPerSecond * BACKFILL_SHARE) / deployment.backfillConcurrency;
}

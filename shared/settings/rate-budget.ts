/*
 * Without a budget, runs that overlap would each use the whole rate of a brand, and the service would refuse them.
 * Every run gets a fixed share, small enough that all runs that may overlap stay below `requestsPerSecond` together.
 */
import { MINUTE_MS } from '../days.ts';
import { minGapMs } from './schedule.ts';
import type { ReportSettings, Settings } from './settings.ts';

/**
 * The backfill's share of a brand's rate. Half, so that years of history arrive at a useful pace while the schedules
 * continue. It is always reserved, because scheduled functions cannot know whether a backfill is running.
 */
const BACKFILL_SHARE = 0.5;

/** The timeout of a function. */
const MAX_RUN_MS = 15 * MINUTE_MS;

/**
 * Requests a second for one scheduled run. The runs of all reports of a brand may overlap, runs of one report whose
 * schedule is faster than the timeout too, and concurrently with a backfill.
 * @param names the brands that one run reads; it gets the smallest of their shares
 */
export function scheduledRate({ brands, requestsPerSecond }: Settings, names: readonly string[]): number {
  const runs = names.map((name) => sum(Object.values(brands[name]?.reports ?? {}).map(maxOverlap)));
  return (requestsPerSecond * (1 - BACKFILL_SHARE)) / Math.max(1, ...runs);
}

/** How many scheduled runs of a report of a brand may be in progress at the same time. */
function maxOverlap({ enabled, schedule }: ReportSettings): number {
  return enabled ? Math.ceil(MAX_RUN_MS / Math.min(minGapMs(schedule), MAX_RUN_MS)) : 0;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Requests a second for each of the months that the one running backfill reads concurrently. */
export function backfillRate({ requestsPerSecond, deployment }: Settings): number {
  return (requestsPerSecond * BACKFILL_SHARE) / deployment.backfillConcurrency;
}

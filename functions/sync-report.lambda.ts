import type { Context } from 'aws-lambda';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { runSync } from '../shared/run/run.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { createFunctionContext, environment, eventReceiver } from './function-context.ts';
import { parseSyncEvent } from './sync-event.ts';
import { timeLimits } from './time-limits.ts';

const contextOf = createFunctionContext(eventReceiver());
const report = environment('REPORT');

/**
 * Syncs the report of this function, runs the connection test, or rebuilds days from their raw records.
 * @returns the document of `sync --json`, `check --json` or `rebuild --json`, whatever the outcome
 * @throws BrandReportsError on an event that is not valid
 */
export async function handler(event: unknown, lambda: Pick<Context, 'getRemainingTimeInMillis'>) {
  const context = await contextOf();
  const enabled = brandsWith(context.settings, report);
  const parsed = parseSyncEvent(event, enabled);
  const limits = timeLimits(lambda.getRemainingTimeInMillis());
  // Loaded only when it is needed, so that a scheduled run starts without it.
  if (parsed.rebuild) {
    const { rebuildDays } = await import('../shared/operations/rebuild-days.ts');
    const { brand, from, to } = parsed;
    const scope = { from, to, brands: [brand], reports: [report] };
    return rebuildDays({ ...context, scope, clock: systemClock(), deadline: limits.deadline });
  }
  const { brand, check, now, requestsPerSecond, rebuild: _absent, ...range } = parsed;
  const options = {
    ...context,
    scope: {
      ...range,
      brands: brand === undefined ? enabled : [brand],
      reports: [report],
      ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    },
    clock: systemClock(now === undefined ? undefined : new Date(now)),
    ...limits,
  };
  if (!check) return runSync(options);
  const { runCheck } = await import('../shared/check/check.ts');
  return runCheck(options);
}

function brandsWith({ brands }: Settings, report: string): string[] {
  return Object.entries(brands).flatMap(([name, brand]) => (brand.reports[report]?.enabled ? [name] : []));
}

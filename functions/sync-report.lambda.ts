import type { Context } from 'aws-lambda';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { runCheck } from '../shared/operations/check.ts';
import { runSync } from '../shared/run.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { environment, createFunctionContext } from './function-context.ts';
import { parseSyncEvent } from './sync-event.ts';
import { timeLimits } from './time-limits.ts';

const context = createFunctionContext();
const report = environment('REPORT');

/**
 * Syncs the report of this function, or checks the connection.
 * @returns the document of `sync --json` or `check --json`, whatever the outcome
 * @throws BrandReportsError on an event that is not valid, and on a bug
 */
export async function handler(event: unknown, lambda: Pick<Context, 'getRemainingTimeInMillis'>) {
  const enabled = brandsWith(context.settings, report);
  const { brand, check, now, requestsPerSecond, ...range } = parseSyncEvent(event, enabled);
  const options = {
    ...context,
    scope: {
      ...range,
      brands: brand === undefined ? enabled : [brand],
      reports: [report],
      ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    },
    clock: systemClock(now === undefined ? undefined : new Date(now)),
    ...timeLimits(lambda.getRemainingTimeInMillis()),
  };
  if (check) return runCheck(options);
  return runSync(options);
}

function brandsWith({ brands }: Settings, report: string): string[] {
  return Object.entries(brands).flatMap(([name, brand]) => (brand.reports[report]?.enabled ? [name] : []));
}

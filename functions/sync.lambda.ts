import type { Context } from 'aws-lambda';
import { secretsOf } from '../shared/adapters/aws/secrets-manager-credentials.ts';
import { sendRequest } from '../shared/adapters/send-request.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { runSync } from '../shared/run/run.ts';
import { createFunctionContext, timeLimits } from './function-context.ts';
import { parseSyncEvent } from './sync-event.ts';
import { syncResult } from './sync-result.ts';

const common = createFunctionContext();
const context = { ...common, credentials: secretsOf(common.settings, true), send: sendRequest };

/** What the time does not allow is left to the next start. @throws BrandReportsError on an event that is not valid */
export async function handler(
  event: unknown,
  lambda: Pick<Context, 'awsRequestId' | 'functionName' | 'getRemainingTimeInMillis'>,
) {
  const parsed = parseSyncEvent(event, context.settings, context.reports);
  const limits = timeLimits(lambda.getRemainingTimeInMillis());
  const { brand, reports, from, to, acceptFewer, check, rebuild } = parsed;
  const named = { ...(brand !== undefined && { brands: [brand] }), ...(reports && { reports }) };
  const clock = systemClock();
  // Loaded only when it is needed, so that a scheduled run starts without it.
  if (rebuild && from !== undefined && to !== undefined) {
    const { rebuildDays } = await import('../shared/operations/rebuild-days.ts');
    return rebuildDays({ ...context, scope: { ...named, from, to }, clock, deadline: limits.deadline });
  }
  const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const scope = { ...named, ...range, acceptFewer, onlyEnabled: true };
  const runBy = `function ${lambda.functionName} request ${lambda.awsRequestId}`;
  const options = { ...context, scope, clock, runBy, ...limits };
  if (!check) return syncResult(await runSync(options));
  const { runCheck } = await import('../shared/check/check.ts');
  return runCheck(options);
}

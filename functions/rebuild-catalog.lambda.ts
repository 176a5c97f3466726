import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import { openBucket } from '../shared/adapters/aws/lake-store.ts';
import { removeVersions } from '../shared/adapters/aws/remove-versions.ts';
import { SETTINGS_PREFIX } from '../shared/lake/paths.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { asBrandReportsError } from '../shared/errors.ts';
import { errorSummary } from '../shared/outcome.ts';
import { rebuildCatalog, type RebuildOutcome } from '../shared/catalog/rebuild.ts';
import { isAccessDenied, retryWhileAccessDenied } from '../shared/adapters/aws/retry-access-denied.ts';
import { type CloudFormationResponse, respondToCloudFormation } from './cloud-formation-response.ts';
import { beginUpdate, endUpdate } from './failed-update.ts';
import { createFunctionContext, environment, log } from './function-context.ts';
import {
  type CloudFormationRequest,
  noncePair,
  parseRebuildEvent,
  parseRebuildProperties,
} from './rebuild-catalog-event.ts';
import { areSuperseded, publishSettings } from './deployed-settings.ts';
import { publishSchedules } from './schedules.ts';
import { timeLimits } from './time-limits.ts';

const clock = systemClock();

/** The part of Lambda's time that is reserved for repeating a response that was not accepted. */
const RESPONSE_MS = 30_000;

/**
 * Rebuilds the catalog, then the schedules. If CloudFormation sends the event, the function also publishes the
 * settings, and responds whatever happens. If a person starts it, the event is `{}`.
 * @returns for `{}`: what was done
 * @throws for `{}`: what went wrong; otherwise only if CloudFormation does not accept the response
 */
export async function handler(
  event: unknown,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
): Promise<RebuildOutcome | undefined> {
  const remainingMs = context.getRemainingTimeInMillis();
  const request = parseRebuildEvent(event, {
    region: environment('AWS_REGION'),
    endpoint: process.env.AWS_ENDPOINT_URL_CLOUDFORMATION ?? process.env.AWS_ENDPOINT_URL,
  });
  if (!request) return rebuild(remainingMs);
  const update = { isRollback: false };
  const response = await inTime(request, remainingMs, responseTo(request, remainingMs, update));
  // If a rollback fails, the stack cannot be deployed any more. The reason is in the log and in the failed update.
  await respondToCloudFormation(request, update.isRollback ? { status: 'SUCCESS' } : response);
  return undefined;
}

/** @param update its `isRollback` is set if the request rolls an update back */
async function responseTo(
  request: CloudFormationRequest,
  remainingMs: number,
  update: { isRollback: boolean },
): Promise<CloudFormationResponse> {
  const { RequestType, ResourceProperties } = request;
  const pair = noncePair(request);
  if (pair)
    await orLogged('update_not_remembered', async () => {
      update.isRollback = await beginUpdate(lakeBucket(), pair);
    });
  try {
    if (RequestType === 'Delete') {
      await orLogged('schedules_failed', () =>
        publishSchedules({ brands: {}, deployment: { schedules: false } }),
      );
      // Tables stay, because the lake outlives the stack.
      await orLogged('settings_not_removed', () => removeSettings(ResourceProperties));
    } else {
      const { settings: packed } = parseRebuildProperties(ResourceProperties);
      // Before the rebuild: a rollback restores the former settings even if its rebuild fails.
      const settings = await retryWhileAccessDenied(clock, () => publishSettings(lakeBucket(), packed));
      // Schedules too: the update may have created schedules of brands that the former settings do not have.
      if (update.isRollback) await orLogged('schedules_failed', () => publishSchedules(settings));
      await rebuild(remainingMs, settings);
      if (pair) await orLogged('update_not_remembered', () => endUpdate(lakeBucket()));
    }
    return { status: 'SUCCESS' };
  } catch (thrown) {
    // Treated as a rollback only once: if two updates differ only in the bucket, an update and its reverse are
    // alike, and the next failure must show.
    if (update.isRollback) await orLogged('update_not_remembered', () => endUpdate(lakeBucket()));
    return { status: 'FAILED', reason: logged('catalog_rebuild_failed', thrown) };
  }
}

/**
 * Deletes the settings. After a first deployment that fails, the bucket is then empty, so CloudFormation can delete it.
 * When a stack is deleted, its lake gets the settings of the next deployment, unless another stack uses it
 * already.
 */
async function removeSettings(resourceProperties: unknown): Promise<void> {
  const { settings } = parseRebuildProperties(resourceProperties);
  if (await areSuperseded(lakeBucket(), settings)) return;
  await removeVersions(environment('LAKE_URL'), environment('LAKE_OWNER'), SETTINGS_PREFIX);
}

/** @param given the settings of a deployment; if missing, the settings that the last deployment published */
async function rebuild(remainingMs: number, given?: Settings): Promise<RebuildOutcome> {
  const { deadline } = timeLimits(remainingMs);
  const contextOf = createFunctionContext();
  const context = await retryWhileAccessDenied(clock, () => contextOf(given));
  const outcome = await retryWhileAccessDenied(clock, () =>
    rebuildCatalog({ ...context, clock, deadline, isFatal: isAccessDenied }),
  );
  log({ event: 'catalog_rebuilt', ...outcome });
  // Last, so that nothing starts before its tables exist. It uses the current settings, because another deployment, or
  // the rollback of this one, may have ended meanwhile.
  await retryWhileAccessDenied(clock, async () => publishSchedules((await contextOf()).settings));
  return outcome;
}

/** The bucket of a lake in any format. */
function lakeBucket() {
  return openBucket(environment('LAKE_URL'), environment('LAKE_OWNER'));
}

type Convenience = 'schedules_failed' | 'settings_not_removed' | 'update_not_remembered';

/** Logs the failure of work without which the deployment still succeeds. */
async function orLogged(event: Convenience, work: () => Promise<void>): Promise<void> {
  await work().catch((thrown: unknown) => logged(event, thrown));
}

function logged(event: Convenience | 'catalog_rebuild_failed', thrown: unknown): string {
  const error = errorSummary(asBrandReportsError(thrown));
  log({ event, ...error });
  return error.message;
}

/** The response, or a failure as long as there is time to send it. */
async function inTime(
  { RequestType }: CloudFormationRequest,
  remainingMs: number,
  response: Promise<CloudFormationResponse>,
): Promise<CloudFormationResponse> {
  const waiting = new AbortController();
  const waitMs = remainingMs - Math.min(RESPONSE_MS, remainingMs / 4);
  const late = sleep(waitMs, undefined, { signal: waiting.signal }).then((): CloudFormationResponse => {
    // Schedules that cannot be removed must not block the deletion of the stack.
    if (RequestType === 'Delete') return { status: 'SUCCESS' };
    return {
      status: 'FAILED',
      reason:
        'The time ran out before the catalog was rebuilt. What was done stays: deploy again to continue.',
    };
  });
  try {
    return await Promise.race([response, late]);
  } finally {
    late.catch(() => {});
    waiting.abort();
  }
}

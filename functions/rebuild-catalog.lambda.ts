import { setTimeout as sleep } from 'node:timers/promises';
import { SchemasClient } from '@aws-sdk/client-schemas';
import type { Context } from 'aws-lambda';
import { awsClientOptions } from '../shared/adapters/aws/errors.ts';
import { openBucket } from '../shared/adapters/aws/lake-store.ts';
import { removeVersions } from '../shared/adapters/aws/remove-versions.ts';
import { SETTINGS_PREFIX } from '../shared/lake/paths.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { createTestEvents } from '../shared/adapters/aws/test-events.ts';
import { asBrandReportsError } from '../shared/errors.ts';
import { errorSummary } from '../shared/outcome.ts';
import { rebuildCatalog, type RebuildOutcome } from '../shared/catalog/rebuild.ts';
import { isAccessDenied, retryWhileAccessDenied } from '../shared/adapters/aws/retry-access-denied.ts';
import { type CloudFormationResponse, respondToCloudFormation } from './cloud-formation-response.ts';
import { refuseOwned } from './adoption.ts';
import { beginUpdate, endUpdate } from './failed-update.ts';
import { createFunctionContext, environment, log } from './function-context.ts';
import {
  type CloudFormationRequest,
  type RebuildProperties,
  noncePair,
  parseRebuildEvent,
  parseRebuildProperties,
} from './rebuild-catalog-event.ts';
import { areSuperseded, publishSettings } from './deployed-settings.ts';
import { publishSchedules } from './schedules.ts';
import { timeLimits } from './time-limits.ts';

const events = createTestEvents(new SchemasClient(awsClientOptions));
const clock = systemClock();

/** Of Lambda's time, reserved for a response that is not accepted at the first try. */
const RESPONSE_MS = 30_000;

/**
 * Rebuilds the catalog, then the schedules. For CloudFormation it also publishes the console's test events, and responds whatever happens;
 * by hand the event is `{}`.
 * @returns by hand: what was done
 * @throws by hand: what went wrong; otherwise only when CloudFormation does not accept the response
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
  // A rollback that fails leaves a stack that cannot be deployed. The log and the failed update have the reason.
  await respondToCloudFormation(request, update.isRollback ? { status: 'SUCCESS' } : response);
  return undefined;
}

/** @param update learns whether the request rolls an update back */
async function responseTo(
  request: CloudFormationRequest,
  remainingMs: number,
  update: { isRollback: boolean },
): Promise<CloudFormationResponse> {
  const { RequestType, ResourceProperties, OldResourceProperties, StackId } = request;
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
      // Tables and registry stay: the lake outlives the stack, and the registry belongs to the account.
      await orLogged('test_events_failed', () => removeTestEvents(ResourceProperties));
      await orLogged('settings_not_removed', () => removeSettings(ResourceProperties));
    } else {
      const { settings: packed, adopted, testEvents, tags } = parseRebuildProperties(ResourceProperties);
      await retryWhileAccessDenied(clock, () => refuseOwned(adopted, StackId));
      // Before the rebuild: a rollback restores the former settings even if its rebuild fails.
      const settings = await retryWhileAccessDenied(clock, () => publishSettings(lakeBucket(), packed));
      // So do schedules: those of the update may name brands that the former settings do not have.
      if (update.isRollback) await orLogged('schedules_failed', () => publishSchedules(settings));
      await rebuild(remainingMs, settings);
      await orLogged('test_events_failed', () =>
        retryWhileAccessDenied(clock, async () => {
          for (const [name, own] of testEvents) await events.publish(name, own, tags);
          if (RequestType === 'Update') await removeTestEvents(OldResourceProperties, testEvents);
        }),
      );
      if (pair) await orLogged('update_not_remembered', () => endUpdate(lakeBucket()));
    }
    return { status: 'SUCCESS' };
  } catch (thrown) {
    // Rolled back only once: where only test events differ, both ways look alike, and the next failure must show.
    if (update.isRollback) await orLogged('update_not_remembered', () => endUpdate(lakeBucket()));
    return { status: 'FAILED', reason: logged('catalog_rebuild_failed', thrown) };
  }
}

/**
 * A first deployment that fails leaves an empty bucket, which CloudFormation can delete. The lake of a stack that is
 * deleted gets the settings of the next deployment, unless another stack has adopted it already.
 */
async function removeSettings(resourceProperties: unknown): Promise<void> {
  const { settings } = parseRebuildProperties(resourceProperties);
  if (!settings || (await areSuperseded(lakeBucket(), settings))) return;
  await removeVersions(environment('LAKE_URL'), environment('LAKE_OWNER'), SETTINGS_PREFIX);
}

/** Of functions that the stack had and has no longer. */
async function removeTestEvents(
  resourceProperties: unknown,
  kept: RebuildProperties['testEvents'] = new Map(),
): Promise<void> {
  for (const name of parseRebuildProperties(resourceProperties).testEvents.keys())
    if (!kept.has(name)) await events.remove(name);
}

/** @param given the settings of a deployment; missing: those that the last one has published */
async function rebuild(remainingMs: number, given?: Settings): Promise<RebuildOutcome> {
  const { deadline } = timeLimits(remainingMs);
  const contextOf = createFunctionContext();
  const context = await retryWhileAccessDenied(clock, () => contextOf(given));
  const outcome = await retryWhileAccessDenied(clock, () =>
    rebuildCatalog({ ...context, clock, deadline, isFatal: isAccessDenied }),
  );
  log({ event: 'catalog_rebuilt', ...outcome });
  // Last, so that nothing starts before its tables are there; from the settings of now, because another deployment, or
  // the rollback of this one, may have ended meanwhile.
  await retryWhileAccessDenied(clock, async () => publishSchedules((await contextOf()).settings));
  return outcome;
}

/** Of a lake in any format. */
function lakeBucket() {
  return openBucket(environment('LAKE_URL'), environment('LAKE_OWNER'));
}

type Convenience =
  | 'schedules_failed'
  | 'settings_not_removed'
  | 'test_events_failed'
  | 'update_not_remembered';

/** For what the deployment succeeds without, e.g. where test events are forbidden, or the region has none. */
async function orLogged(event: Convenience, work: () => Promise<void>): Promise<void> {
  await work().catch((thrown: unknown) => logged(event, thrown));
}

function logged(event: Convenience | 'catalog_rebuild_failed', thrown: unknown): string {
  const error = errorSummary(asBrandReportsError(thrown));
  log({ event, ...error });
  return error.message;
}

/** The response, or a failure while there is still time to send it. */
async function inTime(
  { RequestType }: CloudFormationRequest,
  remainingMs: number,
  response: Promise<CloudFormationResponse>,
): Promise<CloudFormationResponse> {
  const waiting = new AbortController();
  const waitMs = remainingMs - Math.min(RESPONSE_MS, remainingMs / 4);
  const late = sleep(waitMs, undefined, { signal: waiting.signal }).then((): CloudFormationResponse => {
    // Test events that cannot be removed must not block the deletion of the stack.
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

import { setTimeout as sleep } from 'node:timers/promises';
import { SchemasClient } from '@aws-sdk/client-schemas';
import type { Context } from 'aws-lambda';
import { awsClientOptions } from '../shared/adapters/aws/errors.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { createTestEvents } from '../shared/adapters/aws/test-events.ts';
import { BrandReportsError, asBrandReportsError } from '../shared/errors.ts';
import { errorSummary } from '../shared/outcome.ts';
import { rebuildCatalog, type RebuildOutcome } from '../shared/catalog/rebuild.ts';
import { isAccessDenied, retryWhileAccessDenied } from '../shared/adapters/aws/retry-access-denied.ts';
import { type CloudFormationResponse, respondToCloudFormation } from './cloud-formation-response.ts';
import { refuseOwned } from './adoption.ts';
import { createFunctionContext, log } from './function-context.ts';
import {
  type CloudFormationRequest,
  type RebuildProperties,
  parseRebuildEvent,
  parseRebuildProperties,
} from './rebuild-catalog-event.ts';
import { timeLimits } from './time-limits.ts';

const events = createTestEvents(new SchemasClient(awsClientOptions));
const clock = systemClock();

/** Of Lambda's time, reserved for a response that is not accepted at the first try. */
const RESPONSE_MS = 30_000;

/**
 * Rebuilds the catalog. For CloudFormation it also publishes the console's test events, and responds whatever happens;
 * by hand the event is `{}`.
 * @returns by hand: what was done
 * @throws by hand: what went wrong; otherwise only when CloudFormation does not accept the response
 */
export async function handler(
  event: unknown,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
): Promise<RebuildOutcome | undefined> {
  const remainingMs = context.getRemainingTimeInMillis();
  const request = parseRebuildEvent(event);
  if (!request) return rebuild(remainingMs);
  await respondToCloudFormation(request, await responseTo(request, remainingMs));
  return undefined;
}

async function responseTo(
  request: CloudFormationRequest,
  remainingMs: number,
): Promise<CloudFormationResponse> {
  const { RequestType, ResourceProperties, OldResourceProperties, StackId } = request;
  const endMs = performance.now() + remainingMs - Math.min(RESPONSE_MS, remainingMs / 4);
  try {
    if (RequestType === 'Delete') {
      // Tables and registry stay: the lake outlives the stack, and the registry belongs to the account.
      await testEventsOrLogged(() => inTime(endMs, removeTestEvents(ResourceProperties)));
      return { status: 'SUCCESS', catalog: 'kept' };
    }
    const { adopted, testEvents } = parseRebuildProperties(ResourceProperties);
    await inTime(
      endMs,
      retryWhileAccessDenied(clock, () => refuseOwned(adopted, StackId)),
    );
    const catalog = await inTime(endMs, rebuild(remainingMs)).then(
      ({ status }) => status,
      (thrown: unknown) => {
        // CloudFormation would roll the update back by the reverse one, which would fail too, and leave a stack that
        // cannot be deployed. Runs bring the catalog of their reports up to date anyway.
        if (RequestType === 'Update') return `failed: ${logged('catalog_rebuild_failed', thrown)}`;
        throw thrown;
      },
    );
    await testEventsOrLogged(() =>
      inTime(
        endMs,
        retryWhileAccessDenied(clock, async () => {
          for (const [name, own] of testEvents) await events.publish(name, own);
          if (RequestType === 'Update') await removeTestEvents(OldResourceProperties, testEvents);
        }),
      ),
    );
    return { status: 'SUCCESS', catalog };
  } catch (thrown) {
    return { status: 'FAILED', reason: logged('catalog_rebuild_failed', thrown) };
  }
}

/** Of functions that the stack had and has no longer. */
async function removeTestEvents(
  resourceProperties: unknown,
  kept: RebuildProperties['testEvents'] = new Map(),
): Promise<void> {
  for (const name of parseRebuildProperties(resourceProperties).testEvents.keys())
    if (!kept.has(name)) await events.remove(name);
}

async function rebuild(remainingMs: number): Promise<RebuildOutcome> {
  const { deadline } = timeLimits(remainingMs);
  const outcome = await retryWhileAccessDenied(clock, () =>
    rebuildCatalog({ ...createFunctionContext(), clock, deadline, isFatal: isAccessDenied }),
  );
  log({ event: 'catalog_rebuilt', ...outcome });
  return outcome;
}

/** A deployment succeeds without them, e.g. where they are forbidden, or the region has none. */
async function testEventsOrLogged(work: () => Promise<void>): Promise<void> {
  await work().catch((thrown: unknown) => logged('test_events_failed', thrown));
}

function logged(event: 'test_events_failed' | 'catalog_rebuild_failed', thrown: unknown): string {
  const error = errorSummary(asBrandReportsError(thrown));
  log({ event, ...error });
  return error.message;
}

/**
 * The result, while there is still time to respond.
 * @throws BrandReportsError `transient` afterwards
 */
async function inTime<T>(endMs: number, work: Promise<T>): Promise<T> {
  const waiting = new AbortController();
  const waitMs = Math.max(0, endMs - performance.now());
  const late = sleep(waitMs, undefined, { signal: waiting.signal }).then(() => {
    throw new BrandReportsError(
      'transient',
      'time_up',
      'The time ran out before the catalog was rebuilt. What was done stays: test this function with Repair-the-catalog to continue.',
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    waiting.abort();
  }
}

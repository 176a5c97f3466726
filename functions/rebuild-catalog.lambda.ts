import { setTimeout as sleep } from 'node:timers/promises';
import { SchemasClient } from '@aws-sdk/client-schemas';
import type { Context } from 'aws-lambda';
import { awsClientOptions } from '../shared/adapters/aws/errors.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { createTestEvents } from '../shared/adapters/aws/test-events.ts';
import { asBrandReportsError } from '../shared/errors.ts';
import { errorSummary } from '../shared/outcome.ts';
import { rebuildCatalog, type RebuildOutcome } from '../shared/catalog/rebuild.ts';
import { isAccessDenied, retryWhileAccessDenied } from '../shared/adapters/aws/retry-access-denied.ts';
import { type CloudFormationResponse, respondToCloudFormation } from './cloud-formation-response.ts';
import { createFunctionContext, log } from './function-context.ts';
import {
  type CloudFormationRequest,
  isRollback,
  parseRebuildEvent,
  parseTestEvents,
} from './rebuild-catalog-event.ts';
import { timeLimits } from './time-limits.ts';

const testEvents = createTestEvents(new SchemasClient(awsClientOptions));
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
  const response = await inTime(request, remainingMs, responseTo(request, remainingMs));
  // A rollback that fails leaves a stack that cannot be deployed. The log and the failed update have the reason.
  await respondToCloudFormation(request, isRollback(request) ? { status: 'SUCCESS' } : response);
  return undefined;
}

async function responseTo(
  request: CloudFormationRequest,
  remainingMs: number,
): Promise<CloudFormationResponse> {
  try {
    if (request.RequestType === 'Delete') {
      // Tables and registry stay: the lake outlives the stack, and the registry belongs to the account.
      await orLogged(async () => {
        for (const name of parseTestEvents(request.ResourceProperties).keys()) await testEvents.remove(name);
      });
    } else {
      const events = parseTestEvents(request.ResourceProperties);
      await rebuild(remainingMs);
      await orLogged(() =>
        retryWhileAccessDenied(clock, async () => {
          for (const [name, own] of events) await testEvents.publish(name, own);
        }),
      );
    }
    return { status: 'SUCCESS' };
  } catch (thrown) {
    return { status: 'FAILED', reason: logged('catalog_rebuild_failed', thrown) };
  }
}

async function rebuild(remainingMs: number): Promise<RebuildOutcome> {
  const { deadline } = timeLimits(remainingMs);
  const outcome = await retryWhileAccessDenied(clock, () =>
    rebuildCatalog({ ...createFunctionContext(), clock, deadline, isFatal: isAccessDenied }),
  );
  log({ event: 'catalog_rebuilt', ...outcome });
  return outcome;
}

/** Test events are a convenience: where they are forbidden, or the region has none, the deployment succeeds without. */
async function orLogged(work: () => Promise<void>): Promise<void> {
  await work().catch((thrown: unknown) => logged('test_events_failed', thrown));
}

function logged(event: 'catalog_rebuild_failed' | 'test_events_failed', thrown: unknown): string {
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

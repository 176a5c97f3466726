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
import { type Answer, answerCloudFormation } from './cloud-formation.ts';
import { createFunctionContext, log } from './function-context.ts';
import {
  type CloudFormationRequest,
  isRollback,
  parseSetupEvent,
  parseTestEvents,
} from './rebuild-catalog-event.ts';
import { timeLimits } from './time-limits.ts';

const testEvents = createTestEvents(new SchemasClient(awsClientOptions));
const clock = systemClock();

/** What is kept of Lambda's time for an answer that is not taken at the first try. */
const ANSWER_MS = 30_000;

/**
 * Sets up the catalog and the console's test events: for CloudFormation, which gets its answer whatever happens, or by
 * hand with `{}`, for the catalog alone.
 * @returns by hand: what was done
 * @throws by hand: what went wrong; otherwise only where CloudFormation takes no answer
 */
export async function handler(
  event: unknown,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
): Promise<RebuildOutcome | undefined> {
  const remainingMs = context.getRemainingTimeInMillis();
  const request = parseSetupEvent(event);
  if (!request) return setUpCatalog(remainingMs);
  const answer = await inTime(request, remainingMs, answerTo(request, remainingMs));
  // A rollback that fails leaves a stack that nobody can deploy: the log has the reason, and so had the update.
  await answerCloudFormation(request, isRollback(request) ? { status: 'SUCCESS' } : answer);
  return undefined;
}

async function answerTo(request: CloudFormationRequest, remainingMs: number): Promise<Answer> {
  try {
    if (request.RequestType === 'Delete') {
      // Tables and registry stay: the lake outlives the stack, and the registry is the account's.
      await orLogged(async () => {
        for (const name of parseTestEvents(request.ResourceProperties).keys()) await testEvents.remove(name);
      });
    } else {
      const events = parseTestEvents(request.ResourceProperties);
      await setUpCatalog(remainingMs);
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

async function setUpCatalog(remainingMs: number): Promise<RebuildOutcome> {
  const { deadline } = timeLimits(remainingMs);
  const outcome = await retryWhileAccessDenied(clock, () =>
    rebuildCatalog({ ...createFunctionContext(), clock, deadline, isFatal: isAccessDenied }),
  );
  log({ event: 'catalog_rebuilt', ...outcome });
  return outcome;
}

/** Test events are a convenience: where they are forbidden, or the region knows none, a stack comes and goes without. */
async function orLogged(work: () => Promise<void>): Promise<void> {
  await work().catch((thrown: unknown) => logged('test_events_failed', thrown));
}

function logged(event: 'catalog_rebuild_failed' | 'test_events_failed', thrown: unknown): string {
  const error = errorSummary(asBrandReportsError(thrown));
  log({ event, ...error });
  return error.message;
}

/** The answer, or that there was no time for it, while there is time to say so. */
async function inTime(
  { RequestType }: CloudFormationRequest,
  remainingMs: number,
  answer: Promise<Answer>,
): Promise<Answer> {
  const waiting = new AbortController();
  const waitMs = remainingMs - Math.min(ANSWER_MS, remainingMs / 4);
  const late = sleep(waitMs, undefined, { signal: waiting.signal }).then((): Answer => {
    // What keeps test events from being removed must not keep the stack.
    if (RequestType === 'Delete') return { status: 'SUCCESS' };
    return { status: 'FAILED', reason: 'The time ran out. What was done stays: deploy again to go on.' };
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    late.catch(() => {});
    waiting.abort();
  }
}

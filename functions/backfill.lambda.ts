import type { Context } from 'aws-lambda';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { rethrowBugs } from '../shared/errors.ts';
import {
  type BrandToRead,
  type ExecutionFailure,
  afterRun,
  conclude,
} from '../shared/operations/backfill.ts';
import { runSync } from '../shared/run/run.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { parseBackfillEvent, parseBackfillInput } from './backfill-event.ts';
import { createFunctionContext, eventReceiver } from './function-context.ts';
import { timeLimits } from './time-limits.ts';

const contextOf = createFunctionContext(eventReceiver());

/**
 * Does the steps of the backfill's state machine: lists the brands, reads one brand as far as time allows, or concludes.
 * @returns a small document, because the state of an execution is limited to 256 kB
 * @throws BrandReportsError on an event that is not valid, and on a bug
 */
export async function handler(event: unknown, lambda: Pick<Context, 'getRemainingTimeInMillis'>) {
  const step = parseBackfillEvent(event);
  if ('conclude' in step) return conclude(step.conclude);
  const context = await contextOf();
  if ('plan' in step) return plan(step.plan, context.settings);
  const { brand, reports, from, to } = step;
  const scope = {
    ...{ brands: [brand], onlyEnabled: true, from },
    ...(reports && { reports }),
    ...(to !== undefined && { to }),
  };
  const limits = timeLimits(lambda.getRemainingTimeInMillis());
  return afterRun(step, await runSync({ ...context, scope, clock: systemClock(), ...limits }));
}

/** A refusal is a result with the reason, not an error, because people read it in the console. */
function plan(input: unknown, settings: Settings): { items: BrandToRead[] } | { failure: ExecutionFailure } {
  try {
    return { items: parseBackfillInput(input, settings, Date.now()) };
  } catch (thrown) {
    return { failure: { error: 'BackfillRefused', cause: rethrowBugs(thrown).message } };
  }
}

import type { Context } from 'aws-lambda';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { readMonth } from '../shared/operations/backfill-step.ts';
import {
  type ExecutionFailure,
  conclude,
  initialProgress,
  splitIntoMonths,
} from '../shared/operations/backfill-months.ts';
import { BrandReportsError, rethrowBugs } from '../shared/errors.ts';
import { isJsonObject, parseJson } from '../shared/json.ts';
import { type Item, type Planning, parseBackfillEvent, parseBackfillInput } from './backfill-event.ts';
import { createFunctionContext, eventReceiver } from './function-context.ts';
import { timeLimits } from './time-limits.ts';

const contextOf = createFunctionContext(eventReceiver());

/**
 * Does the steps of the backfill's state machine: plans the months, reads one month as far as time allows, or
 * concludes.
 * @returns a small document, because the state of an execution is limited to 256 kB
 * @throws BrandReportsError on an event that is not valid, and on a bug
 */
export async function handler(event: unknown, lambda: Pick<Context, 'getRemainingTimeInMillis'>) {
  const step = parseBackfillEvent(event);
  if ('plan' in step) return plan(step);
  if ('conclude' in step)
    return conclude(
      step.conclude.items.map(({ read }) => read),
      step.conclude.months,
    );
  const options = {
    ...(await contextOf()),
    clock: systemClock(),
    ...timeLimits(lambda.getRemainingTimeInMillis()),
  };
  return readMonth(options, step.read, step.progress);
}

/**
 * Plans the months to read. A refusal is a result with the reason, not an error, because people read it in the console.
 */
async function plan({
  plan: input,
  execution,
  running,
}: Planning): Promise<{ items: Item[] } | { failure: ExecutionFailure }> {
  try {
    const { settings } = await contextOf();
    const now = new Date();
    const { report, brand, ...range } = parseBackfillInput(input, settings, now.getTime());
    const other = running.find(
      ({ ExecutionArn, Input }) => ExecutionArn !== execution && isOfBrand(Input, brand),
    );
    if (other) throw alreadyRunning(other.ExecutionArn, brand);
    const since = now.toISOString();
    const items = splitIntoMonths(range).map((month) => ({
      read: { report, brand, ...month, since },
      progress: initialProgress(month),
    }));
    return { items };
  } catch (thrown) {
    const { message } = rethrowBugs(thrown);
    return { failure: { error: 'BackfillRefused', cause: message } };
  }
}

/** Whether the input of an execution, as JSON, starts a backfill of the brand. */
function isOfBrand(input: string, brand: string): boolean {
  const parsed = parseJson(input);
  return isJsonObject(parsed) && parsed.brand === brand;
}

/** Two backfills of one brand would leave the schedules a small part of its rate and wait for each other's days. */
function alreadyRunning(arn: string, brand: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'backfill_running',
    `the backfill "${arn.split(':').at(-1)}" of ${brand} is running, and only one backfill of a brand may run at a time: stop it, or start this one after it has ended`,
  );
}

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
import { backfillRate } from '../shared/settings/rate-budget.ts';
import { type Item, type Planning, parseBackfillEvent, parseBackfillInput } from './backfill-event.ts';
import { emitMetrics } from './metrics.ts';
import { environment, createFunctionContext } from './function-context.ts';
import { timeLimits } from './time-limits.ts';

const context = createFunctionContext();
const namespace = environment('METRICS_NAMESPACE');

/**
 * The steps of the backfill's state machine: plans the months, reads one of them as far as time allows, concludes.
 * @returns a small document, because the state of an execution has to fit into 256 kB
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
  const options = { ...context, clock: systemClock(), ...timeLimits(lambda.getRemainingTimeInMillis()) };
  const { step: done, reports } = await readMonth(options, step.read, step.progress);
  emitMetrics(reports, { namespace, log: context.log });
  return done;
}

/** The months to read, or why the execution is refused: as a result, which people read in the console, not as an error. */
function plan({
  plan: input,
  execution,
  running,
}: Planning): { items: Item[] } | { failure: ExecutionFailure } {
  try {
    const other = running.find(({ ExecutionArn }) => ExecutionArn !== execution);
    if (other) throw alreadyRunning(other.ExecutionArn);
    const now = new Date();
    const { report, brand, ...range } = parseBackfillInput(input, context.settings, now.getTime());
    const requestsPerSecond = backfillRate(context.settings);
    const since = now.toISOString();
    const items = splitIntoMonths(range).map((month) => ({
      read: { report, brand, ...month, requestsPerSecond, since },
      progress: initialProgress(month),
    }));
    return { items };
  } catch (thrown) {
    const { message } = rethrowBugs(thrown);
    return { failure: { error: 'BackfillRefused', cause: message } };
  }
}

/** The rate budget has a share for one backfill, which two would exceed together. */
function alreadyRunning(arn: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'backfill_running',
    `the backfill "${arn.split(':').at(-1)}" is running, and only one may run at a time: stop it, or start this one when it has ended`,
  );
}

import type { Context } from 'aws-lambda';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { readMonth } from '../shared/operations/backfill-step.ts';
import {
  type Failure,
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

const opened = createFunctionContext();
const namespace = environment('METRICS_NAMESPACE');

/**
 * The steps of the backfill's state machine: plans the months, reads one of them for a while, concludes.
 * @returns a small document: all that a state machine carries has to fit into 256 kB
 * @throws on an event that is none, and on a bug
 */
export async function handler(event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>) {
  const step = parseBackfillEvent(event);
  if ('plan' in step) return plan(step);
  if ('conclude' in step)
    return conclude(
      step.conclude.items.map(({ read }) => read),
      step.conclude.months,
    );
  const options = { ...opened, clock: systemClock(), ...timeLimits(context.getRemainingTimeInMillis()) };
  const { answer, reports } = await readMonth(options, step.read, step.progress);
  emitMetrics(reports, { namespace, log: opened.log });
  return answer;
}

/** What the execution is to read, or why it is refused: an answer rather than an error, because people read it. */
function plan({ plan: input, execution, running }: Planning): { items: Item[] } | { failure: Failure } {
  try {
    const other = running.find(({ ExecutionArn }) => ExecutionArn !== execution);
    if (other) throw alreadyRunning(other.ExecutionArn);
    const now = new Date();
    const { report, brand, ...range } = parseBackfillInput(input, opened.settings, now.getTime());
    const requestsPerSecond = backfillRate(opened.settings);
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

/** The rate of a brand has a share for one backfill, which two would exceed together. */
function alreadyRunning(arn: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'backfill_running',
    `the backfill "${arn.split(':').at(-1)}" is running, and there can be one at a time: start this one when it has ended, or stop it first`,
  );
}

/*
 * Runs with little time continue each other's work. The continuation is the id of that work: a day that was read under
 * this id is not read under it again until all other days were read. Without it, hourly runs with time for four of ten
 * days would read the same four days every hour.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../base/days.ts';
import type { ReportState } from '../lake/report-state.ts';
import { isWithin } from '../lake/stored-time.ts';
import type { Continuation } from '../planning/plan.ts';
import type { RunContext } from '../context/context.ts';

export type Range = NonNullable<Continuation['range']> & {
  /** The range as the user gave it: an open end is a different day tomorrow. */
  name: string;
};

/** Runs without a range continue each other if they are less than this apart. */
const MAX_PAUSE_MS = 10 * MINUTE_MS;
/** Runs with the same range continue each other until the range is complete, even if a schedule starts them daily. */
const MAX_RANGE_PAUSE_MS = DAY_MS + HOUR_MS;

type ContinuationContext = Pick<RunContext, 'reportState' | 'clock'>;

export async function resumeOrStart(
  ctx: ContinuationContext & Pick<RunContext, 'runId'>,
  range: Range | undefined,
): Promise<Continuation> {
  const state = await ctx.reportState.cached();
  const id = liveContinuations(ctx, state)[nameOf(range)]?.id ?? ctx.runId;
  return { id, ...(range && { range }) };
}

/**
 * Leaves the continuation to the next run if days are left to read, and ends it otherwise. Progress renews the
 * continuation of a range: without that, a range that takes longer than the pause between its runs would start over
 * forever. Progress does not renew the continuation of due days: the open day would have to wait until years of history
 * were read.
 */
export async function saveContinuation(
  ctx: RunContext,
  range: Range | undefined,
  run: { isUnfinished: boolean; madeProgress: boolean },
): Promise<void> {
  const name = nameOf(range);
  await ctx.reportState.update((current) => {
    const { [name]: existing, ...others } = liveContinuations(ctx, current);
    if (!run.isUnfinished)
      return current.continuations[name] ? { ...current, continuations: others } : current;
    if (existing && !(range && run.madeProgress)) return current;
    const own = { id: existing?.id ?? ctx.runId, since: ctx.clock.now().toISOString() };
    return { ...current, continuations: { ...others, [name]: own } };
  });
}

function liveContinuations(
  ctx: ContinuationContext,
  { continuations }: ReportState,
): ReportState['continuations'] {
  const nowMs = ctx.clock.now().getTime();
  const isLive = ([name, { since }]: [string, { since: string }]) => {
    return isWithin((name === nameOf(undefined) ? MAX_PAUSE_MS : MAX_RANGE_PAUSE_MS) + 1, since, nowMs);
  };
  return Object.fromEntries(Object.entries(continuations).filter(isLive));
}

function nameOf(range: Range | undefined): string {
  return range?.name ?? 'due';
}

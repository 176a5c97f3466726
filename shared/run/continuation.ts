/*
 * Runs with little time continue each other's work. The work has an id, the continuation, and a day that was read
 * under this id is not read under it again before all others were. Without that, hourly runs with time for four days
 * would read the same four of ten every hour.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../days.ts';
import type { ReportState } from '../lake/documents/report-state.ts';
import type { Continuation } from '../planning/plan.ts';
import type { RunContext } from '../context/context.ts';

/** Days to read again; `since`: those that no run has read from that instant on. */
export type Range = NonNullable<Continuation['range']> & {
  /** What was asked for: an open end is another day tomorrow. */
  name: string;
};

/** Runs without a range that follow each other closer than this continue each other. */
const MAX_PAUSE_MS = 10 * MINUTE_MS;
/** Runs with the same range continue each other until one is complete, also where a schedule starts them daily. */
const MAX_RANGE_PAUSE_MS = DAY_MS + HOUR_MS;

type ContinuationContext = Pick<RunContext, 'reportState' | 'clock' | 'brandSettings'>;

/** Resumes the continuation that an earlier run left, or starts a new one. */
export async function resumeOrStart(
  ctx: ContinuationContext & Pick<RunContext, 'runId'>,
  range: Range | undefined,
): Promise<Continuation> {
  const state = await ctx.reportState.refresh();
  const id = liveContinuations(ctx, state)[nameOf(range)]?.id ?? ctx.runId;
  return { id, ...(range && { range }) };
}

/**
 * Leaves the continuation to the next run where days are left to read, and ends it where none are. That of a range is
 * renewed by progress: without that, a range that takes longer than its runs are apart is started over for ever. That
 * of the days that are due is not: the open day would not be read again before years of history were.
 */
export async function saveContinuation(
  ctx: RunContext,
  range: Range | undefined,
  run: { isUnfinished: boolean; madeProgress: boolean },
): Promise<void> {
  if (range?.since !== undefined) return;
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
  const maxRangeAgeMs = Math.max(MAX_RANGE_PAUSE_MS, ctx.brandSettings.resumeWithinHours * HOUR_MS);
  const isLive = ([name, { since }]: [string, { since: string }]) => {
    // A clock that was ahead has left it if it lies far in the future: it would keep the open day from being read again.
    const distanceMs = Math.abs(nowMs - Date.parse(since));
    return distanceMs <= (name === nameOf(undefined) ? MAX_PAUSE_MS : maxRangeAgeMs);
  };
  return Object.fromEntries(Object.entries(continuations).filter(isLive));
}

function nameOf(range: Range | undefined): string {
  return range?.name ?? 'due';
}

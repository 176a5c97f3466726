import { daysFrom, monthOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import { type RunContext, todayIn } from '../pipeline/context.ts';
import { newestCompleteDay } from '../planning/day-state.ts';

/**
 * The newest day that is committed as complete: what the alarm about reports that are behind measures from.
 * @returns `null` where no day is, or where a ledger cannot be read, which is logged
 */
export async function newestComplete(ctx: RunContext): Promise<string | null> {
  const days = daysFrom(ctx.policy.startDate, todayIn(ctx));
  try {
    const { hasReturnedRecords } = await ctx.index.cached();
    for (const month of new Set(days.reverse().map(monthOf))) {
      const entries = Object.entries((await ctx.ledger(month).cached()).days);
      const newest = newestCompleteDay(entries, hasReturnedRecords);
      if (newest !== null) return newest;
    }
  } catch (thrown) {
    ctx.log({ event: 'newest_complete_day_unknown', message: rethrowBugs(thrown).message });
  }
  return null;
}

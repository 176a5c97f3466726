import { monthsFrom } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import type { KnownMonth } from '../lake/documents/report-state.ts';
import { type RunContext, todayIn } from '../pipeline/context.ts';
import { newestCompleteDay } from '../planning/day-state.ts';

/**
 * The newest day that is committed as complete: what the alarm about reports that are behind measures from. Ledgers are
 * read only of months that the report state does not know.
 * @returns `null` where no day is, or where a ledger cannot be read, which is logged
 */
export async function newestComplete(ctx: RunContext): Promise<string | null> {
  try {
    const { hasReturnedRecords, months } = await ctx.reportState.cached();
    for (const month of monthsFrom(ctx.policy.startDate, todayIn(ctx)).reverse()) {
      const newest = newestKnown(months[month], hasReturnedRecords);
      if (newest) return newest;
      if (newest === null) continue;
      const { days } = await ctx.ledger(month).cached();
      const newestRead = newestCompleteDay(Object.entries(days), hasReturnedRecords);
      if (newestRead !== null) return newestRead;
    }
  } catch (thrown) {
    ctx.log({ event: 'newest_complete_day_unknown', message: rethrowBugs(thrown).message });
  }
  return null;
}

/** `undefined` if the report state does not know. A month examined when there was no record yet has no complete day. */
function newestKnown(month: KnownMonth | undefined, hasReturnedRecords: boolean): string | null | undefined {
  return !hasReturnedRecords && month?.asOf !== undefined ? null : month?.newestComplete;
}

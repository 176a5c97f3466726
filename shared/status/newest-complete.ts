import { dayOf, daysFrom, monthOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import type { CasDocument } from '../lake/documents/cas-document.ts';
import type { MonthIndex } from '../lake/documents/month-index.ts';
import type { RunContext } from '../pipeline/context.ts';
import { newestCompleteDay } from '../planning/day-state.ts';

/**
 * The newest day that is committed as complete: what the alarm about overdue reports measures from.
 * @returns `null` where no day is, or where a ledger cannot be read, which is logged
 */
export async function newestComplete(
  { policy, clock, log, ledger }: Pick<RunContext, 'policy' | 'clock' | 'log' | 'ledger'>,
  index: Pick<CasDocument<MonthIndex>, 'cached'>,
): Promise<string | null> {
  const days = daysFrom(policy.startDate, dayOf(clock.now().getTime(), policy.timeZone));
  try {
    const { hasReturnedRecords } = await index.cached();
    for (const month of new Set(days.reverse().map(monthOf))) {
      const entries = Object.entries((await ledger(month).cached()).days);
      const newest = newestCompleteDay(entries, hasReturnedRecords);
      if (newest !== null) return newest;
    }
  } catch (thrown) {
    const { message } = rethrowBugs(thrown);
    log({ event: 'newest_complete_day_unknown', message });
  }
  return null;
}

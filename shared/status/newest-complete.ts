import { dayOf, daysFrom, monthOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import type { CasDocument } from '../lake/documents/cas-document.ts';
import type { MonthIndex } from '../lake/documents/month-index.ts';
import type { RunContext } from '../pipeline/context.ts';

/**
 * The newest closed day that the ledgers name, `null` where none does or they cannot be read. Empty days of a report
 * that never returned a record prove nothing.
 */
export async function newestComplete(
  { policy, clock, log, ledger }: Pick<RunContext, 'policy' | 'clock' | 'log' | 'ledger'>,
  index: Pick<CasDocument<MonthIndex>, 'cached'>,
): Promise<string | null> {
  const days = daysFrom(policy.startDate, dayOf(clock.now().getTime(), policy.timeZone));
  try {
    const { hasReturnedRecords } = await index.cached();
    for (const month of new Set(days.reverse().map(monthOf))) {
      const { days: entries } = await ledger(month).cached();
      const isComplete = (day: string) => {
        const { state, rows = 0 } = entries[day]?.committed ?? {};
        return state === 'closed' && (hasReturnedRecords || rows > 0);
      };
      const newest = Object.keys(entries).filter(isComplete).sort().at(-1);
      if (newest !== undefined) return newest;
    }
  } catch (thrown) {
    const { message } = rethrowBugs(thrown);
    log({ event: 'newest_complete_day_unknown', message });
  }
  return null;
}

import { dayOf, daysFrom, monthOf } from '../days.ts';
import { expected } from '../errors.ts';
import type { Document } from '../lake/documents/cas-document.ts';
import type { MonthIndex } from '../lake/documents/month-index.ts';
import type { ReportRun } from '../pipeline/context.ts';

/**
 * The newest closed day that the ledgers name, `null` where none does or they cannot be read. Empty days of a report
 * that never returned a record prove nothing.
 */
export async function newestComplete(
  {
    brand,
    report,
    policy,
    clock,
    log,
    ledger,
  }: Pick<ReportRun, 'brand' | 'report' | 'policy' | 'clock' | 'log' | 'ledger'>,
  index: Pick<Document<MonthIndex>, 'known'>,
): Promise<string | null> {
  const days = daysFrom(policy.startDate, dayOf(clock.now().getTime(), policy.timeZone));
  try {
    const { proven } = await index.known();
    for (const month of new Set(days.reverse().map(monthOf))) {
      const { days: entries } = await ledger(month).known();
      const isComplete = (day: string) => {
        const { state, rows = 0 } = entries[day]?.published ?? {};
        return state === 'closed' && (proven || rows > 0);
      };
      const newest = Object.keys(entries).filter(isComplete).sort().at(-1);
      if (newest !== undefined) return newest;
    }
  } catch (thrown) {
    const { message } = expected(thrown);
    log({ level: 'warn', event: 'newest_complete_unknown', brand, report: report.name, message });
  }
  return null;
}

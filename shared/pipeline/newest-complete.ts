import { dayOf, daysFrom, monthOf } from '../days.ts';
import { asBrandReportsError } from '../errors.ts';
import type { ReportRun } from './report-run.ts';

/** The newest closed day that the ledgers name, `null` where none does or they cannot be read. */
export async function newestComplete({
  brand,
  report,
  policy,
  clock,
  log,
  ledger,
}: Pick<ReportRun, 'brand' | 'report' | 'policy' | 'clock' | 'log' | 'ledger'>): Promise<string | null> {
  const days = daysFrom(policy.startDate, dayOf(clock.now().getTime(), policy.timeZone));
  try {
    for (const month of new Set(days.reverse().map(monthOf))) {
      const { days: entries } = await ledger(month).known();
      const isClosed = (day: string) => entries[day]?.published?.state === 'closed';
      const newest = Object.keys(entries).filter(isClosed).sort().at(-1);
      if (newest !== undefined) return newest;
    }
  } catch (thrown) {
    const { kind, message } = asBrandReportsError(thrown);
    if (kind === 'bug') throw thrown;
    log({ level: 'warn', event: 'newest_complete_unknown', brand, report: report.name, message });
  }
  return null;
}

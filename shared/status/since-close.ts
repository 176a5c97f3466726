/** What of closed months counts something else since they were closed, for the page and the message. */
import type { DayFacts } from '../day-facts.ts';
import { monthOf } from '../days.ts';
import { type Close, closedDays, dayId } from '../lake/documents/close.ts';
import type { TableStatus } from './table-statuses.ts';

/**
 * The days up to the end of the latest closed month that have another place now, or that no close has named.
 * @param closes of the brand, the oldest first
 */
export function daysSinceClose(
  { report, days }: Pick<TableStatus, 'report' | 'days'>,
  closes: readonly Close[],
): DayFacts[] {
  const [first, latest] = [closes.at(0)?.month ?? '', closes.at(-1)?.month ?? ''];
  const { days: named } = closedDays(closes);
  return days.filter(({ dt, changes, committedState }) => {
    const closed = named.get(dayId({ report, day: dt }));
    if (monthOf(dt) > latest || committedState === null) return false;
    return closed
      ? closed.place !== undefined && closed.place !== (changes?.times ?? 0)
      : monthOf(dt) >= first;
  });
}

/** The query of what to book, by publisher and currency. */
export function sinceCloseSql(brand: string): string {
  return `SELECT * FROM since_close\nWHERE brand = '${brand}'\nORDER BY month, currency, publisher_id`;
}

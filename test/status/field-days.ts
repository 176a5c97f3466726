import { addDays, daysFrom } from '../../shared/days.ts';
import type { Committed, DayEntry } from '../../shared/lake/documents/ledger.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { readDay } from './stored-ledgers.ts';

/** The days up to and including the last; `coupon` and `note` are missing only on the last day but one. */
export function daysWithCoupon(settings: Settings, last: string, rows = 200): Record<string, DayEntry> {
  const vanish = addDays(last, -1);
  const known = (dt: string): Partial<Committed> => ({
    rows,
    values: { filled: { id: rows, ...(dt !== vanish && { coupon: 0.98 * rows, note: 0.5 * rows }) } },
  });
  return Object.fromEntries(
    daysFrom(addDays(last, -20), last).map((dt) => [dt, readDay(settings, 'order_list', known(dt))]),
  );
}

import { addDays, daysFrom } from '../../shared/days.ts';
import type { Committed, DayEntry } from '../../shared/lake/documents/ledger.ts';
import type { Settings } from '../../shared/settings/settings.ts';
import { readDay } from './stored-ledgers.ts';

/** The days up to and including the last, of 200 rows each: `coupon` and `note` vanish on the last but one and come back. */
export function daysWithCoupon(settings: Settings, last: string): Record<string, DayEntry> {
  const vanishes = addDays(last, -1);
  const filled = (dt: string): Partial<Committed> => ({
    rows: 200,
    filled: { id: 200, ...(dt !== vanishes && { coupon: 196, note: 100 }) },
  });
  return Object.fromEntries(
    daysFrom(addDays(last, -20), last).map((dt) => [dt, readDay(settings, 'order_list', filled(dt))]),
  );
}

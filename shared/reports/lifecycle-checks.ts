import { HOUR_MS } from '../days.ts';
import type { Check } from './definition.ts';

const LOCK_HOURS = 36;

/** The data checks of orders and of transactions: facts about a record that anyone who pays publishers needs. */
export const LIFECYCLE_CHECKS: readonly Check[] = [
  {
    name: 'reversed_after_paid',
    counts: 'records that are void or gone after they were paid',
    advice: 'Deduct their commission from the next payout: the view payouts has the sums by publisher',
    rule: 'lifecycle',
    sql: "paid_by IS NOT NULL AND (records = 0 OR state = 'void')",
    holds: ({ paid_by: paid, records, state }) => isThere(paid) && (records === 0n || state === 'void'),
  },
  {
    name: 'paid_without_locked',
    counts: 'sales that were paid and never locked',
    advice: 'Ask the operator of the service who released them',
    rule: 'lifecycle',
    // Between readings that are further apart, a lock may have appeared and vanished.
    sql: `kind = 'sale' AND locked_by IS NULL AND paid_by < paid_after + INTERVAL '${LOCK_HOURS}' HOUR`,
    holds: ({ kind, locked_by: locked, paid_by: paid, paid_after: after }) =>
      kind === 'sale' &&
      !isThere(locked) &&
      paid instanceof Date &&
      after instanceof Date &&
      paid.getTime() < after.getTime() + LOCK_HOURS * HOUR_MS,
    onlyIf: 'locked_by',
  },
  {
    name: 'commission_above_amount',
    counts: 'sales whose commission is above their amount',
    advice: 'Compare one of them with the dashboard of the brand before it is paid',
    rule: 'lifecycle',
    sql: "kind = 'sale' AND records > 0 AND amount > 0 AND commission > amount",
    holds: ({ kind, records, amount, commission }) =>
      kind === 'sale' && isAbove(records, 0n) && isAbove(amount, 0n) && isAbove(commission, amount),
  },
  {
    name: 'currency_changed',
    counts: 'records whose currency changed after they were first seen',
    advice: 'Ask the operator of the service which currency is right: sums of both currencies have changed',
    rule: 'lifecycle',
    sql: 'records > 0 AND currency <> seen_currency',
    holds: ({ records, currency, seen_currency: first }) =>
      isAbove(records, 0n) && isThere(currency) && isThere(first) && currency !== first,
  },
];

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined;
}

/** Decimals of one scale are whole numbers of its smallest unit, so they can be compared as integers. */
function isAbove(value: unknown, other: unknown): boolean {
  return typeof value === 'bigint' && typeof other === 'bigint' && value > other;
}

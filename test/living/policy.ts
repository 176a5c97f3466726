/**
 * Decides when a day has to be read, by docs/reference/settings.md: an oracle that is independent of the product's planning. It
 * judges that no day waits for longer, and counts the requests of the least diligent reader that keeps to the policy.
 */
import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  addDays,
  dayOf,
  daysBetween,
  endOfDay,
  startOfDay,
} from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import { type HeldTable, type LivingBrand, wordAt } from '../simulation/brand.ts';

interface Tier {
  untilAgeDays: number;
  /** 0: at every run. */
  everyMs: number;
}

const RESTATED: readonly Tier[] = [
  { untilAgeDays: 2, everyMs: 0 },
  { untilAgeDays: 35, everyMs: DAY_MS },
  { untilAgeDays: 120, everyMs: 7 * DAY_MS },
];

const POLICY: Readonly<Record<HeldTable, readonly Tier[]>> = {
  clicks: [{ untilAgeDays: 2, everyMs: DAY_MS }],
  orders: RESTATED,
  transactions: RESTATED,
  attribution: [
    { untilAgeDays: 3, everyMs: 0 },
    { untilAgeDays: 30, everyMs: DAY_MS },
  ],
};

const LATE_MS = 15 * MINUTE_MS;

/** The states of records that can no longer change, by their field. */
const FINAL: Partial<Record<HeldTable, { field: string; states: readonly string[] }>> = {
  orders: { field: 'status', states: ['effective', 'void'] },
  transactions: { field: 'order_status', states: ['paid', 'void'] },
};

/** While a record of a day can change, the day is re-read after the last tier, up to this age. */
const WATCHED: Tier = { untilAgeDays: 400, everyMs: 14 * DAY_MS };

/** Whether a record of a day can still change, by its state. */
export function mayChange(records: readonly JsonObject[], table: HeldTable): boolean {
  const final = FINAL[table];
  return final !== undefined && records.some((record) => !final.states.includes(String(record[final.field])));
}

export interface Reading {
  atMs: number;
  /** Whether it closed the day. */
  closed: boolean;
  /** Whether it found a record that can still change. */
  mayChange: boolean;
}

/**
 * Whether a run has to read the day.
 * @param earlyMs how much earlier than its interval a day may be read again
 */
export function isNeeded(
  table: HeldTable,
  day: string,
  last: Reading | undefined,
  nowMs: number,
  { timeZone, earlyMs = 0 }: { timeZone: string; earlyMs?: number },
): boolean {
  if (nowMs < startOfDay(day, timeZone) + 1000) return false;
  if (!last) return true;
  if (!last.closed) return last.atMs < nowMs;
  const age = daysBetween(day, dayOf(nowMs, timeZone));
  const tiers = last.mayChange ? [...POLICY[table], WATCHED] : POLICY[table];
  const tier = tiers.find(({ untilAgeDays }) => age <= untilAgeDays);
  if (tier)
    return last.atMs < nowMs && nowMs - last.atMs >= tier.everyMs - Math.min(earlyMs, tier.everyMs / 10);
  return last.atMs < startOfDay(addDays(day, (tiers.at(-1)?.untilAgeDays ?? 0) + 1), timeZone);
}

/** Whether a reading that begins then closes the day. */
export function closes(day: string, atMs: number, timeZone: string): boolean {
  return atMs >= endOfDay(day, timeZone) + LATE_MS;
}

/** The least number of requests for each report, given the times of the runs. */
export function leastRequests(
  brand: LivingBrand,
  runsMs: readonly number[],
  perPage: Readonly<Record<HeldTable, number>>,
): Record<HeldTable, number> {
  const least: Record<HeldTable, number> = { clicks: 0, orders: 0, transactions: 0, attribution: 0 };
  for (const table of ['clicks', 'orders', 'transactions', 'attribution'] as const) {
    for (const day of brand.days) {
      let last: Reading | undefined;
      for (const nowMs of runsMs) {
        if (!isNeeded(table, day, last, nowMs, { timeZone: brand.timeZone, earlyMs: HOUR_MS / 2 })) continue;
        const records = wordAt(brand, table, day, nowMs).map(({ record }) => record);
        const closed = closes(day, nowMs, brand.timeZone);
        last = { atMs: nowMs, closed, mayChange: mayChange(records, table) };
        least[table] += requestsOf(table, records.length, perPage[table]);
      }
    }
  }
  return least;
}

/** Numbered pages end with an empty one. */
function requestsOf(table: HeldTable, records: number, perPage: number): number {
  const pages = Math.ceil(records / perPage);
  return table === 'orders' ? pages + 1 : Math.max(1, pages);
}

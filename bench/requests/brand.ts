/**
 * What a brand's service holds of a day as time passes: orders that become final after days to weeks, and transactions
 * that are paid later. The same seed is the same brand.
 */
import { DAY_MS, HOUR_MS, daysFrom, endOfDay, startOfDay } from '../../shared/days.ts';

export const ZONE = 'UTC';

/** What a report has of one day: when its records came, changed, and became final, in milliseconds. */
export interface HeldDay {
  day: string;
  rows: number;
  /** When the content changed, ascending. */
  changesMs: readonly number[];
  /** When the last record became final; infinite where records have no state. */
  finalMs: number;
}

export interface Restatement {
  rowsPerDay: number;
  /** How long after its day a record changes, in days; the last change makes it final where `isFinal`. */
  changeDays: (random: () => number) => number[];
  isFinal: boolean;
}

/** One in five is void within two weeks, the others become effective after one to six weeks. */
export const ORDERS: Restatement = {
  rowsPerDay: 300,
  changeDays: (random) => [random() < 0.2 ? 1 + 13 * random() : 7 + 35 * random() ** 2],
  isFinal: true,
};

/** Locked when the order is final, and paid at the next of two payments a month. */
export const TRANSACTIONS: Restatement = {
  rowsPerDay: 300,
  changeDays(random) {
    const locked = random() < 0.2 ? 1 + 13 * random() : 7 + 35 * random() ** 2;
    return [locked, 15 * Math.ceil((locked + 10) / 15)];
  },
  isFinal: true,
};

/** What is attributed within two weeks. */
export const ATTRIBUTION: Restatement = {
  rowsPerDay: 500,
  changeDays: (random) => [14 * random() ** 2],
  isFinal: false,
};

/** The days of a report from `from` to `to`. */
export function heldDays(from: string, to: string, restatement: Restatement, seed: number): HeldDay[] {
  const random = randomOf(seed);
  return daysFrom(from, to).map((day) => {
    const endMs = endOfDay(day, ZONE);
    const rows = Math.round(restatement.rowsPerDay * (0.5 + random()));
    const changes = Array.from({ length: rows }, () => {
      const own = restatement
        .changeDays(random)
        .map((days) => Math.floor((endMs + days * DAY_MS) / HOUR_MS) * HOUR_MS);
      const cameMs = startOfDay(day, ZONE) + Math.floor(random() * 24) * HOUR_MS;
      return [cameMs, ...own];
    });
    const finalMs = restatement.isFinal ? Math.max(...changes.flatMap((own) => own.slice(-1))) : Infinity;
    return { day, rows, changesMs: [...new Set(changes.flat())].sort((a, b) => a - b), finalMs };
  });
}

/** How many changes of the day had happened by then: its digest, as it were. */
export function versionAt({ changesMs }: HeldDay, atMs: number): number {
  let [from, to] = [0, changesMs.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((changesMs[middle] ?? 0) <= atMs) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Numerical Recipes' generator: the same everywhere, and no more is needed here. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

import { monthOf } from '../days.ts';
import type { Committed, DayEntry, Ledger } from '../lake/documents/ledger.ts';
import { attemptPrefix, versionKey } from '../lake/paths.ts';
import type { BrandReport } from './context.ts';

/**
 * A day that somebody works on: what the ledger says of it, and where its objects lie. It is read once; each step takes
 * it, and one that changes it returns the next one. If every step asked the ledger by itself, two of them could decide by
 * different days.
 */
export interface OpenDay {
  /** `YYYY-MM-DD` */
  day: string;
  entry: DayEntry;
  committed: Committed | undefined;
  keys: {
    /** The Parquet object of a version. */
    version: (snapshot: string) => string;
    /** The prefix of what an attempt has staged. */
    attempt: (id: string) => string;
  };
}

type DayContext = Pick<BrandReport, 'brand' | 'report' | 'ledger'>;

/** The day as this process last saw its ledger, which is read if it never was. */
export async function openDay(ctx: DayContext, day: string): Promise<OpenDay> {
  return dayIn(ctx, day, await ctx.ledger(monthOf(day)).cached());
}

/** The same, as the ledger is now. */
export async function openDayAnew(ctx: DayContext, day: string): Promise<OpenDay> {
  return dayIn(ctx, day, await ctx.ledger(monthOf(day)).refresh());
}

/** Applies a transition of the ledger. @returns the day from then on */
export async function changeDay<Day extends Pick<OpenDay, 'day'>>(
  ctx: DayContext,
  open: Day,
  transition: (ledger: Ledger, day: string) => Ledger,
): Promise<Day & OpenDay> {
  const { day } = open;
  const ledger = await ctx.ledger(monthOf(day)).update((current) => transition(current, day));
  return { ...open, ...dayIn(ctx, day, ledger) };
}

function dayIn({ brand, report }: DayContext, day: string, { days }: Ledger): OpenDay {
  const { [day]: entry = {} } = days;
  const keys = {
    version: (snapshot: string) => versionKey(report.table, brand, day, snapshot),
    attempt: (id: string) => attemptPrefix(report.name, brand, day, id),
  };
  return { day, entry, committed: entry.committed, keys };
}

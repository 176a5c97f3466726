import { monthOf } from '../base/days.ts';
import type { Committed, DayEntry, Ledger } from '../lake/ledger.ts';
import { attemptPrefix, versionKey } from '../lake/paths.ts';
import type { BrandReport } from './context.ts';

/**
 * A day that the caller works on. The entry is read once and passed from step to step; a step that changes the day
 * returns the changed day. If every step read the ledger itself, two steps could decide from different entries.
 */
export interface OpenDay {
  day: string;
  entry: DayEntry;
  committed: Committed | undefined;
  keys: {
    version: (snapshot: string) => string;
    attempt: (id: string) => string;
  };
}

type DayContext = Pick<BrandReport, 'brand' | 'report' | 'ledger'>;

/** The day from the ledger as this process last read it. The ledger is read if this process has not read it yet. */
export async function openDay(ctx: DayContext, day: string): Promise<OpenDay> {
  return dayIn(ctx, day, await ctx.ledger(monthOf(day)).cached());
}

export async function openDayAnew(ctx: DayContext, day: string): Promise<OpenDay> {
  return dayIn(ctx, day, await ctx.ledger(monthOf(day)).refresh());
}

/** The day of the report whose records this report looks up; `undefined` without such a report, or if it lacks the day. */
export async function upstreamEntry(
  { upstream }: Pick<BrandReport, 'upstream'>,
  day: string,
): Promise<DayEntry | undefined> {
  return (await upstream?.ledger(monthOf(day)).cached())?.days[day];
}

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

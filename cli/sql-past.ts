/** Finds the place of each day in the chain of its changes. A day shows what had been read whole by then. */
import { configError } from '../shared/base/errors.ts';
import { listed } from '../shared/findings/index.ts';
import { type Close, closedDays, dayId } from '../shared/lake/close.ts';
import type { CommittedDay, DayOfLedger } from '../shared/lake/read.ts';
import { exceptionsText } from '../shared/operations/close-month.ts';
import { counted } from '../shared/base/exact-number.ts';
import { printedCommand } from './printed-command.ts';

/** @param named the tables in SQL as of the past that exist only as of now */
export function refusePresent(named: readonly string[]): void {
  if (named.length === 0) return;
  throw configError('not_as_of', `--as-of cannot answer for ${named.join(' and ')}. Query without --as-of.`);
}

export interface DayAt extends CommittedDay {
  /** The number of that change; missing: the day as it is now. */
  place?: number;
}

/** A day whose records of then are not known, and why. */
export interface UnknownDay extends DayOfLedger {
  why: 'open' | 'anew' | 'lost';
}

export interface PastDays {
  /** The past time, as texts name it. */
  time: string;
  days: DayAt[];
  unknown: UnknownDay[];
  notes: string[];
}

/** @returns the places of the days whose newest change is later than the time */
export type PlacesBy = (
  days: readonly CommittedDay[],
  at: Date,
) => Promise<ReadonlyMap<CommittedDay, number>>;

export async function daysAtInstant(
  days: readonly DayOfLedger[],
  at: Date,
  placesBy: PlacesBy,
): Promise<PastDays> {
  const then = at.toISOString();
  const past: PastDays = { time: then, days: [], unknown: [], notes: [] };
  const erased = days.filter(({ entry }) => entry.erasedAt !== undefined);
  for (const [brand, own] of Map.groupBy(erased, (day) => day.brand))
    past.notes.push(
      ...erasedNote(
        brand,
        '',
        own.map(({ report, day }) => ({ report: report.name, day })),
      ),
    );
  const changed: CommittedDay[] = [];
  let later = 0;
  for (const { entry, ...day } of days) {
    const { committed, firstCommittedAt } = entry;
    if (!committed) continue;
    const { by = '9999', anewBy = '', lastBy = '', place = 0 } = committed.history ?? {};
    const own = { ...day, committed };
    const isOpen = by > then;
    if (isOpen && firstCommittedAt !== undefined && firstCommittedAt > then) later += 1;
    else if (isOpen) past.unknown.push({ ...day, entry, why: 'open' });
    else if (anewBy > then) past.unknown.push({ ...day, entry, why: 'anew' });
    else if (lastBy > then) changed.push(own);
    else past.days.push({ ...own, place });
  }
  for (const [day, place] of await placesBy(changed, at)) past.days.push({ ...day, place });
  if (later > 0) past.notes.push(`${counted(later, 'day')} without rows, because they were first read later`);
  return past;
}

/** The days that the closes of brands name, each at the place in the last close that names it. @param closes by month */
export function daysAtCloses(closes: readonly Close[], days: readonly DayOfLedger[]): PastDays {
  const past: PastDays = {
    time: `the close of ${closes.at(-1)?.month}`,
    days: [],
    unknown: [],
    notes: closes.flatMap(({ brand, month, closedAt, erased }) =>
      erasedNote(brand, ` after ${month} was closed at ${closedAt}`, erased),
    ),
  };
  const named = Map.groupBy(closes, ({ brand }) => brand);
  const byBrand = new Map([...named].map(([brand, own]) => [brand, closedDays(own).days]));
  for (const { entry, ...day } of days) {
    const { committed } = entry;
    const place = byBrand.get(day.brand)?.get(dayId({ report: day.report.name, day: day.day }))?.place;
    if (place === undefined) continue;
    const { place: last = -1, anewPlace = 0 } = committed?.history ?? {};
    if (!committed || place > last) past.unknown.push({ ...day, entry, why: 'lost' });
    else if (place < anewPlace) past.unknown.push({ ...day, entry, why: 'anew' });
    else past.days.push({ ...day, committed, place });
  }
  return past;
}

/** @returns the closes of the month, and those before it of the same brands. @throws BrandReportsError `config` if it is not closed */
export function closesUpTo(closes: readonly Close[], month: string): Close[] {
  const closed = closes.filter((close) => close.month === month).map(({ brand }) => brand);
  if (closed.length > 0)
    return closes.filter((close) => close.month <= month && closed.includes(close.brand));
  const months = [...new Set(closes.map((close) => close.month))].sort().join(', ') || 'none';
  const next = `To close it: ${printedCommand('close', [month])}`;
  throw configError('not_closed', `${month} is not closed. Closed months: ${months}. ${next}`);
}

const WHY: Record<UnknownDay['why'], string> = {
  open: 'were open, and the lake keeps what a day was since it was first read whole',
  anew: 'have a history that began anew later',
  lost: 'have lost their history',
};

/** @throws BrandReportsError `config` if the records of a day in `read` are not known */
export function refuseUnknown({ time, unknown }: PastDays, read: readonly DayOfLedger[]): void {
  const refused = unknown.filter(({ entry }) => read.some((day) => day.entry === entry));
  const [first] = refused.map(({ day }) => day).sort();
  if (first === undefined) return;
  const whys = [...Map.groupBy(refused, ({ why }) => why)].map(([why, days]) => {
    const names = days.map(({ brand, report, day }) => `${brand} ${report.table} ${day}`);
    return `${listed(names)} ${WHY[why]}`;
  });
  const message = `As of ${time}, some days are not known: ${whys.join('; ')}. Leave them out: dt < '${first}'.`;
  throw configError('not_known_then', message);
}

function erasedNote(brand: string, when: string, days: readonly { report: string; day: string }[]): string[] {
  if (days.length === 0) return [];
  const named = exceptionsText(days.map(({ report, day }) => ({ report, day, why: 'erased' })));
  return [`days of ${brand} were erased${when}, so their earlier rows are missing: ${named}`];
}

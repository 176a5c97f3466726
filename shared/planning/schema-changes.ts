/*
 * Fields that come and go. A service renames a field, or sends it as text from one day to the next, and says so nowhere:
 * the lake keeps every value (I6), but a query of the old column has silently nothing to add up any more. So each
 * complete day is compared with the days before it, by what the ledgers say of its columns. What is found is a function of the
 * ledgers alone: it is the same for `schema_changes`, `status` and the watcher, whenever it is asked, and a day that is
 * restated may change it. A day that was read before the others shows an older form of the service's records, and no
 * change of its own. It is quiet where the days are few, small or irregular: better to miss a change there than
 * to report what nobody reads any more.
 */
import { addDays } from '../days.ts';
import { isFuture } from '../lake/documents/cas-document.ts';
import type { Committed, DayEntry } from '../lake/documents/ledger.ts';
import { MAX_FILLED } from '../lake/table/column-facts.ts';
import { DERIVED_COLUMNS } from '../lake/table/columns.ts';

/** How a day's field differs from the days before. */
export type FieldChange = 'new' | 'vanished' | 'returned' | 'drifted' | 'null_share';

/** A field that is different on a day than on the days before it. */
export interface SchemaChange {
  /** `YYYY-MM-DD`: the first complete day on which it is so. */
  dt: string;
  column: string;
  change: FieldChange;
  /**
   * The share of rows, usually before and on the day: those with a value; of `null_share` those without; of `drifted`
   * the share of its values that are in `_rescued`.
   */
  shareBefore: number;
  shareAfter: number;
  /** Of the day. */
  rows: number;
  /** The last day that was as before; of `returned`: the day on which it had vanished. */
  since: string;
  /** In words, with the numbers. */
  detail: string;
  /** `YYYY-MM-DD`, of a field that is gone on a day too old to be news: when readings of it and all later days found that first. */
  found?: string;
}

/** What a ledger says of the columns of a complete day that has rows. */
export interface FieldDay {
  dt: string;
  rows: number;
  /** By column that some rows have, in the column or in `_rescued`: how many. */
  present: ReadonlyMap<string, number>;
  /** By column: how many rows have it in `_rescued`. */
  rescued: ReadonlyMap<string, number>;
  /** Whether nothing is known of the columns that are not present. */
  isCut: boolean;
  /** Whether it was read as news, and not long after, as a part of the history. */
  isNews: boolean;
  /** Since when it has this content, ISO 8601; later readings that found the same do not count. */
  contentAt: string | undefined;
  /** Whether this content has replaced another one: not on the days of a history, of which the newest are read first. */
  isRestated: boolean;
}

/** How far back a day is compared: a field that comes once a month is no new one each time. */
export const HISTORY_DAYS = 45;
/** The usual is that of the last days with rows enough, so many at most and at least. */
const MAX_USUAL_DAYS = 14;
const MIN_USUAL_DAYS = 7;
/** With fewer rows the shares of a day say nothing. */
const MIN_ROWS_OF_USUAL = 10;
/** A field is missed, or new, only where by the other days so many values were to be expected: then it is no chance. */
const EXPECTED_VALUES = 20;
/** One or two odd values make no change. */
const MIN_VALUES = 3;
const NULL_SHARE_JUMP = 0.3;
const RESCUED_SHARE_JUMP = 0.05;
/** A day that was read for the first time so long after its end belongs to the history. */
const NEWS_DAYS = 7;

/** Every commit compares some fifty days of which only one is new. */
const knownDays = new WeakMap<DayEntry, FieldDay | 'not_compared'>();

/** The days of ledgers that are compared, in order: those that were read whole and have rows. */
export function fieldDays(entries: Iterable<readonly [dt: string, entry: DayEntry]>): FieldDay[] {
  const days: FieldDay[] = [];
  for (const [dt, entry] of entries) {
    if (entry.committed && isFuture(entry.committed)) continue;
    const day = knownDays.get(entry) ?? fieldDay(dt, entry);
    knownDays.set(entry, day);
    if (day !== 'not_compared') days.push(day);
  }
  return days.sort((a, b) => (a.dt < b.dt ? -1 : 1));
}

function fieldDay(dt: string, { committed, firstCommittedAt }: DayEntry): FieldDay | 'not_compared' {
  if (!committed || committed.state === 'open' || committed.rows === 0 || !committed.values?.filled)
    return 'not_compared';
  const { rows, committedAt: contentAt } = committed;
  const filled = Object.entries(committed.values.filled);
  const rescued = Object.entries(committed.values.rescued ?? {});
  const present = new Map(filled);
  for (const name of DERIVED_COLUMNS) present.delete(name);
  for (const [column, values] of rescued) present.set(column, Math.max(values, present.get(column) ?? 0));
  const isNews = firstCommittedAt === undefined || firstCommittedAt < addDays(dt, NEWS_DAYS + 2);
  const isCut = filled.length >= MAX_FILLED;
  const isRestated =
    firstCommittedAt !== undefined && contentAt !== undefined && firstCommittedAt < contentAt;
  return { dt, rows, present, rescued: new Map(rescued), isCut, isNews, contentAt, isRestated };
}

/** Whether the day was just closed with this content, and says something: a reading that finds the same changes nothing. */
export function isNewlyCompared(committed: Committed | undefined): boolean {
  return committed !== undefined && committed.state !== 'open' && committed.rows > 0;
}

/**
 * What is different on each of the days, by day and column.
 * @param days with those of the `HISTORY_DAYS` before `from`; in order
 * @param from only what is different from this day on
 */
export function schemaChanges(days: readonly FieldDay[], from = ''): SchemaChange[] {
  return days.flatMap((day, index) => (day.dt < from ? [] : changesOn(day, historyOf(days, index))));
}

function historyOf(days: readonly FieldDay[], index: number): FieldDay[] {
  const oldest = addDays(days[index]?.dt ?? '', -HISTORY_DAYS);
  const start = days.findIndex(({ dt }) => dt >= oldest);
  return days.slice(start, index);
}

/** Changes of so many days are news. */
export const SHOWN_DAYS = 14;

/**
 * What is different on the days of the last two weeks, and which fields the readings of these weeks have found gone from
 * older days on: a service that renames a field does so in all records that it returns.
 * @param today in the brand's time zone
 */
export function newSchemaChanges(
  entries: Iterable<readonly [dt: string, entry: DayEntry]>,
  today: string,
): SchemaChange[] {
  const from = addDays(today, -SHOWN_DAYS);
  const days = fieldDays(entries);
  return [...goneLately(days, from), ...schemaChanges(days, from)];
}

function goneLately(days: readonly FieldDay[], from: string): SchemaChange[] {
  const gone: SchemaChange[] = [];
  const known = new Set<string>();
  let found = '9';
  for (let index = days.length - 1; index >= 0; index -= 1) {
    const day = days[index];
    if (day?.contentAt === undefined || day.contentAt < from) break;
    if (day.contentAt < found) found = day.contentAt.slice(0, from.length);
    const changes = day.dt < from && day.isRestated ? changesOn(day, historyOf(days, index)) : [];
    for (const change of changes) {
      if (change.change !== 'vanished' || known.has(change.column)) continue;
      gone.unshift({ ...change, found });
      known.add(change.column);
    }
    for (const column of day.present.keys()) known.add(column);
  }
  return gone;
}

const WORDS: Record<FieldChange, string> = {
  new: 'is new',
  vanished: 'has vanished',
  returned: 'has returned',
  drifted: 'no longer fits its type',
  null_share: 'is NULL more often',
};

/** One line, without the day: `coupon has vanished: none of 340 rows has a value, usually 98 % of them`. */
export function schemaChangeText({ column, change, detail }: SchemaChange): string {
  return `${column} ${WORDS[change]}: ${detail}`;
}

/** A day, and what it is compared with. */
interface Comparison {
  day: FieldDay;
  /** All days before it. */
  history: readonly FieldDay[];
  /** Of these, those whose shares are the usual ones. */
  usual: readonly FieldDay[];
  /** The last of the usual days. */
  previous: FieldDay;
}

type Found = Omit<SchemaChange, 'dt' | 'column' | 'rows'>;

function changesOn(day: FieldDay, history: readonly FieldDay[]): SchemaChange[] {
  const compared = comparison(day, history);
  if (!compared) return [];
  const gone = [...compared.previous.present.keys()].filter((column) => !day.present.has(column));
  const changes = [...day.present.keys(), ...gone].flatMap((column) => {
    const found = changeOf(column, compared);
    return found ? [{ dt: day.dt, column, rows: day.rows, ...found }] : [];
  });
  return changes.sort((a, b) => (a.column < b.column ? -1 : 1));
}

function comparison(day: FieldDay, history: readonly FieldDay[]): Comparison | undefined {
  const usual = history.filter(({ rows }) => rows >= MIN_ROWS_OF_USUAL).slice(-MAX_USUAL_DAYS);
  const previous = usual.at(-1);
  return previous && usual.length >= MIN_USUAL_DAYS ? { day, history, usual, previous } : undefined;
}

/** Only what differs from the day before too: what lasts is told once. */
function changeOf(column: string, compared: Comparison): Found | undefined {
  const now = rowsWith(compared.day, column);
  const before = rowsWith(compared.previous, column);
  if (now === undefined || before === undefined) return undefined;
  if (now === 0) return vanished(column, compared);
  if (before === 0) return returned(column, now, compared) ?? appeared(column, now, compared);
  return drifted(column, compared) ?? nullShare(column, now, compared);
}

/** No row has it, though by the usual share many would. */
function vanished(column: string, { day, history, usual, previous }: Comparison): Found | undefined {
  const shares = sharesOf(usual, (each) => rowsWith(each, column));
  const hadIt = (each: FieldDay) => (rowsWith(each, column) ?? 0) > 0;
  // Otherwise the service may have sent it only since the day was read.
  if (!history.some((each) => hadIt(each) && !isOlder(day, each))) return undefined;
  if (!hadIt(previous) || allButOneAtLeast(shares) * day.rows < EXPECTED_VALUES) return undefined;
  const shareBefore = median(shares);
  return {
    change: 'vanished',
    shareBefore,
    shareAfter: 0,
    since: history.findLast(hadIt)?.dt ?? previous.dt,
    detail: `none of ${day.rows} rows has a value, usually ${percent(shareBefore)} of them`,
  };
}

/** It had vanished, and has values again. */
function returned(column: string, now: number, { day, history }: Comparison): Found | undefined {
  const last = history.findLastIndex((each) => (rowsWith(each, column) ?? 0) > 0);
  const missed = history.findIndex(({ rows }, index) => index > last && rows >= MIN_ROWS_OF_USUAL);
  const missedDay = history[missed];
  const compared = missedDay && last >= 0 && comparison(missedDay, history.slice(0, missed));
  if (!compared || !vanished(column, compared) || isOlder(day, missedDay)) return undefined;
  const shareAfter = now / day.rows;
  return {
    change: 'returned',
    shareBefore: 0,
    shareAfter,
    since: missedDay.dt,
    detail: `${percent(shareAfter)} of ${day.rows} rows have a value again, after it had vanished on ${missedDay.dt}`,
  };
}

/** No day before had it, though by today's share many of its values would have come. */
function appeared(column: string, now: number, { day, history, previous }: Comparison): Found | undefined {
  const shareAfter = now / day.rows;
  const rowsBefore = history.reduce((rows, each) => rows + each.rows, 0);
  const isKnown = history.some((each) => rowsWith(each, column) !== 0);
  const isChance = now < MIN_VALUES || shareAfter * rowsBefore < EXPECTED_VALUES;
  if (isKnown || isChance || !day.isNews) return undefined;
  return {
    change: 'new',
    shareBefore: 0,
    shareAfter,
    since: previous.dt,
    detail: `${percent(shareAfter)} of ${day.rows} rows have a value, none of ${rowsBefore} rows before`,
  };
}

/** More of its values than usually are not what its column can hold. */
function drifted(column: string, { day, usual, previous }: Comparison): Found | undefined {
  const values = rescuedRows(day, column);
  if (values < MIN_VALUES) return undefined;
  const share = (each: FieldDay) => rescuedRows(each, column) / (rowsWith(each, column) || 1);
  const shareAfter = share(day);
  const shares = usual.map(share).sort(ascending);
  const jump = shareAfter - Math.max(shares.at(-2) ?? 0, share(previous));
  if (jump < RESCUED_SHARE_JUMP) return undefined;
  const shareBefore = median(shares);
  return {
    change: 'drifted',
    shareBefore,
    shareAfter,
    since: previous.dt,
    detail: `${values} of its values do not fit and are in _rescued (${percent(shareAfter)}, usually ${percent(shareBefore)})`,
  };
}

/** Fewer rows than usually have it. */
function nullShare(column: string, now: number, { day, usual, previous }: Comparison): Found | undefined {
  const share = now / day.rows;
  // First of all, because of most columns it is all there is to know.
  if ((rowsWith(previous, column) ?? 0) / previous.rows - share < NULL_SHARE_JUMP) return undefined;
  const shares = sharesOf(usual, (each) => rowsWith(each, column));
  const usually = allButOneAtLeast(shares);
  if (usually - share < NULL_SHARE_JUMP || usually * day.rows < EXPECTED_VALUES) return undefined;
  const [shareBefore, shareAfter] = [1 - median(shares), 1 - share];
  return {
    change: 'null_share',
    shareBefore,
    shareAfter,
    since: previous.dt,
    detail: `${percent(shareAfter)} of ${day.rows} rows have no value, usually ${percent(shareBefore)}`,
  };
}

/** Whether the other day has been restated since this one was read. */
function isOlder({ contentAt }: FieldDay, other: FieldDay): boolean {
  return (
    contentAt !== undefined &&
    other.contentAt !== undefined &&
    contentAt < other.contentAt &&
    other.isRestated
  );
}

/** How many rows have the field, in its column or in `_rescued`; `undefined` where the ledger does not say. */
function rowsWith(day: FieldDay, column: string): number | undefined {
  return day.present.get(column) ?? (day.isCut ? undefined : 0);
}

function rescuedRows({ rescued }: FieldDay, column: string): number {
  return rescued.get(column) ?? 0;
}

/** In order, of the days of which it is known. */
function sharesOf(days: readonly FieldDay[], rowsOf: (day: FieldDay) => number | undefined): number[] {
  const shares = days.flatMap((day) => {
    const rows = rowsOf(day);
    return rows === undefined ? [] : [rows / day.rows];
  });
  return shares.sort(ascending);
}

/** The share that all of the days but one reach, so that one odd day is none, and what is on and off regularly is usual. */
function allButOneAtLeast(shares: readonly number[]): number {
  return shares.length < MIN_USUAL_DAYS ? 0 : (shares[1] ?? 0);
}

function median(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function ascending(a: number, b: number): number {
  return a - b;
}

function percent(share: number): string {
  const tenths = Math.round(share * 1000) / 10;
  return share > 0 && tenths === 0 ? 'under 0.1 %' : `${tenths} %`;
}

/*
 * Finds fields that appear, vanish or change. A service may rename a field, or send it as text from one day to the
 * next, without notice. The lake keeps every value (I6), but a query of the old column silently finds nothing to add
 * up. So each complete day is compared with the days before it, by the column statistics in the ledgers. The result
 * depends only on the ledgers, so `schema_changes`, `status` and the watcher always agree; a restated day may change
 * it. A day that was read before the days it is compared with shows an older form of the service's records, which is
 * not a change. If days are few, small or irregular, no change is reported: false alarms would make people ignore all
 * of them.
 */
import { addDays } from '../days.ts';
import type { Committed, DayEntry } from '../lake/documents/ledger.ts';
import { MAX_FILLED } from '../lake/table/column-facts.ts';
import { DERIVED_COLUMNS } from '../lake/table/columns.ts';

/** How a field of a day differs from the days before. */
export type FieldChange = 'new' | 'vanished' | 'returned' | 'drifted' | 'null_share';

/** A field that differs on a day from the days before it. */
export interface SchemaChange {
  /** `YYYY-MM-DD`: the first complete day with the difference. */
  dt: string;
  column: string;
  change: FieldChange;
  /**
   * The usual share of rows before the day, and the share on the day. Rows with a value count; for `null_share` rows
   * without a value; for `drifted` it is the share of the field's values that are in `_rescued`.
   */
  shareBefore: number;
  shareAfter: number;
  /** Rows of the day. */
  rows: number;
  /** The last day without the change; for `returned`: the day on which the field had vanished. */
  since: string;
  /** The change in words, with the numbers. */
  detail: string;
  /**
   * `YYYY-MM-DD`, only for a field that has vanished on a day too old to be news: when readings of that day and all
   * later days first found this.
   */
  found?: string;
}

/** The column statistics that a ledger has of a complete day with rows. */
export interface FieldDay {
  dt: string;
  rows: number;
  /** By column: how many rows have a value, in the column or in `_rescued`. */
  present: ReadonlyMap<string, number>;
  /** By column: how many rows have the value in `_rescued`. */
  rescued: ReadonlyMap<string, number>;
  /** Whether the statistics are cut off, so that a column that is not in `present` may still have values. */
  isCut: boolean;
  /** Whether it was first read soon after its end, and not much later as a part of the history. */
  isNews: boolean;
  /** Since when it has this content, ISO 8601; later readings with the same content do not count. */
  contentAt: string | undefined;
  /**
   * Whether this content has replaced an earlier one. Days of a history, whose newest days are read first, have not.
   */
  isRestated: boolean;
}

/** How far back a day is compared: otherwise a field that appears once a month would be new each time. */
export const HISTORY_DAYS = 45;
/** The usual shares come from the last days with enough rows: at most and at least this many days. */
const MAX_USUAL_DAYS = 14;
const MIN_USUAL_DAYS = 7;
/** With fewer rows, the shares of a day are not meaningful. */
const MIN_ROWS_OF_USUAL = 10;
/** A field has vanished or is new only if the other days' shares would give this many values: fewer may be chance. */
const EXPECTED_VALUES = 20;
/** One or two unusual values are not a change. */
const MIN_VALUES = 3;
const NULL_SHARE_JUMP = 0.3;
const RESCUED_SHARE_JUMP = 0.05;
/** A day that was first read this many days after its end, or later, belongs to the history. */
const NEWS_DAYS = 7;

/** Every commit compares about fifty days, of which only one is new. */
const knownDays = new WeakMap<DayEntry, FieldDay | 'not_compared'>();

/** The days of ledgers that are compared, in order: the days that were read whole and have rows. */
export function fieldDays(entries: Iterable<readonly [dt: string, entry: DayEntry]>): FieldDay[] {
  const days: FieldDay[] = [];
  for (const [dt, entry] of entries) {
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

/** Whether this version of a day can be compared: it was read whole and has rows. */
export function isNewlyCompared(committed: Committed | undefined): boolean {
  return committed !== undefined && committed.state !== 'open' && committed.rows > 0;
}

/**
 * The changes on each of the days, by day and column.
 * @param days in order, including the `HISTORY_DAYS` before `from`
 * @param from only changes on this day and later days are returned
 */
export function schemaChanges(days: readonly FieldDay[], from = ''): SchemaChange[] {
  return days.flatMap((day, index) => (day.dt < from ? [] : changesOn(day, historyOf(days, index))));
}

function historyOf(days: readonly FieldDay[], index: number): FieldDay[] {
  const oldest = addDays(days[index]?.dt ?? '', -HISTORY_DAYS);
  const start = days.findIndex(({ dt }) => dt >= oldest);
  return days.slice(start, index);
}

/** Changes on the last days are news: this many days. */
export const SHOWN_DAYS = 14;

/**
 * The changes on the days of the last two weeks, and the fields that readings of these weeks no longer found on older
 * days. A service that renames a field renames it in all records that it returns.
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

/** A day and the days that it is compared with. */
interface Comparison {
  day: FieldDay;
  /** All days before it. */
  history: readonly FieldDay[];
  /** The days of the history whose shares are the usual ones. */
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

/** A change counts only if the day also differs from the day before: a lasting change is reported once. */
function changeOf(column: string, compared: Comparison): Found | undefined {
  const now = rowsWith(compared.day, column);
  const before = rowsWith(compared.previous, column);
  if (now === undefined || before === undefined) return undefined;
  if (now === 0) return vanished(column, compared);
  if (before === 0) return returned(column, now, compared) ?? appeared(column, now, compared);
  return drifted(column, compared) ?? nullShare(column, now, compared);
}

/** No row has the field, though at the usual share many rows would. */
function vanished(column: string, { day, history, usual, previous }: Comparison): Found | undefined {
  const shares = sharesOf(usual, (each) => rowsWith(each, column));
  const hadIt = (each: FieldDay) => (rowsWith(each, column) ?? 0) > 0;
  // Otherwise the service may have begun to send the field only after the day was read.
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

/** No earlier day had the field, though at the day's share the earlier days would have had many values. */
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

/** More of the field's values than usual do not fit the type of its column. */
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

/** Fewer rows than usual have the field. */
function nullShare(column: string, now: number, { day, usual, previous }: Comparison): Found | undefined {
  const share = now / day.rows;
  // This cheap comparison comes first, because it decides most columns.
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

/** Whether the other day has been restated since this day was read. */
function isOlder({ contentAt }: FieldDay, other: FieldDay): boolean {
  return (
    contentAt !== undefined &&
    other.contentAt !== undefined &&
    contentAt < other.contentAt &&
    other.isRestated
  );
}

/** How many rows have the field, in its column or in `_rescued`; `undefined` if the ledger does not contain it. */
function rowsWith(day: FieldDay, column: string): number | undefined {
  return day.present.get(column) ?? (day.isCut ? undefined : 0);
}

function rescuedRows({ rescued }: FieldDay, column: string): number {
  return rescued.get(column) ?? 0;
}

/** The shares in ascending order, of the days whose count is known. */
function sharesOf(days: readonly FieldDay[], rowsOf: (day: FieldDay) => number | undefined): number[] {
  const shares = days.flatMap((day) => {
    const rows = rowsOf(day);
    return rows === undefined ? [] : [rows / day.rows];
  });
  return shares.sort(ascending);
}

/** The share that all days except one reach: one outlier is ignored, and a field that is often missing is usual. */
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

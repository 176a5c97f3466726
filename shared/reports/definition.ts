/**
 * What a report is: data. Settings, functions, schedules, permissions, tables, `status` and `check` are made from these
 * fields, so that a new report is one file that exports a definition and one line in `index.ts`. Where the interface
 * documents a fact (docs/explanation/interface.md), the definition is its one place in the code; nothing here knows how a page is
 * fetched or a row is written.
 */
import type { ColumnType, Value } from '../column-types.ts';
import type { RecordKey } from '../records/record-list.ts';

/** A documented filter: what its setting is checked against. */
export type Filter =
  | { kind: 'enum'; values: readonly string[] }
  | { kind: 'text' }
  | { kind: 'integer'; min: number };

/** I11: a day is read again every `every` ("run" or e.g. "1 day", "6 hours") until it is `untilAgeDays` old. */
export interface RefreshTier {
  untilAgeDays: number;
  every: string;
}

/**
 * The field that says how many records a page may have, and the setting of that name: its bounds (docs/explanation/interface.md,
 * section 8) and its default, which is the largest, because that needs the fewest requests.
 */
export interface PageSize {
  field: 'page_size' | 'limit';
  min: number;
  max: number;
  default: number;
}

/**
 * How records of the upstream report are looked up. `column` is one of the upstream table, of type `string`; `field` is
 * the request's. Canonical integers are sent as numbers, other values as text.
 */
export interface Lookup {
  /** Identifies the record; records without it are not looked up. */
  key: { column: string; field: string };
  /** Sent along where they are not empty, unless they are text and the key is an integer. */
  optional: readonly { column: string; field: string }[];
  /** The field of a record in the response that names the key it is about. */
  answerField: string;
  /** Whether what is found may be another record later: then it is asked for once more, a day after it was found. */
  recordsChange: boolean;
}

/** A record of the upstream report, as its table has it. */
export interface UpstreamRecord {
  /** Its value in the lookup's key column. */
  key: string;
  /** Its values in the lookup's optional columns, where it has any. */
  optional: Readonly<Record<string, string>>;
}

/** How an action is paged (docs/explanation/interface.md, sections 4.1 to 4.5). */
export type Paging =
  /** From a position on, until `pageInfo.hasNextPage` is false. */
  | { style: 'position'; pageSize: PageSize }
  /** By page number, until a page is empty. `fixedFields` are sent with every request. */
  | { style: 'numbered'; pageSize: PageSize; fixedFields: Readonly<Record<string, string>> }
  /** By the cursor of the previous page, until a page has none. `countField`: the key of `data` that says how many records the page has, where that is documented. */
  | { style: 'cursor'; pageSize: PageSize; countField?: string }
  /** One call for each record of the upstream report (`day.by` is `upstream`). */
  | { style: 'lookup'; lookup: Lookup };

/**
 * How the records of a day are queried. `created`: by timestamps; the time in each record's `field` decides its day.
 * `timestamps`: by timestamps; records have no documented time. `dates`: by `start_date` and `end_date`; where records
 * have a date of their own in `field`, it decides their day. `upstream`: by the records of another report's day.
 */
export type DayRule =
  | { by: 'created'; field: string }
  | { by: 'timestamps' }
  | { by: 'dates'; field?: string }
  | { by: 'upstream'; report: string };

/** A column that docs/explanation/interface.md documents, by the name of the record's field. */
export interface DocumentedColumn {
  field: string;
  type: ColumnType;
  /** In the words of that page; missing where it has none. */
  meaning?: string;
}

/** A view as a catalog holds it: `sql` runs on DuckDB and on Athena alike. */
export interface View {
  name: string;
  description: string;
  columns: readonly (readonly [name: string, type: ColumnType, description: string])[];
  sql: string;
}

/**
 * A view over tables of reports. In its SQL `{table.commission}` is the field with that role (`roles/choose.ts`), and
 * `{table.type}` a column; either is NULL while the table has none.
 */
export interface ReportView extends View {
  tables: readonly string[];
}

/** The names in braces in the SQL of a view, by table. */
export function namesUsedBy({ sql }: Pick<ReportView, 'sql'>): { table: string; name: string }[] {
  return [...sql.matchAll(NAME_IN_SQL)].map(([, table = '', name = '']) => ({ table, name }));
}

/** `{orders.commission}` */
export const NAME_IN_SQL = /\{(\w+)\.(\w+)\}/g;

/**
 * A check of what a day's records say, counted when their content is new. What it counts is a finding of that day, under
 * its name: the day is published all the same, and people are told once.
 */
export type Check = CheckTexts & (OneValue | FoundIn | BecameOf);

interface CheckTexts {
  /** In snake_case: what `coverage` and `status` call it. */
  name: string;
  /** What it counts, in the plural, e.g. `tracking links whose click differs between rows`. */
  counts: string;
  /** What to do about it, in one sentence without its full stop. */
  advice: string;
}

/** Rows that agree in the column `by` agree in `column` too, where both have a value. Counts the values of `by`. */
interface OneValue {
  rule: 'one_value';
  by: string;
  column: string;
}

/**
 * Every value of one report's day is found in another one's. Counts the values that are not, empty ones aside. It waits
 * until all days that it reads are complete, and leaves out what is not enabled or filtered.
 */
interface FoundIn {
  rule: 'found_in';
  values: { report: string; column: string };
  /** In any of these columns, on the same day or one of the `daysAround` before and after it. */
  places: { report: string; columns: readonly string[]; daysAround: number };
  /** No document says that the two columns mean the same: where not one value is found, nothing is said. */
  isAssumed: boolean;
}

/** Counts the rows of what became of the day's records that fulfil a condition. It waits until the day has them. */
interface BecameOf {
  rule: 'lifecycle';
  /** The condition, in SQL that DuckDB and Trino share. */
  sql: string;
  /** The same. @param row the columns that the SQL names */
  holds: (row: Readonly<Record<string, Value | null | undefined>>) => boolean;
  /** A column that the SQL names: on days on which no row has a value there, nothing is said. */
  onlyIf?: string;
}

/** A record's state decides whether it can still change. */
export interface States {
  /** The states in which a record changes no more; in any other one, and without one, it may. */
  final: readonly string[];
  /** By a word of the service: the interface's, e.g. `void` by `Annulled`. */
  words?: Readonly<Record<string, string>>;
}

/** The states in which an order or a transaction changes no more: `new`, `mixed` and `locked` are those in which it may. */
export const FINAL_STATES: readonly string[] = ['void', 'effective', 'paid'];

/** All states that the interface has for orders, transactions and their lines. */
export const STATE_WORDS: readonly string[] = ['new', 'mixed', 'locked', ...FINAL_STATES];

/** A state as it is compared: the interface has the words of states only as values of filters, so records may have `EFFECTIVE `. */
export function comparedState(state: string): string {
  return withoutSpaces(state).toLowerCase();
}

/** As views trim: other white space stays, so that it makes a state that nobody knows, instead of one that views miss. */
export function withoutSpaces(text: string): string {
  let [start, end] = [0, text.length];
  while (text[start] === ' ') start += 1;
  while (end > start && text[end - 1] === ' ') end -= 1;
  return text.slice(start, end);
}

/** Everything that the project knows about one report. */
export interface ReportDefinition {
  /** The last part of the action; the report's name in settings. */
  name: string;
  action: string;
  table: string;
  description: string;
  /** Of docs/explanation/interface.md. */
  section: string;
  enabledByDefault: boolean;
  schedule: string;
  paging: Paging;
  day: DayRule;
  /** I2: how the open day is read. `slices`: what came since the last read is added. `pass`: the whole day again. */
  openDay: 'slices' | 'pass';
  /** I1: the field that identifies a record. Unless `always` present, it is used only if every record of a pass has it. */
  primaryKey: { field: RecordKey; always: boolean } | undefined;
  /**
   * Fields that no document names, but that services call a record's id. No record is dropped by them: two versions of a
   * day are compared by the first one of which every row has a value of its own.
   */
  likelyKeys?: readonly RecordKey[];
  filters: Readonly<Record<string, Filter>>;
  columns: readonly DocumentedColumn[];
  /** Missing where records have no state. */
  states?: States;
  /** The table of what became of its records, day by day; missing where they have no state. */
  lifecycle?: {
    table: string;
    description: string;
    /** The roles that have the state of a record: the first one that has a value. */
    states: readonly ('state' | 'line_state')[];
    /** A record is a bonus if the column has one of these values, and a sale otherwise. */
    bonuses: { column: string; values: readonly string[] };
  };
  /** The column whose sum says most about a day. */
  measure?: string;
  refresh: readonly RefreshTier[];
  /** I11: where pages are not a snapshot, a day settles only after two passes with the same digest. */
  pagesAreSnapshot: boolean;
  /** Those that read several tables stand with the report whose records they are about. */
  views: readonly ReportView[];
  checks: readonly Check[];
}

/** The names of the other reports that a report's runs read in the lake. */
export function reportsReadBy({ name, day, checks }: ReportDefinition): string[] {
  const compared = checks.flatMap((check) =>
    check.rule === 'found_in' ? [check.values.report, check.places.report] : [],
  );
  const upstream = day.by === 'upstream' ? [day.report] : [];
  return [...new Set([...upstream, ...compared])].filter((other) => other !== name);
}

/** Definitions by report name, in the order of the registry. */
export type ReportRegistry = Readonly<Record<string, ReportDefinition>>;

/** The tables that have a partition for each day of the report: its own, and that of what became of its records. */
export function dayTables({ table, lifecycle }: Pick<ReportDefinition, 'table' | 'lifecycle'>): string[] {
  return lifecycle ? [table, lifecycle.table] : [table];
}

/** The views that read a table of the report, of whichever report they are. */
export function viewsOf(reports: ReportRegistry, report: ReportDefinition): ReportView[] {
  const own = dayTables(report);
  return Object.values(reports)
    .flatMap(({ views }) => views)
    .filter(({ tables }) => tables.some((table) => own.includes(table)));
}

/** The other reports whose tables these views read. */
export function reportsBeside(reports: ReportRegistry, report: ReportDefinition): ReportDefinition[] {
  const read = viewsOf(reports, report).flatMap(({ tables }) => tables);
  return Object.values(reports).filter(({ table, name }) => name !== report.name && read.includes(table));
}

/**
 * Defines a report as data. Settings, permissions, tables, `status` and `check` derive from these fields,
 * so a new report is one file that exports a definition, and one line in `index.ts`. If the interface documents
 * a fact (docs/explanation/interface.md), the definition is its only place in the code. This module contains nothing
 * about fetching pages or writing rows.
 */
import type { ColumnType } from '../base/column-types.ts';
import type { RecordKey } from '../records/record-list.ts';
import { type ReportView, beforeTable, tablesReadBy, withReadViews } from './view.ts';
import { changeViews } from './views/changes.ts';

export * from './view.ts';

/** A documented filter: the rule that its setting is checked against. */
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
 * The request field with the number of records per page, and the setting of that name: its bounds
 * (docs/explanation/interface.md, section 8) and its default. The default is the maximum, because that needs the fewest
 * requests.
 */
export interface PageSize {
  field: 'page_size' | 'limit';
  min: number;
  max: number;
  default: number;
}

/**
 * How records of the upstream report are looked up. `column` is a column of the upstream table, of type `string`;
 * `field` is a field of the request. Canonical integers are sent as numbers, other values as text.
 */
export interface Lookup {
  /** Identifies the record; records without it are not looked up. */
  key: { column: string; field: string };
  /** Sent along if they are not empty, unless they are text and the key is an integer. */
  optional: readonly { column: string; field: string }[];
  /** The field of a response's record that has the key of the looked-up record. */
  answerField: string;
}

export interface UpstreamRecord {
  /** Its value in the lookup's key column. */
  key: string;
  /** The record's values in the lookup's optional columns, if it has any. */
  optional: Readonly<Record<string, string>>;
}

/** How an action is paged (docs/explanation/interface.md, sections 4.1 to 4.5). */
export type Paging =
  /** From a position on, until `pageInfo.hasNextPage` is false. */
  | { style: 'position'; pageSize: PageSize }
  /** By page number, until a page is empty. `fixedFields` are sent with every request. */
  | { style: 'numbered'; pageSize: PageSize; fixedFields: Readonly<Record<string, string>> }
  /**
   * By the cursor of the previous page, until a page has no cursor. `countField`: the key of `data` with the page's
   * number of records, if it is documented.
   */
  | { style: 'cursor'; pageSize: PageSize; countField?: string }
  /** One call for each record of the upstream report (`day.by` is `upstream`). */
  | { style: 'lookup'; lookup: Lookup };

/**
 * How the records of a day are queried.
 * - `created`: by timestamps; the time in each record's `field` decides its day
 * - `timestamps`: by timestamps; records have no documented time
 * - `dates`: by `start_date` and `end_date`; if records have a date in `field`, that date decides their day
 * - `upstream`: by the records of another report's day
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
  /** In the words of that page; missing if the page has no description. */
  meaning?: string;
}

/**
 * The states in which an order or a transaction can no longer change: the interface has no later ones. In `new`,
 * `mixed`, `locked` and unknown states, and without a state, it can.
 */
export const FINAL_STATES: readonly string[] = ['void', 'effective', 'paid'];

/** The kinds of orders and transactions that the interface has for payments without a sale, so that they are not orders. */
export const BONUS_KINDS: readonly string[] = [
  ...['bonus', 'campaign_bonus', 'campaign_payment', 'performance_bonus'],
  ...['campaign_proposal_pay', 'campaign_proposal_bonus'],
];

/** All states that the interface has for orders, transactions and their lines. */
export const STATE_WORDS: readonly string[] = ['new', 'mixed', 'locked', ...FINAL_STATES];

/**
 * A state in the form in which states are compared. The interface documents the words of states only as filter values,
 * so records may have `EFFECTIVE `.
 */
export function comparedState(state: string): string {
  return withoutSpaces(state).toLowerCase();
}

/** The texts of a word of the settings: a column of decimals shows 4 as 4.000000000. */
export function spellings(word: string): string[] {
  return /^\d+$/.test(word) ? [word, `${word}.000000000`] : [word];
}

/** Trims as views do. Other white space stays and gives an unknown state, rather than a state that views would miss. */
export function withoutSpaces(text: string): string {
  let [start, end] = [0, text.length];
  while (text[start] === ' ') start += 1;
  while (end > start && text[end - 1] === ' ') end -= 1;
  return text.slice(start, end);
}

export interface ReportDefinition {
  /** The last part of the action; the report's name in settings. */
  name: string;
  action: string;
  table: string;
  description: string;
  /** The section of docs/explanation/interface.md. */
  section: string;
  enabledByDefault: boolean;
  paging: Paging;
  day: DayRule;
  /**
   * I2: how the open day is read. `slices`: records since the last read are added. `pass`: the whole day is read again.
   */
  openDay: 'slices' | 'pass';
  /**
   * I1: the field that identifies a record. Unless `always` is true, it is used only if every record of a day has it.
   */
  primaryKey: { field: RecordKey; always: boolean } | undefined;
  /**
   * Fields that no document names, but that services use as a record's id. No record is dropped because of them. Two
   * versions of a day are compared by the first of these fields in which every row has its own value.
   */
  likelyKeys?: readonly RecordKey[];
  filters: Readonly<Record<string, Filter>>;
  columns: readonly DocumentedColumn[];
  /**
   * The roles with the state of a record, which decides whether it can still change: the first role that has a value counts.
   * Missing: records have no state.
   */
  states?: readonly ('state' | 'line_state')[];
  refresh: readonly RefreshTier[];
  /** A view over several tables belongs to the report whose records it is about. */
  views: readonly ReportView[];
}

/** Definitions by report name, in the order of the registry. */
export type ReportRegistry = Readonly<Record<string, ReportDefinition>>;

/** The tables with days of the report as partitions: its own table, and what its records were before they changed. */
export function dayTables({ table }: Pick<ReportDefinition, 'table'>): string[] {
  return [table, beforeTable(table)];
}

/** All views, each after the views that it reads. */
export function allViews(reports: ReportRegistry): ReportView[] {
  const all = [
    ...Object.values(reports).flatMap(({ views }) => views),
    ...changeViews(Object.values(reports)),
  ];
  return withReadViews(all, all);
}

/** All views that read a table of the report, also by way of other views, each after the views that it reads. */
export function viewsOf(reports: ReportRegistry, { table }: Pick<ReportDefinition, 'table'>): ReportView[] {
  const all = allViews(reports);
  return all.filter((view) => {
    const read = tablesReadBy(all, view);
    return read.includes(table) || read.includes(beforeTable(table));
  });
}

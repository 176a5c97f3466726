import type { ColumnType } from '../column-types.ts';

/** A filter of the interface document: what it is checked against. */
export type Filter =
  | { kind: 'enum'; values: readonly string[] }
  | { kind: 'text' }
  | { kind: 'integer'; min: number };

/** A day is read again every `every` ("run" or e.g. "1 day", "6 hours") until it is `untilAgeDays` old. */
export interface RefreshTier {
  untilAgeDays: number;
  every: string;
}

/** The field that says how many records a page may have, and the setting of that name: its bounds and its default. */
export interface PageSize {
  field: 'page_size' | 'limit';
  min: number;
  max: number;
  default: number;
}

/** docs/interface.md, section 8; the most that is allowed, because it takes the fewest requests. */
export const PAGE_SIZE: PageSize = { field: 'page_size', min: 20, max: 100, default: 100 };
/** docs/interface.md, section 8; the service's own default is 100. */
export const LIMIT: PageSize = { field: 'limit', min: 1, max: 200, default: 200 };

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
}

/** How an action is paged (docs/interface.md, sections 4.1 to 4.5). */
export type Paging =
  /** From a position on, until `pageInfo.hasNextPage` is false. */
  | { style: 'position'; pageSize: PageSize }
  /** By page number, until a page is empty. `fixedFields` are sent with every request. */
  | { style: 'numbered'; pageSize: PageSize; fixedFields: Readonly<Record<string, string>> }
  /** By the cursor of the page before, until there is none. `countField`: the key of `data` that says how many records the page has, where that is documented. */
  | { style: 'cursor'; pageSize: PageSize; countField?: string }
  /** One call for each record of the upstream report (`day.by` is `upstream`). */
  | { style: 'lookup'; lookup: Lookup };

/**
 * How a day is asked for. `created`: by timestamps, each record's own time decides. `timestamps`: by timestamps,
 * records have no documented time. `dates`: by `start_date` and `end_date`. `parent`: the records of another report's day.
 */
export type DayRule =
  | { by: 'created'; field: string }
  | { by: 'timestamps' }
  | { by: 'dates' }
  | { by: 'upstream'; report: string };

export interface DocumentedColumn {
  field: string;
  type: ColumnType;
}

/** A view: `sql` runs on DuckDB and on Athena alike; it is left out where a column it `needs` is not there yet. */
export interface View {
  name: string;
  description: string;
  columns: readonly (readonly [name: string, type: ColumnType])[];
  needs: readonly string[];
  sql: string;
}

/** A report is data: a sixth one is one more file that exports this, and one line in `reports/index.ts`. */
export interface ReportDefinition {
  /** The tail of the action, and the name in settings. */
  name: string;
  action: string;
  table: string;
  description: string;
  section: string;
  enabledByDefault: boolean;
  schedule: string;
  paging: Paging;
  day: DayRule;
  /** `slices`: what came since the last read is added to what is known. `pass`: the whole day is read again. */
  openDay: 'slices' | 'pass';
  /** The field that tells records apart; it is used only in a pass where every record has it. */
  primaryKey: { field: string; always: boolean } | undefined;
  filters: Readonly<Record<string, Filter>>;
  columns: readonly DocumentedColumn[];
  refresh: readonly RefreshTier[];
  /** Where pages are not a snapshot, a day settles only after two passes with the same digest. */
  pagesAreSnapshot: boolean;
  views: readonly View[];
}

export type ReportRegistry = Readonly<Record<string, ReportDefinition>>;

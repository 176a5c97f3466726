/*
 * Defines everything that a run logs: the level of each event, and the type of its details. The command line's progress
 * line and the functions' logs consume the union, so the compiler finds every consumer of a renamed event. A report's
 * log is bound to brand and report once (`bindReport`), so that no event lacks them.
 */
import type { DayOutcome, ErrorSummary, Status, Traffic } from './outcome.ts';

/** For a bug, `stack` shows where it was thrown. */
type Failed = ErrorSummary & { stack?: string };

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** An event's level; its details exist for the compiler only. */
interface Kind<Details> {
  level: LogLevel;
  details?: Details;
}

const debug = <Details>(): Kind<Details> => ({ level: 'debug' });
const info = <Details>(): Kind<Details> => ({ level: 'info' });
const warn = <Details>(): Kind<Details> => ({ level: 'warn' });
const error = <Details>(): Kind<Details> => ({ level: 'error' });

const REPORT_EVENTS = {
  report_planned: info<{ dueDays: number }>(),
  report_failed: error<Failed>(),
  /** One line for each run, so that a query over the logs can chart runs. The counts are of this run. */
  run_ended: info<Traffic & { status: Status; rows: number; pages: number; failedDays: number }>(),
  /** The settings of the run give records another meaning than those in the lake, which they replace: `commission comm → value`. */
  meaning_changed: warn<{ message: string }>(),
  last_run_not_recorded: warn<{ message: string }>(),
  /** The settings give a column another type than it was written with: a further column will have the new type. */
  column_typed_beside: warn<{ message: string }>(),
  /** A day that was built has more fields than the table can have columns. */
  fields_without_column: warn<{ day: string; fields: number; message: string }>(),
  /** The next run reads some days again. */
  continuation_not_saved: warn<{ message: string }>(),
  end_date_not_probed: warn<{ message: string }>(),
  /** The clocks differ by more than ten minutes, as two responses have shown. */
  clocks_differ: warn<{ message: string }>(),
  /** No response to the first request had a date, so the machine's clock alone counts. */
  service_time_unknown: warn<{ message: string }>(),
  day_claimed: info<{ day: string; reason: string; resumed: boolean }>(),
  /** The staged pages are dropped, and the day is read from its first page again. */
  day_restarted: warn<{ day: string; restarts: number; cause: string }>(),
  /** The attempt's progress document is damaged: another attempt reads the day from its first page. */
  attempt_dropped: warn<{ day: string; attempt: string }>(),
  page_fetched: debug<{ day: string; page: number; rows: number }>(),
  /** How many lookups of a day were refused in this run, and the first refusal. The rest of the day is published. */
  lookups_refused: warn<{ day: string; lookups: number; message: string }>(),
  /** The snapshot of a day of lookups is missing or damaged, so details that the service no longer returns are lost. */
  committed_details_unreadable: warn<{ day: string; message: string }>(),
  /** The work itself meets the same conflict or failure at its next write, and reports it there. */
  lease_not_renewed: debug<{ day: string; message: string }>(),
  day_ended: info<{ day: string; outcome: DayOutcome['outcome']; rows: number; pages: number }>(),
  day_rebuilt: info<{ day: string; outcome: string; rows: number }>(),
  day_failed: error<{ day: string } & Failed>(),
  /** A finding of the day's committed version, when the finding is new: `check` names it. */
  day_finding: warn<{ day: string; check: string; message: string }>(),
  /** A data check that could not be run. The next run that examines the day's month runs it. */
  check_not_made: warn<{ day: string; check: string } & ErrorSummary>(),
  /** The service returned fewer records than the day has that can no longer change: the version stays. */
  rows_kept: warn<{ day: string; rows: number; keptRows: number; message: string }>(),
  /** A later reading of the day is committed already. */
  reading_dropped: warn<{ day: string; message: string }>(),
  /** A closed day has different content than before: how many records differ; unknown if a version is damaged. */
  day_changed: info<{
    day: string;
    rowsBefore: number;
    rows: number;
    added: number | undefined;
    removed: number | undefined;
    altered: number | undefined;
  }>(),
  /** What a closed day was before is no longer known: its changes are too large, or a version or an object is lost. */
  history_anew: warn<{ day: string; message: string }>(),
  failure_not_recorded: error<{ day: string; message: string }>(),
  other_dates_excluded: warn<{ day: string; message: string }>(),
  publication_failed: error<{ day: string } & ErrorSummary>(),
  /** `day` is the first day whose events were not received; the next run sends them again. */
  events_not_sent: error<{ day: string; events: number } & ErrorSummary>(),
  vacuum_failed: error<ErrorSummary>(),
  /** The Iceberg table pointed at foreign metadata, or at another lake: it starts anew, without earlier snapshots. */
  iceberg_table_restarted: warn<{ table: string; found: string; message: string }>(),
  /** The month's ledger is damaged or lost: no day of the month is read. */
  month_skipped: error<{ month: string } & ErrorSummary>(),
  view_failed: error<{ view: string } & ErrorSummary>(),
};

const BRAND_EVENTS = {
  request_retried: warn<{
    action: string;
    code: string;
    /** Failed attempts at this call so far. */
    failures: number;
    waitMs: number;
    /** HTTP status, if a response arrived. */
    status?: number;
  }>(),
  signing_clock_corrected: info<{ action: string; clockSkewMs: number }>(),
  credentials_not_reread: warn<object>(),
  /** The share of this run has changed because of other runs. */
  rate_shared: info<{ requestsPerSecond: number; runs: number }>(),
  rate_budget_not_updated: warn<{ message: string }>(),
};

const PROCESS_EVENTS = {
  catalog_updated: info<{ status: string; published: number; brandsLeft: number }>(),
  catalog_entry_skipped: error<ErrorSummary>(),
  /** A watcher run has ended; `message` is the subject of the message that it sent. */
  watch_ended: info<{ problems: number; message?: string }>(),
};

export const EVENTS = { ...REPORT_EVENTS, ...BRAND_EVENTS, ...PROCESS_EVENTS };

type DetailsOf<Each> = Each extends Kind<infer Details> ? Details : never;
type EventOf<Kinds> = { [Name in keyof Kinds]: { event: Name } & DetailsOf<Kinds[Name]> }[keyof Kinds];

export type ReportEvent = EventOf<typeof REPORT_EVENTS>;
export type BrandEvent = EventOf<typeof BRAND_EVENTS>;
export type LogEvent =
  | (ReportEvent & { brand: string; report: string })
  | (BrandEvent & { brand: string })
  | EventOf<typeof PROCESS_EVENTS>;

/** Consumes events; must not throw. */
export type Log = (event: LogEvent) => void;
export type BrandLog = (event: BrandEvent) => void;
export type ReportLog = (event: ReportEvent) => void;

export function levelOf({ event }: LogEvent): LogLevel {
  return EVENTS[event].level;
}

export function bindBrand(log: Log, brand: string): BrandLog {
  return (event) => log({ brand, ...event });
}

export function bindReport(log: Log, brand: string, report: string): ReportLog {
  return (event) => log({ brand, report, ...event });
}

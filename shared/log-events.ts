/*
 * Defines everything that a run logs. One table has the details of each event, another table its level. The command
 * line's progress line and the functions' logs consume the union, so the compiler finds every consumer of a renamed
 * event. A report's log is bound to brand and report once (`bindReport`), so that no event lacks them.
 */
import type { DayOutcome, ErrorSummary, Status, Traffic } from './outcome.ts';

/** For a bug, `stack` shows where it was thrown. */
type Failed = ErrorSummary & { stack?: string };

/** Events of one report of one brand. */
interface ReportDetails {
  report_planned: { dueDays: number };
  report_failed: Failed;
  /** One line for each run, so that a query over the logs can chart runs. The counts are of this run. */
  run_ended: Traffic & {
    status: Status;
    rows: number;
    pages: number;
    failedDays: number;
  };
  last_run_not_recorded: { message: string };
  /** The settings give a column another type than it was written with: a further column will have the new type. */
  column_typed_beside: { message: string };
  /** A day that was built has more fields than the table can have columns. */
  fields_without_column: { day: string; fields: number; message: string };
  /** The next run reads some days again. */
  continuation_not_saved: { message: string };
  end_date_not_probed: { message: string };
  /** The clocks differ by more than ten minutes, as two responses have shown. */
  clocks_differ: { message: string };
  /** A run has recorded a later time, and the request for the service's time failed. */
  service_time_unknown: ErrorSummary;
  day_claimed: { day: string; reason: string; resumed: boolean };
  /** The staged pages are dropped, and the day is read from its first page again. */
  day_restarted: { day: string; restarts: number; cause: string };
  /** The attempt's progress document is damaged: another attempt reads the day from its first page. */
  attempt_dropped: { day: string; attempt: string };
  page_fetched: { day: string; page: number; rows: number };
  /** How many lookups of a day were refused in this run, and the first refusal. The rest of the day is published. */
  lookups_refused: { day: string; lookups: number; message: string };
  /** The snapshot of a day of lookups is missing or damaged, so details that the service no longer returns are lost. */
  committed_details_unreadable: { day: string; message: string };
  lease_not_renewed: { day: string; message: string };
  /** What this run did with the day. */
  day_ended: { day: string; outcome: DayOutcome['outcome']; rows: number; pages: number };
  /** What a rebuild from raw records did with the day. */
  day_rebuilt: { day: string; outcome: string; rows: number };
  day_failed: { day: string } & Failed;
  /** A finding of the day's committed version, when the finding is new: `check` names it. */
  day_finding: { day: string; check: string; message: string };
  /** A data check that could not be run. The next run that examines the day's month runs it. */
  check_not_made: { day: string; check: string } & ErrorSummary;
  /** The service returned fewer records than the day has that can no longer change: the version stays. */
  rows_kept: { day: string; rows: number; keptRows: number; message: string };
  /** A later reading of the day is committed already. */
  reading_dropped: { day: string; message: string };
  /** A closed day has different content than before: how many records differ; unknown if a version is damaged. */
  day_changed: {
    day: string;
    rowsBefore: number;
    rows: number;
    added: number | undefined;
    removed: number | undefined;
    altered: number | undefined;
  };
  /** The changes between two versions of a closed day are unknown. */
  change_not_compared: { day: string; message: string };
  /** The day's partition of `changes` cannot be read: it starts anew. */
  changes_lost: { day: string; message: string };
  /** The lifecycle of the day's records is lost: it starts anew from the version that was current. */
  lifecycle_lost: { day: string; message: string };
  /**
   * The lifecycle of the day's records is not updated, because a version cannot be read. The next reading updates it.
   */
  lifecycle_not_made: { day: string; message: string };
  failure_not_recorded: { day: string; message: string };
  /** The response for the day contained records of another date. */
  other_dates_excluded: { day: string; message: string };
  publication_failed: { day: string } & ErrorSummary;
  /** `day` is the first day whose events were not received; the next run sends them again. */
  events_not_sent: { day: string; events: number } & ErrorSummary;
  vacuum_failed: ErrorSummary;
  /** The Iceberg table pointed at foreign metadata, or at another lake: it starts anew, without earlier snapshots. */
  iceberg_table_restarted: { table: string; found: string; message: string };
  /** The month's ledger is damaged: no day of the month is read. */
  month_skipped: { month: string } & ErrorSummary;
  view_failed: { view: string } & ErrorSummary;
}

/** Events of the service of one brand. */
interface BrandDetails {
  request_retried: {
    action: string;
    code: string;
    /** Failed attempts at this call so far. */
    failures: number;
    waitMs: number;
    /** HTTP status, if a response arrived. */
    status?: number;
  };
  signing_clock_corrected: { action: string; clockSkewMs: number };
  credentials_not_reread: object;
  /** The share of this run has changed because of other runs. */
  rate_shared: { requestsPerSecond: number; runs: number };
  rate_budget_not_updated: { message: string };
}

/** Events of a process that works for all brands. */
interface ProcessDetails {
  catalog_rebuilt: { status: string; published: number; remaining: number };
  catalog_entry_skipped: ErrorSummary;
  catalog_rebuild_failed: ErrorSummary;
  test_events_failed: ErrorSummary;
  schedules_failed: ErrorSummary;
  update_not_remembered: ErrorSummary;
  settings_not_removed: ErrorSummary;
  /** A watcher run has ended; `message` is the subject of the message that it sent. */
  watch_ended: { problems: number; message?: string };
  object_copied: { key: string; bytes: number };
}

type EventOf<Details> = { [Name in keyof Details]: { event: Name } & Details[Name] }[keyof Details];

/** An event of a report, before brand and report are added. */
export type ReportEvent = EventOf<ReportDetails>;
/** An event of a brand, before the brand is added. */
export type BrandEvent = EventOf<BrandDetails>;
/** Every event that is logged. */
export type LogEvent =
  | (ReportEvent & { brand: string; report: string })
  | (BrandEvent & { brand: string })
  | EventOf<ProcessDetails>;

/** Consumes events; must not throw. */
export type Log = (event: LogEvent) => void;
export type BrandLog = (event: BrandEvent) => void;
export type ReportLog = (event: ReportEvent) => void;

/** How serious an event is. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The level of each event, by its name. */
export const LEVELS = {
  report_planned: 'info',
  report_failed: 'error',
  run_ended: 'info',
  last_run_not_recorded: 'warn',
  column_typed_beside: 'warn',
  fields_without_column: 'warn',
  continuation_not_saved: 'warn',
  end_date_not_probed: 'warn',
  day_claimed: 'info',
  day_restarted: 'warn',
  attempt_dropped: 'warn',
  page_fetched: 'debug',
  lookups_refused: 'warn',
  committed_details_unreadable: 'warn',
  // The work itself meets the same conflict or failure at its next write, and reports it there.
  lease_not_renewed: 'debug',
  day_ended: 'info',
  day_rebuilt: 'info',
  day_failed: 'error',
  day_finding: 'warn',
  check_not_made: 'warn',
  rows_kept: 'warn',
  reading_dropped: 'warn',
  day_changed: 'info',
  change_not_compared: 'warn',
  changes_lost: 'error',
  lifecycle_lost: 'error',
  lifecycle_not_made: 'error',
  failure_not_recorded: 'error',
  other_dates_excluded: 'warn',
  publication_failed: 'error',
  events_not_sent: 'error',
  vacuum_failed: 'error',
  iceberg_table_restarted: 'warn',
  month_skipped: 'error',
  view_failed: 'error',
  object_copied: 'debug',
  request_retried: 'warn',
  signing_clock_corrected: 'info',
  clocks_differ: 'warn',
  service_time_unknown: 'warn',
  credentials_not_reread: 'warn',
  rate_shared: 'info',
  rate_budget_not_updated: 'warn',
  catalog_rebuilt: 'info',
  catalog_entry_skipped: 'error',
  catalog_rebuild_failed: 'error',
  test_events_failed: 'error',
  schedules_failed: 'error',
  update_not_remembered: 'warn',
  settings_not_removed: 'warn',
  watch_ended: 'info',
} as const satisfies Record<LogEvent['event'], LogLevel>;

/** The level of an event, by its name. */
export function levelOf({ event }: LogEvent): LogLevel {
  return LEVELS[event];
}

/** The log of one brand: adds its name to every event. */
export function bindBrand(log: Log, brand: string): BrandLog {
  return (event) => log({ brand, ...event });
}

/** The log of one report of one brand: adds both names to every event. */
export function bindReport(log: Log, brand: string, report: string): ReportLog {
  return (event) => log({ brand, report, ...event });
}

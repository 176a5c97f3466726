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
  run_ended: info<Traffic & { status: Status; rows: number; pages: number; failedDays: number }>(),
  meaning_changed: warn<{ message: string }>(),
  fields_without_column: warn<{ day: string; fields: number; message: string }>(),
  clocks_differ: warn<{ message: string }>(),
  service_time_unknown: warn<{ message: string }>(),
  day_claimed: info<{ day: string; reason: string; resumed: boolean }>(),
  day_restarted: warn<{ day: string; restarts: number; cause: string }>(),
  attempt_dropped: warn<{ day: string; attempt: string }>(),
  page_fetched: debug<{ day: string; page: number; rows: number }>(),
  lookups_refused: warn<{ day: string; lookups: number; message: string }>(),
  committed_details_unreadable: warn<{ day: string; message: string }>(),
  day_ended: info<{ day: string; outcome: DayOutcome['outcome']; rows: number; pages: number }>(),
  day_rebuilt: info<{ day: string; outcome: string; rows: number }>(),
  day_failed: error<{ day: string } & Failed>(),
  day_finding: warn<{ day: string; check: string; message: string }>(),
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
  events_not_sent: error<{ day: string; events: number } & ErrorSummary>(),
  vacuum_failed: error<ErrorSummary>(),
  month_skipped: error<{ month: string } & ErrorSummary>(),
  view_failed: error<{ view: string } & ErrorSummary>(),
};

const BRAND_EVENTS = {
  request_sent: debug<{ action: string; requestsPerSecond: number }>(),
  request_retried: warn<{
    action: string;
    code: string;
    failures: number;
    waitMs: number;
    status?: number;
  }>(),
  credentials_not_reread: warn<object>(),
  brand_awaited: info<{ holder: string }>(),
};

const PROCESS_EVENTS = {
  catalog_updated: info<{ status: string; published: number; brandsLeft: number }>(),
  catalog_entry_skipped: error<ErrorSummary>(),
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

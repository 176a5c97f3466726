/*
 * The contexts of the pipeline's steps, from small to large, so that the type of a step's parameter shows what it can
 * use: fetching a page needs no lake, the catalog needs no service, and only reading days needs a run.
 */
import { DAY_MS, dayOf } from '../days.ts';
import type { CasDocument } from '../lake/documents/cas-document.ts';
import type { LakeDocuments } from '../lake/documents/lake-documents.ts';
import type { Ledger } from '../lake/documents/ledger.ts';
import type { ReportState } from '../lake/documents/report-state.ts';
import type { Progress } from '../lake/documents/progress.ts';
import type { StoredRoles } from '../lake/documents/roles.ts';
import type { StoredSchema } from '../lake/documents/schema.ts';
import { type Log, type ReportLog, bindReport } from '../log-events.ts';
import type { Policy } from '../planning/due.ts';
import type { Clock, EventSink, IcebergCatalog, Lake, ReportService } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { BrandSettings, ReportSettings, Settings } from '../settings/settings.ts';
import type { DaysInFlight } from './days-in-flight.ts';
import type { TimeBudget } from './time-budget.ts';

/** The clocks of a run: the machine's and the service's, whose difference the service's responses show. */
export interface RunClock extends Clock {
  /** By which days are planned and closed. */
  now: () => Date;
  /** The earlier of both, in milliseconds: ages are judged by it, because a clock ahead must not make what is young look old. */
  earlierMs: () => number;
  /** The later of both: what was written after it was written by a clock that was ahead. */
  laterMs: () => number;
}

/**
 * I2: `now` plans and closes days by the earlier of both clocks, so that neither closes a day that is not over. A time
 * that replaces it (`--now`) can lie in the past only, and replaces it for nothing else.
 */
export function runClock(clock: Clock, service: Pick<ReportService, 'clockSkewMs'>): RunClock {
  const earlierMs = () => clock.wallMs() + Math.min(0, service.clockSkewMs);
  const laterMs = () => clock.wallMs() + Math.max(0, service.clockSkewMs);
  const latestMs = clock.fixedNow?.getTime() ?? Number.POSITIVE_INFINITY;
  return { ...clock, earlierMs, laterMs, now: () => new Date(Math.min(latestMs, earlierMs())) };
}

/** One report of one brand in a lake: everything that its part of the catalog is made from. */
export interface BrandReport {
  brand: string;
  report: ReportDefinition;
  /** All that there are: a view may read the tables of several. */
  reports: ReportRegistry;
  /** Missing where the settings do not know the brand, or do not enable the report. */
  policy: Policy | undefined;
  lake: Lake;
  /** Missing where the settings leave it out, or the lake has none. */
  iceberg?: ReportIceberg;
  clock: RunClock;
  log: ReportLog;
  newId: () => string;
  /** @param month `YYYY-MM` */
  ledger: (month: string) => CasDocument<Ledger>;
  reportState: CasDocument<ReportState>;
  schema: CasDocument<StoredSchema>;
  /** Of another report's table. */
  schemaOf: (report: ReportDefinition) => CasDocument<StoredSchema>;
  /** Which fields of the table have which roles. */
  roles: CasDocument<StoredRoles>;
  /** Of another report's table. */
  rolesOf: (report: ReportDefinition) => CasDocument<StoredRoles>;
  /** For a report with an upstream: the upstream report, its ledgers and its state. */
  upstream?: OtherReport & { reportState: CasDocument<ReportState> };
  /** Another report of the brand by its name; a run may read those of `reportsReadBy`. */
  other: (name: string) => OtherReport | undefined;
}

/** The Iceberg table of a report, which the days of all brands share. */
export interface ReportIceberg {
  catalog: IcebergCatalog;
  /** How long its snapshots are kept; no longer than any brand keeps the versions that they name. */
  keptMs: number;
}

/** What is committed of another report. */
export interface OtherReport {
  report: ReportDefinition;
  /** @param month `YYYY-MM` */
  ledger: (month: string) => CasDocument<Ledger>;
}

/** What is needed to fetch pages of one report of one brand. */
export interface FetchContext {
  brand: string;
  report: ReportDefinition;
  brandSettings: BrandSettings;
  settings: ReportSettings;
  policy: Policy;
  service: ReportService;
  clock: RunClock;
  log: ReportLog;
}

/** What is needed to make a snapshot of a day's raw records: no service. */
export interface BuildContext extends BrandReport {
  brandSettings: BrandSettings;
  settings: ReportSettings;
  policy: Policy;
}

/** One report of one brand in one run. */
export interface RunContext extends BuildContext, FetchContext {
  policy: Policy;
  clock: RunClock;
  log: ReportLog;
  runId: string;
  /** Shared by all brands and reports of the run. */
  time: TimeBudget;
  /** Days of the brand that are read at the same time, at most. */
  daysInFlight: number;
  /** Shared by all brands and reports of the run. */
  days: DaysInFlight;
  /** Whether fewer records replace what can change no more: a person has asked for that, and named the days. */
  acceptsFewer: boolean;
  /** Whether the service has returned a day of the report in this run. */
  hasReturned: () => boolean;
  /** Leases only spare double work: without them runs take over each other's days, and only requests grow (I5). */
  leases: boolean;
  /** @param first how the document of a new attempt begins */
  progress(day: string, attempt: string, first?: Progress): CasDocument<Progress>;
}

/** What is needed to work in a lake. */
export interface LakeAccess {
  lake: Lake;
  clock: Clock;
  log: Log;
  /** In [0, 1), for backoff. */
  random: () => number;
  newId: () => string;
  /** Receives the events of days; missing: nobody listens. */
  events?: EventSink;
}

/** The context of one report of one brand, without settings where the report is not enabled. */
export function createBrandReport(
  {
    lake,
    clock,
    log,
    newId,
    reports,
    settings,
  }: LakeAccess & {
    reports: ReportRegistry;
    settings?: Settings | undefined;
  },
  documents: LakeDocuments,
  { brand, report, policy }: Pick<BrandReport, 'brand' | 'report' | 'policy'>,
): BrandReport {
  const other = (name: string): OtherReport | undefined => {
    const { [name]: definition } = reports;
    return (
      definition && {
        report: definition,
        ledger: (month: string) => documents.ledger(definition.name, brand, month),
      }
    );
  };
  const upstream = report.day.by === 'upstream' ? other(report.day.report) : undefined;
  const iceberg = icebergOf(lake, settings);
  return {
    brand,
    report,
    reports,
    policy,
    lake,
    ...(iceberg && { iceberg }),
    // Without a service the machine's clock is all there is.
    clock: runClock(clock, { clockSkewMs: 0 }),
    log: bindReport(log, brand, report.name),
    newId,
    ledger: (month) => documents.ledger(report.name, brand, month),
    reportState: documents.reportState(report.name, brand),
    schema: documents.schema(report),
    other,
    schemaOf: (of) => documents.schema(of),
    roles: documents.roles(report),
    rolesOf: (of) => documents.roles(of),
    ...(upstream && {
      upstream: { ...upstream, reportState: documents.reportState(upstream.report.name, brand) },
    }),
  };
}

/** Without settings nothing is known of how long to keep snapshots, so that all are kept. */
function icebergOf({ iceberg: catalog }: Lake, settings: Settings | undefined): ReportIceberg | undefined {
  if (!catalog || (settings && !settings.catalogs.includes('iceberg'))) return undefined;
  const days = Object.values(settings?.brands ?? {}).map(
    ({ snapshotRetentionDays }) => snapshotRetentionDays,
  );
  return { catalog, keptMs: Math.min(...days) * DAY_MS };
}

/** Today in the brand's time zone, `YYYY-MM-DD`. */
export function todayIn({ clock, policy }: Pick<FetchContext, 'clock' | 'policy'>): string {
  return dayOf(clock.now().getTime(), policy.timeZone);
}

/** Whether the work was last done a day ago, or by a clock that was a day ahead. */
export function isDailyWorkDue({ clock }: Pick<RunContext, 'clock'>, doneAt: string | undefined): boolean {
  if (doneAt === undefined) return true;
  return Math.abs(clock.earlierMs() - Date.parse(doneAt)) >= DAY_MS;
}

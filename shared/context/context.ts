/*
 * Defines the contexts of the pipeline's steps, from small to large. The type of a step's parameter shows what the step
 * can use: fetching a page needs no lake, the catalog needs no service, and only reading days needs a run.
 */
import type { Batch } from '../base/concurrency.ts';
import { DAY_MS, dayOf } from '../base/days.ts';
import type { BrandLease } from '../lake/brand-lease.ts';
import { type Adoption, StoredSettings } from '../lake/brand-settings.ts';
import type { CasDocument } from '../lake/cas-document.ts';
import type { LakeDocuments, RowsOfReport } from '../lake/lake-documents.ts';
import type { Ledger } from '../lake/ledger.ts';
import type { ReportStateDocument } from '../lake/report-state.ts';
import type { Progress } from '../lake/progress.ts';
import type { StoredSchema } from '../lake/schema.ts';
import { type RealClocks, isWithin } from '../lake/stored-time.ts';
import { type Log, type ReportLog, bindReport } from '../base/log-events.ts';
import type { Policy } from '../planning/due.ts';
import type { Clock, EventSink, IcebergCatalog, Lake, ReportService } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { BrandSettings, LakeSettings, ReportSettings } from '../settings/settings.ts';
import type { TimeBudget } from './time-budget.ts';

/** The clocks of a run: the machine's and the service's. The service's responses show the difference between them. */
export interface RunClock extends Clock, RealClocks {
  now: () => Date;
}

/**
 * I2: `now` plans and closes days by the earlier of both clocks, so that neither clock closes a day that is not over.
 * Ages are judged by it too. A fixed time (`--now`) replaces `now` only if it is in the past, and replaces no other time.
 * @param skewMs service time minus local time; without a service, only the machine's clock is known
 */
export function runClock(clock: Clock, skewMs: () => number | undefined = () => 0): RunClock {
  const earlierMs = () => clock.wallMs() + Math.min(0, skewMs() ?? 0);
  const laterMs = () => clock.wallMs() + Math.max(0, skewMs() ?? 0);
  const latestMs = clock.fixedNow?.getTime() ?? Number.POSITIVE_INFINITY;
  return { ...clock, earlierMs, laterMs, now: () => new Date(Math.min(latestMs, earlierMs())) };
}

export interface BrandReport {
  brand: string;
  report: ReportDefinition;
  /** All reports: a view may read the tables of several reports. */
  reports: ReportRegistry;
  /** Missing if the settings do not have the brand, or do not enable the report. */
  policy: Policy | undefined;
  lake: Lake;
  /** Missing unless the settings name it and the lake has an Iceberg catalog. */
  iceberg?: ReportIceberg;
  clock: RunClock;
  log: ReportLog;
  newId: () => string;
  /** @param month `YYYY-MM` */
  ledger: (month: string) => CasDocument<Ledger>;
  reportState: ReportStateDocument;
  ledgerTable: (name: string) => Batch<RowsOfReport>;
  /** Which run may send requests to the service of the brand. */
  lease: CasDocument<BrandLease>;
  schema: CasDocument<StoredSchema>;
  schemaOf: (report: ReportDefinition) => CasDocument<StoredSchema>;
  stored: StoredSettings;
  upstream?: {
    report: ReportDefinition;
    /** @param month `YYYY-MM` */
    ledger: (month: string) => CasDocument<Ledger>;
  };
  /** Receives the events of its days; missing: this process sends no events. */
  events?: EventSink;
}

/** The Iceberg table of a report. All brands share it. */
export interface ReportIceberg {
  catalog: IcebergCatalog;
  /** How long its snapshots are kept: as long as the brand with the shortest retention keeps its versions. */
  keptMs: number;
}

export interface FetchContext extends Pick<BrandReport, 'brand' | 'report' | 'clock' | 'log'> {
  brandSettings: BrandSettings;
  settings: ReportSettings;
  policy: Policy;
  service: ReportService;
}

export interface BuildContext extends BrandReport {
  brandSettings: BrandSettings;
  settings: ReportSettings;
  policy: Policy;
}

export interface RunContext extends BuildContext, FetchContext {
  runId: string;
  adoption: Adoption | undefined;
  /** Shared by all brands and reports of the run. */
  time: TimeBudget;
  /** The maximum number of days of the brand that are read at the same time. */
  daysInFlight: number;
  /** I12: so many days of the brand may be read or built at the same time: an equal share of the brands of the run. */
  mostDays: number;
  /** Whether fewer records replace records that can no longer change: a person used `--accept-fewer` with a range. */
  acceptsFewer: boolean;
  /** Whether the service has returned a day of the report in this run. */
  hasReturned: () => boolean;
  /** @param first the first content of a new attempt's document */
  progress(day: string, attempt: string, first?: Progress): CasDocument<Progress>;
}

export interface LakeAccess {
  lake: Lake;
  clock: Clock;
  log: Log;
  /** In [0, 1), for backoff. */
  random: () => number;
  newId: () => string;
  events?: EventSink;
}

export function createBrandReport(
  options: LakeAccess & {
    reports: ReportRegistry;
    settings?: LakeSettings | undefined;
    /** Shared by the reports of a process, so that the settings of each brand are read once. */
    stored?: StoredSettings;
  },
  documents: LakeDocuments,
  { brand, report, policy }: Pick<BrandReport, 'brand' | 'report' | 'policy'>,
): BrandReport {
  const { lake, clock, log, newId, events, reports, stored = new StoredSettings(options) } = options;
  const upstream = report.day.by === 'upstream' ? reports[report.day.report] : undefined;
  const iceberg = icebergOf(lake, options.settings);
  return {
    brand,
    report,
    reports,
    policy,
    lake,
    ...(iceberg && { iceberg }),
    clock: runClock(clock),
    log: bindReport(log, brand, report.name),
    newId,
    ...(events && { events }),
    ledger: (month) => documents.ledger(report, brand, month),
    reportState: documents.reportState(report.name, brand),
    ledgerTable: (name) => documents.ledgerTable(name, brand),
    lease: documents.lease(brand),
    schema: documents.schema(report),
    schemaOf: (of) => documents.schema(of),
    stored,
    ...(upstream && {
      upstream: {
        report: upstream,
        ledger: (month) => documents.ledger(upstream, brand, month),
      },
    }),
  };
}

function icebergOf(
  { iceberg: catalog }: Lake,
  settings: LakeSettings | undefined,
): ReportIceberg | undefined {
  if (!catalog || !settings?.catalogs?.includes('iceberg')) return undefined;
  const brands = Object.values(settings.brands);
  return { catalog, keptMs: Math.min(...brands.map((brand) => brand.snapshotRetentionDays)) * DAY_MS };
}

export function todayIn({ clock, policy }: Pick<FetchContext, 'clock' | 'policy'>): string {
  return dayOf(clock.now().getTime(), policy.timeZone);
}

export function isDailyWorkDue({ clock }: Pick<RunContext, 'clock'>, doneAt: string | undefined): boolean {
  return doneAt === undefined || !isWithin(DAY_MS, doneAt, clock.earlierMs());
}

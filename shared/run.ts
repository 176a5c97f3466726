import { dayOf } from './days.ts';
import { BrandReportsError, asBrandReportsError } from './errors.ts';
import { type Json, isJsonObject } from './json.ts';
import { baseSchema, parseSchema } from './lake/columns.ts';
import { Document, type Written } from './lake/document.ts';
import { type Ledger, parseLedger } from './lake/ledger.ts';
import { type MonthIndex, parseMonthIndex } from './lake/month-index.ts';
import { indexKey, ledgerKey, progressKey, schemaKey } from './lake/paths.ts';
import { parseProgress } from './lake/progress.ts';
import { type ReportOutcome, type SyncOutcome, isUnfinished, syncOutcome } from './outcome.ts';
import { policyOf } from './pipeline/policy.ts';
import { leaveRequest } from './pipeline/request.ts';
import type { Deadline, ReportRun, StoredSchema } from './pipeline/report-run.ts';
import type { Clock, CredentialSource, Lake, ReportService, RunLog } from './ports.ts';
import type { ReportDefinition, ReportRegistry } from './reports/definition.ts';
import { type ServiceClient, type ServiceClientOptions, createServiceClient } from './service/client.ts';
import { createRateLimiter } from './service/rate-limit.ts';
import type { BrandSettings, Settings } from './settings.ts';
import { syncReport } from './sync.ts';

export interface RunOptions {
  settings: Settings;
  reports: ReportRegistry;
  lake: Lake;
  credentials: CredentialSource;
  request: RunRequest;
  clock: Clock;
  log: RunLog;
  /** In [0, 1), for backoff. */
  random: () => number;
  newId: () => string;
  /** Nothing new is begun after `softMs`; the process may be gone after `hardMs` (wall clock). */
  deadline?: Deadline;
  /** Stops requests that are under way; what was staged is kept. */
  signal?: AbortSignal;
  leases?: boolean;
}

/** What one run is asked to do; what is left out means all that the settings enable. */
export interface RunRequest {
  brands?: readonly string[];
  reports?: readonly string[];
  /** Days to read again, whatever the policy says. */
  from?: string;
  to?: string;
  /** A share of the brand's rate, where several runs share it. */
  requestsPerSecond?: number;
}

/** Reads the reports that are asked for: brands side by side, a brand's reports in the registry's order. */
export async function runSync(options: RunOptions): Promise<SyncOutcome> {
  const { lake, newId } = options;
  const id = newId();
  const leave = await lake.runs.enter(id);
  try {
    const brands = selectBrands(options);
    const units = { begun: 0 };
    const synced = await Promise.allSettled(brands.map((brand) => syncBrand(options, id, brand, units)));
    const reports = synced.flatMap((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    });
    const outcome = syncOutcome(reports.map((report) => report.outcome));
    const goesOn = outcome.reports.some(isUnfinished);
    for (const { run, index } of reports) await leaveQuietly(run, index, range(options.request, run), goesOn);
    return outcome;
  } finally {
    await leave();
  }
}

/** What was read stays read: that the next run may read some of it again is no failure of this one. */
async function leaveQuietly(...[run, ...rest]: Parameters<typeof leaveRequest>): Promise<void> {
  try {
    await leaveRequest(run, ...rest);
  } catch (thrown) {
    const { kind, message } = asBrandReportsError(thrown);
    if (kind === 'bug') throw thrown;
    run.log({ level: 'warn', event: 'request_not_left', brand: run.brand, report: run.report.name, message });
  }
}

async function syncBrand(
  options: RunOptions,
  id: string,
  brand: string,
  units: ReportRun['units'],
): Promise<{ run: ReportRun; index: Document<MonthIndex>; outcome: ReportOutcome }[]> {
  const synced = [];
  const ledgers = new Map<string, Document<Ledger>>();
  const requests = new Map<string, number>();
  const service = openService(options, brand, ({ action }) =>
    requests.set(action, (requests.get(action) ?? 0) + 1),
  );
  for (const report of selectReports(options, brand)) {
    const run = reportRun(options, { id, brand, report, service, units, ledgers });
    const index = document(
      options,
      indexKey(report.name, brand),
      parseMonthIndex(indexKey(report.name, brand)),
    );
    const outcome = await syncReport(run, index, range(options.request, run));
    synced.push({ run, index, outcome: { ...outcome, requests: requests.get(report.action) ?? 0 } });
  }
  return synced;
}

/** The brand's service for the length of a run: one rate limit, one clock, one recovery for all its reports. */
export function openService(
  options: RunOptions,
  brand: string,
  onRequest: ServiceClientOptions['onRequest'],
): ServiceClient {
  const { clock, log, random, credentials, request, settings, signal } = options;
  const { baseUrl, service, method, timeoutSeconds } = brandOf(options, brand);
  const limiter = createRateLimiter({
    requestsPerSecond: request.requestsPerSecond ?? settings.requestsPerSecond,
    wallMs: clock.wallMs,
    sleep: clock.sleep,
  });
  return createServiceClient({
    brand,
    baseUrl,
    service,
    method,
    timeoutMs: timeoutSeconds * 1000,
    credentials,
    limiter,
    wallMs: clock.wallMs,
    random,
    sleep: clock.sleep,
    log,
    ...(onRequest && { onRequest }),
    ...(signal && { signal }),
  });
}

/** Everything that the steps of one report of one brand work with. */
export function reportRun(
  options: RunOptions,
  of: {
    id: string;
    brand: string;
    report: ReportDefinition;
    service: ReportService;
    units: ReportRun['units'];
    ledgers: Map<string, Document<Ledger>>;
  },
): ReportRun {
  const { brand, report } = of;
  const brandSettings = brandOf(options, brand);
  const settings = brandSettings.reports[report.name];
  if (!settings) throw notInSettings(report.name, brand);
  const { lake, clock, log, newId, deadline, leases = true } = options;
  const ledgerOf = (name: string) => (month: string) => {
    const key = ledgerKey(name, brand, month);
    const known = of.ledgers.get(key);
    const ledger = known ?? document(options, key, parseLedger(key, { report: name, brand, month }));
    of.ledgers.set(key, ledger);
    return ledger;
  };
  const parent = report.day.by === 'parent' ? options.reports[report.day.report] : undefined;
  return {
    run: of.id,
    brand,
    report,
    brandSettings,
    settings,
    policy: policyOf(report, brandSettings, settings),
    lake,
    service: of.service,
    clock,
    log,
    deadline,
    pagesInFlight: options.settings.pagesInFlight,
    units: of.units,
    leases,
    newId,
    ledger: ledgerOf(report.name),
    progress: (day, attempt) => {
      const key = progressKey(report.name, brand, day, attempt);
      return document(options, key, parseProgress(key));
    },
    schema: document(options, schemaKey(report.table), parseStoredSchema(report)),
    ...(parent && { parent: { table: parent.table, ledger: ledgerOf(parent.name) } }),
  };
}

function document<T extends Written>(
  { lake, newId, clock, random }: RunOptions,
  key: string,
  parse: (stored: Json | undefined) => T,
): Document<T> {
  const pause = (round: number) => clock.sleep(random() * Math.min(1000, 10 * 2 ** round));
  return new Document({ store: lake.store, key, parse, newId, pause });
}

function parseStoredSchema(report: ReportDefinition) {
  return (stored: Json | undefined): StoredSchema => {
    if (stored === undefined)
      return { version: 1, table: report.table, ...baseSchema(report.columns), recent: [] };
    const recent = isJsonObject(stored) && Array.isArray(stored.recent) ? stored.recent : [];
    return {
      version: 1,
      table: report.table,
      ...parseSchema(stored, schemaKey(report.table)),
      recent: recent.filter((id) => typeof id === 'string'),
    };
  };
}

/** The brands that are asked for, or all. */
export function selectBrands({ settings, request }: RunOptions): readonly string[] {
  return request.brands ?? Object.keys(settings.brands);
}

/** The reports of a brand that are asked for, or all that are enabled, in the registry's order. */
export function selectReports({ reports, request, settings }: RunOptions, brand: string): ReportDefinition[] {
  const wanted = (name: string) =>
    request.reports?.includes(name) ?? settings.brands[brand]?.reports[name]?.enabled ?? false;
  return Object.values(reports).filter(({ name }) => wanted(name));
}

function brandOf({ settings }: RunOptions, brand: string): BrandSettings {
  const found = settings.brands[brand];
  if (found) return found;
  throw new BrandReportsError(
    'config',
    'unknown_brand',
    `there is no brand "${brand}" in the settings, which have ${Object.keys(settings.brands).join(', ')}`,
  );
}

function notInSettings(report: string, brand: string): BrandReportsError {
  return new BrandReportsError('config', 'unknown_report', `brand "${brand}" has no settings for ${report}`);
}

/** The days to read again, where any are named: an open end is the first day of the settings, or today. */
function range(
  { from, to }: RunRequest,
  { policy, clock }: ReportRun,
): { from: string; to: string } | undefined {
  if (from === undefined && to === undefined) return undefined;
  return { from: from ?? policy.startDate, to: to ?? dayOf(clock.now().getTime(), policy.timeZone) };
}

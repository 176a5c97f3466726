import { dayOf } from './days.ts';
import { BrandReportsError, rethrowBugs } from './errors.ts';
import type { CasDocument } from './lake/documents/cas-document.ts';
import { type MonthIndex, parseMonthIndex } from './lake/documents/month-index.ts';
import { indexKey, progressKey } from './lake/paths.ts';
import { parseProgress } from './lake/documents/progress.ts';
import { type ReportOutcome, type SyncOutcome, type Traffic, isUnfinished, syncOutcome } from './outcome.ts';
import { newestComplete } from './status/newest-complete.ts';
import {
  type LakeOptions,
  type LedgerCache,
  casDocument,
  ledgerDocument,
  createBrandReport,
} from './pipeline/create-context.ts';
import { policyOf } from './planning/policy.ts';
import { type Range, saveContinuation } from './pipeline/continuation.ts';
import type { Deadline, RunContext } from './pipeline/context.ts';
import { bindBrand } from './log-events.ts';
import type { CredentialSource, ReportService } from './ports.ts';
import type { ReportDefinition, ReportRegistry } from './reports/definition.ts';
import { type ServiceClient, type ServiceClientOptions, createServiceClient } from './service/client.ts';
import { createRateLimiter } from './service/rate-limit.ts';
import type { BrandSettings, Settings } from './settings/settings.ts';
import { syncReport } from './sync.ts';

export interface RunOptions extends LakeOptions {
  settings: Settings;
  reports: ReportRegistry;
  credentials: CredentialSource;
  scope: RunScope;
  /** Nothing new is begun after `softMs`; the process may be gone after `hardMs` (wall clock). */
  deadline?: Deadline;
  /** Stops requests that are under way; what was staged is kept. */
  signal?: AbortSignal;
  leases?: boolean;
}

/** What one run is asked to do; what is left out means all that the settings enable. */
export interface RunScope {
  brands?: readonly string[];
  reports?: readonly string[];
  /** Days to read again, whatever the policy says. */
  from?: string;
  to?: string;
  /** An instant, ISO 8601: of the days to read again, those that any run has read from then on are not. */
  since?: string;
  /** A share of the brand's rate, where several runs share it. */
  requestsPerSecond?: number;
}

/** Reads the reports that are asked for: brands side by side, a brand's reports in the registry's order. */
export async function runSync(options: RunOptions): Promise<SyncOutcome> {
  const { lake, newId } = options;
  const id = newId();
  const leave = await lake.runs.register(id);
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
    for (const { run, index } of reports) await leaveQuietly(run, index, range(options.scope, run), goesOn);
    return outcome;
  } finally {
    await leave();
  }
}

/** What was read stays read: that the next run may read some of it again is no failure of this one. */
async function leaveQuietly(...[run, ...rest]: Parameters<typeof saveContinuation>): Promise<void> {
  try {
    await saveContinuation(run, ...rest);
  } catch (thrown) {
    const { message } = rethrowBugs(thrown);
    run.log({ event: 'continuation_not_saved', message });
  }
}

const NO_TRAFFIC: Traffic = { requests: 0, retries: 0, throttles: 0 };

async function syncBrand(
  options: RunOptions,
  id: string,
  brand: string,
  units: RunContext['units'],
): Promise<{ run: RunContext; index: CasDocument<MonthIndex>; outcome: ReportOutcome }[]> {
  const synced = [];
  const ledgers: LedgerCache = new Map();
  const traffic = new Map<string, Traffic>();
  const service = createService(options, brand, ({ action, attempt, status }) => {
    const { requests, retries, throttles } = traffic.get(action) ?? NO_TRAFFIC;
    traffic.set(action, {
      requests: requests + 1,
      retries: retries + (attempt > 1 ? 1 : 0),
      throttles: throttles + (status === 429 ? 1 : 0),
    });
  });
  for (const report of selectReports(options, brand)) {
    const run = createRunContext(options, { id, brand, report, service, units, ledgers });
    const index = casDocument(
      options,
      indexKey(report.name, brand),
      parseMonthIndex(indexKey(report.name, brand)),
    );
    const outcome = {
      ...(await syncReport(run, index, range(options.scope, run))),
      ...(traffic.get(report.action) ?? NO_TRAFFIC),
      newestComplete: await newestComplete(run, index),
    };
    synced.push({ run, index, outcome });
  }
  return synced;
}

/** The brand's service for the length of a run: one rate limit, one clock, one recovery for all its reports. */
export function createService(
  options: RunOptions,
  brand: string,
  onRequest: ServiceClientOptions['onRequest'],
): ServiceClient {
  const { clock, log, random, credentials, scope, settings, signal } = options;
  const { baseUrl, service, method, timeoutSeconds } = brandOf(options, brand);
  const limiter = createRateLimiter({
    requestsPerSecond: scope.requestsPerSecond ?? settings.requestsPerSecond,
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
    log: bindBrand(log, brand),
    ...(onRequest && { onRequest }),
    ...(signal && { signal }),
  });
}

/** Everything that the steps of one report of one brand work with. */
export function createRunContext(
  options: RunOptions,
  of: {
    id: string;
    brand: string;
    report: ReportDefinition;
    service: ReportService;
    units: RunContext['units'];
    ledgers: LedgerCache;
  },
): RunContext {
  const { brand, report, ledgers } = of;
  const brandSettings = brandOf(options, brand);
  const settings = brandSettings.reports[report.name];
  if (!settings) throw notInSettings(report.name, brand);
  const policy = policyOf(report, brandSettings, settings);
  const { deadline, leases = true } = options;
  const parent = report.day.by === 'upstream' ? options.reports[report.day.report] : undefined;
  return {
    ...createBrandReport(options, { brand, report, policy, ledgers }),
    runId: of.id,
    brandSettings,
    settings,
    policy,
    service: of.service,
    deadline,
    daysInFlight: options.settings.pagesInFlight,
    units: of.units,
    leases,
    progress: (day, attempt) => {
      const key = progressKey(report.name, brand, day, attempt);
      return casDocument(options, key, parseProgress(key));
    },
    ...(parent && {
      upstream: {
        table: parent.table,
        ledger: (month: string) => ledgerDocument(options, ledgers, { report: parent.name, brand, month }),
      },
    }),
  };
}

/** The brands that are asked for, or all. */
export function selectBrands({ settings, scope }: RunOptions): readonly string[] {
  return scope.brands ?? Object.keys(settings.brands);
}

/** The reports of a brand that are asked for, or all that are enabled, in the registry's order. */
export function selectReports({ reports, scope, settings }: RunOptions, brand: string): ReportDefinition[] {
  const wanted = (name: string) =>
    scope.reports?.includes(name) ?? settings.brands[brand]?.reports[name]?.enabled ?? false;
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
function range({ from, to, since }: RunScope, { policy, clock }: RunContext): Range | undefined {
  if (from === undefined && to === undefined) return undefined;
  return {
    from: from ?? policy.startDate,
    to: to ?? dayOf(clock.now().getTime(), policy.timeZone),
    ...(since !== undefined && { since }),
  };
}

/*
 * Runs the program once: brands run concurrently, in turns (`turns.ts`), and each brand has one service client (one rate
 * limit, one server clock, one recovery from a refusal) for all its reports, which `sync.ts` reads.
 */
import { mapConcurrent } from '../base/concurrency.ts';
import { configError, redactedFailure, rethrowBugs, stackOf } from '../base/errors.ts';
import { type Adoption, StoredSettings } from '../lake/brand-settings.ts';
import { type LakeDocuments, createLakeDocuments } from '../lake/lake-documents.ts';
import { bindBrand, bindReport } from '../base/log-events.ts';
import {
  type ReportOutcome,
  type SyncOutcome,
  type Traffic,
  errorSummary,
  isUnfinished,
  madeProgress,
  runSummary,
  syncOutcome,
} from '../base/outcome.ts';
import {
  type FetchContext,
  type LakeAccess,
  type RunContext,
  createBrandReport,
  todayIn,
  runClock,
} from '../context/context.ts';
import { type Range, saveContinuation } from './continuation.ts';
import { IcebergCommits } from './iceberg-commits.ts';
import { type Lease, createLease } from './lease.ts';
import { type Deadline, createTimeBudget } from '../context/time-budget.ts';
import { policyOf } from '../planning/policy.ts';
import type { CredentialSource, ReportService, SendRequest } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import { type ServiceClientOptions, createServiceClient } from '../service/client.ts';
import { createRateLimiter } from '../service/rate-limit.ts';
import { CLOCKS_DIFFER, SERVICE_RETRY, refusalOfPause } from '../service/retry.ts';
import type { BrandSettings, Settings } from '../settings/settings.ts';
import { type SyncedReport, syncReports } from './sync.ts';
import { BRANDS_AT_ONCE, brandsInTurn } from './turns.ts';

export interface RunOptions extends LakeAccess {
  settings: Settings;
  reports: ReportRegistry;
  credentials: CredentialSource;
  send: SendRequest;
  scope: RunScope;
  /** Missing: the run has no time limit. */
  deadline?: Deadline;
  /** Stops requests that are under way; what was staged is kept. */
  signal?: AbortSignal;
  /** Names the run to others that wait for it: host and process, or the request of a function. Missing: the run's id. */
  runBy?: string;
  /** Missing: a command line. */
  adoption?: Adoption;
}

/** What one run reads; a missing field means everything that the settings enable. */
export interface RunScope {
  brands?: readonly string[];
  reports?: readonly string[];
  /** Whether a named report is left out for a brand whose settings disable it. */
  onlyEnabled?: boolean;
  /** Days to read again, `YYYY-MM-DD`, both included, regardless of the policy. */
  from?: string;
  to?: string;
  /** Needs `from` or `to`. */
  acceptFewer?: boolean | undefined;
}

/** I12: the most days that the settings of one brand allow: 32 days being read, and 32 days being built meanwhile. */
const MOST_DAYS = 64;

interface Run extends Pick<RunContext, 'time' | 'stored'> {
  id: string;
  iceberg: IcebergCommits;
}

/**
 * @returns the document of `sync --json`; it contains failures of reports, including bugs
 * @throws BrandReportsError `config` if the settings lack a brand or report in scope, or may not replace those of the lake
 */
export async function runSync(options: RunOptions): Promise<SyncOutcome> {
  const { lake, clock, deadline } = options;
  const run = {
    id: options.newId(),
    time: createTimeBudget(deadline, clock.monotonicMs),
    stored: await storedSettings(options),
    iceberg: new IcebergCommits(),
  };
  const unregister = await lake.runs.register(run.id);
  try {
    const left: ReportOutcome[] = [];
    let begun = 0;
    const inTurn = await brandsInTurn(selectBrands(options), lastRunOf(options));
    const brands = await mapConcurrent(inTurn, BRANDS_AT_ONCE, async (brand) => {
      begun += 1;
      if (begun <= BRANDS_AT_ONCE || !run.time.isUp())
        return run.iceberg.brand(() => syncBrand(options, run, brand));
      left.push(...leftToNextRun(options, brand));
      return [];
    });
    const reports = brands.flat();
    const outcome = syncOutcome([...reports.map((report) => report.outcome), ...left]);
    const ended: ReportOutcome[] = [];
    for (const report of reports) ended.push(await withContinuation(report, options.scope, outcome));
    return syncOutcome([...ended, ...left]);
  } finally {
    await unregister();
  }
}

/** @throws BrandReportsError `config` if the settings of a brand in scope may not replace those of the lake */
export async function storedSettings(
  options: Pick<RunOptions, 'settings' | 'reports' | 'scope' | 'adoption'> & LakeAccess,
): Promise<StoredSettings> {
  const stored = new StoredSettings(options);
  const brands = selectBrands(options).map((brand) => [brand, brandSettingsOf(options, brand)] as const);
  await stored.assertMayReplace(Object.fromEntries(brands), options.adoption);
  return stored;
}

function lastRunOf(options: RunOptions): (brand: string) => Promise<string | undefined> {
  const documents = createLakeDocuments({ store: options.lake.store, ...options });
  return async (brand) => {
    const [report] = selectReports(options, brand);
    // A state that cannot be read fails the brand in its turn.
    const state = report && (await documents.reportState(report.name, brand).cached().catch(rethrowBugs));
    return state && 'lastRun' in state ? state.lastRun?.at : undefined;
  };
}

function leftToNextRun(options: RunOptions, brand: string): ReportOutcome[] {
  const nothing = { status: 'incomplete' as const, days: [], ...NO_TRAFFIC };
  return selectReports(options, brand).map(({ name }) => ({ brand, report: name, ...nothing }));
}

/**
 * Saves the continuation. If that fails, the report has failed, although its days are committed: the next run reads some
 * days again.
 */
async function withContinuation(
  { ctx, outcome }: SyncedReport,
  scope: RunScope,
  { status, reports }: SyncOutcome,
): Promise<ReportOutcome> {
  const range = rangeOf(scope, ctx);
  // Nobody knows the time, so nothing is dated.
  if (outcome.error?.code === CLOCKS_DIFFER) return outcome;
  // The run that holds the lease saves what it leaves.
  if (outcome.status === 'busy') return outcome;
  try {
    await saveContinuation(ctx, range, {
      // A range ends only after a run that read all of it: otherwise the next run would read its other days again.
      isUnfinished: range ? status !== 'complete' : reports.some(isUnfinished),
      madeProgress: reports.some(madeProgress),
    });
    return outcome;
  } catch (thrown) {
    const error = redactedFailure(thrown, ctx.service);
    const summary = errorSummary(error);
    ctx.log({ event: 'report_failed', ...summary, ...stackOf(error) });
    return { ...outcome, status: 'failed', error: outcome.error ?? summary };
  }
}

async function syncBrand(options: RunOptions, run: Run, brand: string): Promise<SyncedReport[]> {
  const traffic = createTrafficCount();
  const clocks = runClock(options.clock, () => service.clockSkewMs);
  const documents = createLakeDocuments({ store: options.lake.store, ...options, clocks });
  const log = bindBrand(options.log, brand);
  const lease = createLease({
    ...{ brand, document: documents.lease(brand), runId: run.id, name: options.runBy ?? run.id },
    ...{ time: run.time, clock: options.clock, runs: options.lake.runs, log },
  });
  const { requestsPerSecond } = options.settings;
  const onRequest: ServiceClientOptions['onRequest'] = (sent) => {
    traffic.count(sent);
    log({ event: 'request_sent', action: sent.action, requestsPerSecond });
  };
  const service = createService(options, brand, { claim: lease.claim, onRequest });
  const contexts = selectReports(options, brand).map((report) =>
    createRunContext(options, { ...run, documents }, { brand, report, service }),
  );
  const toSync = contexts.map((ctx) => ({
    ctx,
    range: () => rangeOf(options.scope, ctx),
    traffic: () => traffic.trafficOf(ctx.report.action),
  }));
  try {
    const synced = await syncReports(toSync, run.iceberg);
    for (const { ctx, outcome } of synced) ctx.log({ event: 'run_ended', ...runSummary(outcome) });
    return synced;
  } finally {
    await lease.release();
  }
}

const NO_TRAFFIC: Traffic = { requests: 0, retries: 0, throttles: 0 };

function createTrafficCount() {
  const byAction = new Map<string, Traffic>();
  const trafficOf = (action: string) => byAction.get(action) ?? NO_TRAFFIC;
  const count: ServiceClientOptions['onRequest'] = ({ action, attempt, status }) => {
    const { requests, retries, throttles } = trafficOf(action);
    byAction.set(action, {
      requests: requests + 1,
      retries: retries + (attempt > 1 ? 1 : 0),
      throttles: throttles + (status === 429 ? 1 : 0),
    });
  };
  return { trafficOf, count };
}

export function createService(
  options: RunOptions,
  brand: string,
  {
    claim,
    ...others
  }: Partial<Pick<ServiceClientOptions, 'onRequest' | 'method' | 'retry'>> & Pick<Lease, 'claim'>,
): ReportService {
  const { clock, log, random, credentials, send, signal } = options;
  const { monotonicMs, wallMs, sleep } = clock;
  const { baseUrl, service, method, timeoutSeconds } = brandSettingsOf(options, brand);
  const { requestsPerSecond } = options.settings;
  const timeLeft = createTimeBudget(options.deadline, monotonicMs);
  const refusePause = refusalOfPause({ ...SERVICE_RETRY, ...others.retry }, timeLeft);
  const { leftMs } = timeLeft;
  return createServiceClient({
    ...{ brand, baseUrl, service, method, credentials, send, wallMs, random, sleep },
    timeoutMs: timeoutSeconds * 1000,
    limiter: createRateLimiter({ requestsPerSecond, claim, refusePause, leftMs, monotonicMs, sleep }),
    log: bindBrand(log, brand),
    ...others,
    ...(signal && { signal }),
  });
}

/** @throws BrandReportsError `config` if the settings lack the brand or the report */
export function settingsOf(
  options: Pick<RunOptions, 'settings'>,
  brand: string,
  report: ReportDefinition,
): Pick<FetchContext, 'brandSettings' | 'settings' | 'policy'> {
  const brandSettings = brandSettingsOf(options, brand);
  const settings = brandSettings.reports[report.name];
  if (!settings) throw configError('unknown_report', `brand "${brand}" has no settings for ${report.name}`);
  const policy = policyOf(report, brandSettings, settings, options.settings.deployment);
  return { brandSettings, settings, policy };
}

/** @throws BrandReportsError `config` if the settings lack the brand or the report */
export function createFetchContext(
  options: RunOptions,
  { brand, report, service }: Pick<FetchContext, 'brand' | 'report' | 'service'>,
): FetchContext {
  return {
    brand,
    report,
    ...settingsOf(options, brand, report),
    service,
    clock: runClock(options.clock, () => service.clockSkewMs),
    log: bindReport(options.log, brand, report.name),
  };
}

/** @throws BrandReportsError `config` if the settings lack the brand or the report */
export function createRunContext(
  options: RunOptions,
  run: Omit<Run, 'iceberg'> & { documents: LakeDocuments },
  reportInRun: Parameters<typeof createFetchContext>[1],
): RunContext {
  const fetchContext = createFetchContext(options, reportInRun);
  const { brand, report } = fetchContext;
  const { documents } = run;
  return {
    ...createBrandReport({ ...options, stored: run.stored }, documents, fetchContext),
    ...fetchContext,
    runId: run.id,
    adoption: options.adoption,
    time: run.time,
    daysInFlight: options.settings.pagesInFlight,
    mostDays: Math.max(1, Math.floor(MOST_DAYS / selectBrands(options).length)),
    acceptsFewer: options.scope.acceptFewer ?? false,
    hasReturned: () => false,
    progress: (day, attempt, first) => documents.progress(report.name, brand, day, attempt, first),
  };
}

export function selectBrands({ settings, scope }: Pick<RunOptions, 'settings' | 'scope'>): readonly string[] {
  return scope.brands ?? Object.keys(settings.brands);
}

/** The reports of a brand in scope, in the registry's order: the named reports, or all enabled ones. */
export function selectReports(
  { reports, scope, settings }: Pick<RunOptions, 'reports' | 'scope' | 'settings'>,
  brand: string,
): ReportDefinition[] {
  const isSelected = (name: string) => {
    const isNamed = scope.reports?.includes(name);
    const isEnabled = settings.brands[brand]?.reports[name]?.enabled ?? false;
    return isNamed === undefined || scope.onlyEnabled ? isEnabled && isNamed !== false : isNamed;
  };
  return Object.values(reports).filter(({ name }) => isSelected(name));
}

export function brandSettingsOf({ settings }: Pick<RunOptions, 'settings'>, brand: string): BrandSettings {
  const found = settings.brands[brand];
  if (found) return found;
  const allowed = Object.keys(settings.brands).join(', ');
  throw configError('unknown_brand', `brand "${brand}" is not in the settings; allowed: ${allowed}`);
}

/** The days to read again, if the scope has any. An open end is the first day of the settings, or today. */
export function rangeOf(
  { from, to }: RunScope,
  ctx: Pick<RunContext, 'clock' | 'policy'>,
): Range | undefined {
  if (from === undefined && to === undefined) return undefined;
  const name = `${from ?? ''}..${to ?? ''}`;
  return { from: from ?? ctx.policy.startDate, to: to ?? todayIn(ctx), name };
}

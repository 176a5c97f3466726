/*
 * A plan shows what a run would read now: the days, the reasons, and how many requests they may take. It uses the planner
 * of a run, sends no request and writes nothing, so the clock is this machine's, and nobody knows yet what changed in the
 * service.
 */
import {
  type BrandReport,
  type BuildContext,
  type LakeAccess,
  createBrandReport,
} from '../context/context.ts';
import { rethrowBugs } from '../errors.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import { type ErrorSummary, errorSummary } from '../outcome.ts';
import type { DueDay } from '../planning/plan.ts';
import { resumeOrStart } from './continuation.ts';
import { type DueDays, assertBegun, findDueDays } from './plan-report.ts';
import { type RunOptions, rangeOf, selectBrands, selectReports, settingsOf } from './run.ts';

/** The document of `sync --plan --json`. */
export interface RunPlan {
  reports: PlannedReport[];
  /** An estimate: as many as the last readings took. */
  requests: number;
  /** How long the requests take at `requestsPerSecond`; brands are read at the same time. */
  seconds: number;
}

/** What a run would read of one report of one brand. */
export interface PlannedReport {
  brand: string;
  report: string;
  /** In the order in which they are read. */
  days: { dt: string; reason: DueDay['reason']; requests: number }[];
  /** Days that failed before, and whose backoff has not ended. */
  waiting: string[];
  /** Days of a report of lookups that become due if the reading of their upstream day finds other records. */
  mayFollow: string[];
  requests: number;
  /** Whether the lake has no day of the report yet, so that one request is counted for each day. */
  isLowerBound: boolean;
  /** What cannot be planned, e.g. because a document is damaged. */
  error?: ErrorSummary;
}

type PlanOptions = LakeAccess & Pick<RunOptions, 'settings' | 'reports' | 'scope'>;

/** @throws BrandReportsError `config` if the settings do not have what is in scope */
export async function planRun(options: PlanOptions): Promise<RunPlan> {
  const byBrand = await Promise.all(selectBrands(options).map((brand) => planBrand(options, brand)));
  const requests = byBrand.map((planned) => planned.reduce((sum, report) => sum + report.requests, 0));
  return {
    reports: byBrand.flat(),
    requests: requests.reduce((sum, each) => sum + each, 0),
    seconds: Math.ceil(Math.max(0, ...requests) / options.settings.requestsPerSecond),
  };
}

async function planBrand(options: PlanOptions, brand: string): Promise<PlannedReport[]> {
  const { lake, clock, newId } = options;
  const documents = createLakeDocuments({ store: lake.store, ...options, latestMs: clock.wallMs });
  const runId = newId();
  const planned = new Map<string, PlannedReport>();
  for (const report of selectReports(options, brand)) {
    const settings = settingsOf(options, brand, report);
    const own = createBrandReport(options, documents, { brand, report, policy: settings.policy });
    const ctx = { ...own, ...settings, runId, service: { clockSkewMs: 0 } };
    const upstream = planned.get(ctx.upstream?.report.name ?? '');
    const range = rangeOf(options.scope, ctx);
    try {
      if (range) assertBegun(ctx, range);
      const due = await findDueDays(ctx, range, await resumeOrStart(ctx, range));
      planned.set(report.name, await plannedReport(ctx, due, upstream));
    } catch (thrown) {
      const error = errorSummary(rethrowBugs(thrown));
      planned.set(report.name, { ...nothingPlanned(ctx), error });
    }
  }
  return [...planned.values()];
}

function nothingPlanned({ brand, report }: BrandReport): PlannedReport {
  return {
    brand,
    report: report.name,
    days: [],
    waiting: [],
    mayFollow: [],
    requests: 0,
    isLowerBound: false,
  };
}

async function plannedReport(
  ctx: BuildContext,
  { due, waiting, ledgers, error }: DueDays,
  upstream: PlannedReport | undefined,
): Promise<PlannedReport> {
  const committed = [...ledgers.values()].flatMap(({ days }) =>
    Object.entries(days).flatMap(([day, entry]) =>
      entry.committed ? [[day, entry.committed] as const] : [],
    ),
  );
  const known = new Map(committed);
  const usual = Math.ceil(committed.reduce((sum, [, { pages }]) => sum + pages, 0) / (committed.length || 1));
  const requestsOf = async ({ day, reason }: DueDay) => {
    const own = known.get(day);
    if (!ctx.upstream) return Math.max(1, own?.pages ?? usual);
    // Lookups that returned a record are not repeated, unless the day is named.
    const { days } = await ctx.upstream.ledger(day.slice(0, 7)).cached();
    return Math.max(0, (days[day]?.committed?.rows ?? 0) - (reason === 'requested' ? 0 : (own?.rows ?? 0)));
  };
  const days = await Promise.all(
    due.map(async (each) => ({ dt: each.day, reason: each.reason, requests: await requestsOf(each) })),
  );
  const mayFollow = upstream?.days.map(({ dt }) => dt).filter((dt) => !days.some((each) => each.dt === dt));
  return {
    ...nothingPlanned(ctx),
    ...{ days, waiting, mayFollow: mayFollow ?? [] },
    requests: days.reduce((sum, { requests }) => sum + requests, 0),
    isLowerBound: committed.length === 0,
    ...(error && { error: errorSummary(error) }),
  };
}

/*
 * Plans a run without starting it. It uses the planner of a run but sends no request and writes nothing. So the time is
 * this machine's, and changes in the service are not known yet.
 */
import { type BuildContext, createBrandReport } from '../context/context.ts';
import { monthOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import { type ErrorSummary, errorSummary } from '../outcome.ts';
import type { DueDay } from '../planning/plan.ts';
import { resumeOrStart } from './continuation.ts';
import { type DueDays, assertBegun, findDueDays } from './plan-report.ts';
import { type RunOptions, rangeOf, selectBrands, selectReports, settingsOf } from './run.ts';

export interface RunPlan {
  reports: PlannedReport[];
  /** An estimate: as many as the last readings took. */
  requests: number;
  /** How long the requests take at `requestsPerSecond`; brands are read at the same time. */
  seconds: number;
}

export interface PlannedReport {
  brand: string;
  report: string;
  days: { dt: string; reason: DueDay['reason']; requests: number }[];
  waiting: string[];
  /** Days of lookups that become due if the run finds different records of their upstream day. */
  mayFollow: string[];
  requests: number;
  error?: ErrorSummary;
}

export type PlanOptions = Omit<RunOptions, 'credentials' | 'send'>;

/** @throws BrandReportsError `config` if the settings lack a brand or report in scope */
export async function planRun(options: PlanOptions): Promise<RunPlan> {
  const brands = await Promise.all(selectBrands(options).map((brand) => planBrand(options, brand)));
  const requests = brands.map(totalOf);
  const seconds = Math.ceil(Math.max(0, ...requests) / options.settings.requestsPerSecond);
  return { reports: brands.flat(), requests: totalOf(brands.flat()), seconds };
}

function totalOf(planned: readonly { requests: number }[]): number {
  return planned.reduce((sum, { requests }) => sum + requests, 0);
}

async function planBrand(options: PlanOptions, brand: string): Promise<PlannedReport[]> {
  const { lake } = options;
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const planned: PlannedReport[] = [];
  for (const report of selectReports(options, brand)) {
    const settings = settingsOf(options, brand, report);
    const own = createBrandReport(options, documents, { brand, report, policy: settings.policy });
    const ctx = { ...own, ...settings, runId: options.newId() };
    const upstream = planned.find((other) => other.report === ctx.upstream?.report.name);
    const range = rangeOf(options.scope, ctx);
    try {
      if (range) assertBegun(ctx, range);
      const due = await findDueDays(ctx, range, await resumeOrStart(ctx, range));
      planned.push(await plannedReport(ctx, due, upstream?.days ?? []));
    } catch (thrown) {
      const nothing = { days: [], waiting: [], mayFollow: [], requests: 0 };
      planned.push({ brand, report: report.name, ...nothing, error: errorSummary(rethrowBugs(thrown)) });
    }
  }
  return planned;
}

async function plannedReport(
  ctx: BuildContext,
  { due, waiting, ledgers, error }: DueDays,
  upstreamDays: PlannedReport['days'],
): Promise<PlannedReport> {
  const entries = [...ledgers.values()].flatMap((ledger) => Object.entries(ledger.days));
  const known = new Map(entries.flatMap(([day, { committed }]) => (committed ? [[day, committed]] : [])));
  const usual = [...known.values()].reduce((sum, { pages }) => sum + pages, 0) / (known.size || 1);
  const requestsOf = async ({ day, reason }: DueDay) => {
    const own = known.get(day);
    if (!ctx.upstream) return Math.max(1, own?.pages ?? Math.ceil(usual));
    // Lookups that returned a record are not repeated, unless the day is in a range.
    const { days } = await ctx.upstream.ledger(monthOf(day)).cached();
    return Math.max(0, (days[day]?.committed?.rows ?? 0) - (reason === 'requested' ? 0 : (own?.rows ?? 0)));
  };
  const days = await Promise.all(
    due.map(async (each) => ({ dt: each.day, reason: each.reason, requests: await requestsOf(each) })),
  );
  return {
    ...{ brand: ctx.brand, report: ctx.report.name, days, requests: totalOf(days) },
    waiting,
    mayFollow: upstreamDays.flatMap(({ dt }) => (days.some((day) => day.dt === dt) ? [] : [dt])),
    ...(error && { error: errorSummary(error) }),
  };
}

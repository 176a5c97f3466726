/*
 * `rebuild` rebuilds the days of a report after a change of column types or the key (`pipeline/rebuild-day.ts`). At the
 * end it updates what follows from the ledgers: tables, `coverage`, the hints of the report state.
 */
import { writeCoverage } from '../catalog/coverage.ts';
import { ensureTable, ensureTableAndViews } from '../catalog/ensure-tables.ts';
import { monthOf, monthsFrom } from '../base/days.ts';
import { type BrandReportsError, asBrandReportsError, stackOf } from '../base/errors.ts';
import { publishIceberg } from '../catalog/iceberg/index.ts';
import type { Adoption } from '../lake/brand-settings.ts';
import { readOrDamage } from '../lake/cas-document.ts';
import { createLakeDocuments } from '../lake/lake-documents.ts';
import { sizeOfSchema } from '../lake/schema.ts';
import { withoutHints } from '../lake/report-state.ts';
import { type ReportOutcome, type Status, errorSummary } from '../base/outcome.ts';
import { type LakeAccess, createBrandReport } from '../context/context.ts';
import { type RebuildContext, type RebuiltDay, rebuildDay } from '../day/rebuild-day.ts';
import { type TimeBudget, createTimeBudget } from '../context/time-budget.ts';
import { type RunOptions, selectBrands, selectReports, settingsOf, storedSettings } from '../run/run.ts';

export interface RebuildOptions
  extends LakeAccess,
    Pick<RunOptions, 'settings' | 'reports' | 'deadline' | 'adoption'> {
  scope: RebuildScope;
}

export interface RebuildScope extends Pick<RunOptions['scope'], 'brands' | 'reports'> {
  from: string;
  to: string;
}

export interface RebuiltReport extends Pick<ReportOutcome, 'brand' | 'report' | 'status' | 'error'> {
  days: RebuiltDay[];
}

export interface RebuildOutcome {
  /**
   * `failed`: a day could not be rebuilt. `incomplete`: time was up; to continue, rebuild from the first `pending` day on.
   * `busy`: a run reads every day that is left.
   */
  status: Status;
  reports: RebuiltReport[];
}

export async function rebuildDays(options: RebuildOptions): Promise<RebuildOutcome> {
  const { lake, clock, deadline } = options;
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const time = createTimeBudget(deadline, clock.monotonicMs);
  const runId = options.newId();
  const stored = await storedSettings(options);
  const reports: RebuiltReport[] = [];
  for (const brand of selectBrands(options))
    for (const report of selectReports(options, brand)) {
      const settings = settingsOf(options, brand, report);
      const of = { brand, report, policy: settings.policy };
      const ctx: RebuildContext = {
        ...{ ...createBrandReport({ ...options, stored }, documents, of), ...settings, runId },
        progress: (day, attempt, first) => documents.progress(report.name, brand, day, attempt, first),
      };
      reports.push(await rebuildReport(ctx, options, time));
    }
  return { status: worstOf(reports.map(({ status }) => status)), reports };
}

async function rebuildReport(
  ctx: RebuildContext,
  { scope: { from, to }, adoption }: RebuildOptions,
  time: TimeBudget,
): Promise<RebuiltReport> {
  const of = { brand: ctx.brand, report: ctx.report.name };
  const days: RebuiltDay[] = [];
  try {
    const { committed, damage } = await committedDays(ctx, from, to);
    const months = [...new Set(committed.map(monthOf))];
    ctx.log({ event: 'report_planned', dueDays: committed.length });
    await ctx.reportState.update((state) => withoutHints(state, months));
    await ensureTable(ctx);
    const sizeBefore = sizeOfSchema(await ctx.schema.cached());
    for (const day of committed) {
      const pending = { dt: day, outcome: 'pending' as const, rows: 0 };
      const rebuilt = time.tryStartDay() ? await rebuildDay(ctx, day) : pending;
      ctx.log({ event: 'day_rebuilt', day, outcome: rebuilt.outcome, rows: rebuilt.rows });
      days.push(rebuilt);
    }
    await finish(ctx, months, sizeBefore, adoption);
    if (damage) return { ...of, status: 'failed', days, error: errorSummary(damage) };
    return { ...of, status: worstOf(days.map(statusOf)), days };
  } catch (thrown) {
    const error = asBrandReportsError(thrown);
    ctx.log({ event: 'report_failed', ...errorSummary(error), ...stackOf(error) });
    return { ...of, status: 'failed', days, error: errorSummary(error) };
  }
}

/** The days of the range that have a committed version; `damage`: the error of the first ledger that cannot be read. */
async function committedDays(
  ctx: RebuildContext,
  from: string,
  to: string,
): Promise<{ committed: string[]; damage?: BrandReportsError }> {
  const committed: string[] = [];
  let first: BrandReportsError | undefined;
  for (const month of monthsFrom(from, to)) {
    const ledger = await readOrDamage(ctx.ledger(month).refresh());
    if ('damage' in ledger) first ??= ledger.damage;
    else
      for (const [day, entry] of Object.entries(ledger.value.days))
        if (entry.committed && from <= day && day <= to) committed.push(day);
  }
  return { committed: committed.sort(), ...(first && { damage: first }) };
}

async function finish(
  ctx: RebuildContext,
  months: readonly string[],
  sizeBefore: number,
  adoption: Adoption | undefined,
): Promise<void> {
  await Promise.all(months.map((month) => ctx.ledger(month).flush()));
  const { hasReturnedRecords, viewsOf: before } = await ctx.reportState.cached();
  const viewsOf = await ctx.stored.adopt(ctx.brand, ctx.brandSettings, adoption);
  // A view may have been waiting for a new column or key.
  const isGrown = sizeOfSchema(await ctx.schema.cached()) > sizeBefore;
  if (isGrown || before !== viewsOf) await ensureTableAndViews(ctx);
  await writeCoverage(ctx, months, hasReturnedRecords);
  await publishIceberg(ctx, [{ of: ctx, months }]);
  await ctx.reportState.update((state) => ({ ...withoutHints(state, months), viewsOf }));
}

function statusOf({ outcome }: RebuiltDay): Status {
  if (outcome === 'failed' || outcome === 'kept') return 'failed';
  if (outcome === 'pending') return 'incomplete';
  return outcome === 'busy' ? 'busy' : 'complete';
}

const WORST_FIRST = ['failed', 'incomplete', 'busy', 'complete'] as const satisfies readonly Status[];

function worstOf(statuses: readonly Status[]): Status {
  return WORST_FIRST.find((status) => statuses.includes(status)) ?? 'complete';
}

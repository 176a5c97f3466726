import { isDeepStrictEqual } from 'node:util';
import { ensureTableAndViews } from '../catalog/ensure-tables.ts';
import { vacuumIceberg } from '../catalog/iceberg/index.ts';
import { sendEvents } from './send-events.ts';
import { vacuumLedgerTable, forgetOldVersions, vacuum } from './vacuum.ts';
import { DAY_MS, monthOf, monthsFrom } from '../base/days.ts';
import { asBrandReportsError, rethrowBugs } from '../base/errors.ts';
import { undamaged } from '../lake/cas-document.ts';
import { fewerRead, hasRows, pendingEvents, undamagedLedgers } from '../lake/ledger.ts';
import {
  type ExaminedMonth,
  type LastRun,
  type ReportState,
  isLastRunFresh,
  recordMonths,
  withLastRun,
} from '../lake/report-state.ts';
import { sizeOfSchema } from '../lake/schema.ts';
import { LEDGER_TABLES } from '../lake/paths.ts';
import { type ReportOutcome, countFailedDays, errorSummary } from '../base/outcome.ts';
import { type RunContext, isDailyWorkDue, todayIn } from '../context/context.ts';
import { hasPendingPublication } from '../day/publish.ts';
import { logFindings } from '../findings/index.ts';
import { monthDueAtMs } from '../planning/due.ts';
import { waitingDays } from '../planning/plan.ts';
import { policyFingerprint } from '../planning/policy.ts';
import type { EndingReport } from './iceberg-commits.ts';
import type { ReportPlan } from './plan-report.ts';

export type EndedReport = Pick<ReportOutcome, 'status' | 'error' | 'days'>;

/** A report whose days are read: its end is the steps of `sync.ts`, each for all reports of the brand. */
export interface Ending extends EndingReport {
  of: RunContext;
  hasReturnedRecords: boolean;
  /** Records when each month is next due. If a run dies before, the next run examines the months. */
  record?: (state: ReportState) => ReportState;
  plan: ReportPlan;
  own: Partial<ReportState>;
  /** Missing for a run of a range, which the watcher must not see. */
  ended: EndedReport | undefined;
}

/** @param published the days whose content or findings are new since this run */
export async function examineReport(
  ctx: RunContext,
  plan: ReportPlan,
  published: readonly string[],
  ended: EndedReport | undefined,
): Promise<Ending> {
  const { months, examinedAll } = plan;
  await logFindings(ctx, published);
  await Promise.all(months.map((month) => ctx.ledger(month).flush()));
  const at = new Date(ctx.clock.earlierMs()).toISOString();
  const before = await ctx.reportState.cached();
  const hasReturnedRecords =
    before.hasReturnedRecords ||
    hasRows(await Promise.all(months.map((month) => ctx.ledger(month).cached())));
  const isDaily = isDailyWorkDue(ctx, before.examinedAt) && hasTimeFor(ctx, before.examinedAt);
  const isGrown = plan.size !== undefined && sizeOfSchema(await ctx.schema.cached()) > plan.size;
  const viewsOf = await ctx.stored.adopt(ctx.brand, ctx.brandSettings, ctx.adoption);
  // Once a day, this repairs what a crash or a manual edit has damaged in the catalog.
  if (isDaily || isGrown || before.viewsOf !== viewsOf) await ensureTableAndViews(ctx);
  // The report's very first record makes every empty day before it complete instead of unverified.
  const verified =
    hasReturnedRecords && !before.hasReturnedRecords
      ? await readableMonths(ctx, monthsFrom(ctx.policy.startDate, todayIn(ctx)))
      : [];
  // The plan leaves these months out, but their coverage may change. A later start date clears the unread days before
  // it. Days in the future are unread, whatever a run with a fast clock has written of them.
  const isOtherPolicy = before.policy !== policyFingerprint(ctx.policy);
  const isLeft = (month: string) =>
    month > monthOf(todayIn(ctx)) || (isOtherPolicy && month < monthOf(ctx.policy.startDate));
  const left = await readableMonths(ctx, Object.keys(before.months).filter(isLeft));
  // I3: if the machine's clock is fast and no response has corrected it, the vacuum would delete what queries still
  // read.
  const expires =
    ctx.service.hasAnswered && isDailyWorkDue(ctx, before.vacuumedAt) && hasTimeFor(ctx, before.vacuumedAt);
  return {
    ...{ of: ctx, months: [...new Set([...months, ...verified, ...left])], hasReturnedRecords, plan },
    expires,
    own: { viewsOf, ...(isDaily && examinedAll && { examinedAt: at }) },
    ended,
  };
}

export async function announceReport(ending: Ending): Promise<void> {
  const { of: ctx, months, hasReturnedRecords, plan, own, ended } = ending;
  await sendEvents(ctx, plan.months, hasReturnedRecords);
  const nowMs = ctx.clock.now().getTime();
  const found = new Map<string, ExaminedMonth>();
  for (const month of months) found.set(month, await examinedMonth(ctx, month, nowMs));
  ending.record = (current) => {
    const recorded = recordMonths(current, found, policyFingerprint(ctx.policy), nowMs);
    const hasReturned = recorded.hasReturnedRecords || hasReturnedRecords;
    const next = { ...recorded, ...own, hasReturnedRecords: hasReturned };
    const lastRun = ended && lastRunOf(ctx, ended);
    if (isDeepStrictEqual(next, current) && (!lastRun || isLastRunFresh(current, lastRun))) return current;
    return lastRun ? withLastRun(next, lastRun) : next;
  };
}

/**
 * Removes old objects, after the Iceberg table is written, so that none of its snapshots references what is removed. If it
 * fails, the next run tries again: nothing depends on it.
 */
export async function vacuumReport({ of: ctx, expires }: Ending): Promise<void> {
  if (!expires) return;
  try {
    const months = await vacuum(ctx);
    for (const table of LEDGER_TABLES) await vacuumLedgerTable(ctx, table);
    await vacuumIceberg(ctx);
    const vacuumedAt = new Date(ctx.clock.earlierMs()).toISOString();
    await ctx.reportState.update((current) => ({ ...current, vacuumedAt }));
    await forgetOldVersions(ctx, months);
  } catch (thrown) {
    ctx.log({ event: 'vacuum_failed', ...errorSummary(rethrowBugs(thrown)) });
  }
}

/** Records that a run failed before it could finish. Never fails: if no run reports, the watcher notices that too. */
export async function recordFailedRun(ctx: RunContext, ended: EndedReport): Promise<void> {
  const recorded = ctx.reportState.update((current) => withLastRun(current, lastRunOf(ctx, ended)));
  await recorded.catch(asBrandReportsError);
}

function lastRunOf({ clock }: RunContext, { status, error, days }: EndedReport): Omit<LastRun, 'since'> {
  const at = new Date(clock.wallMs()).toISOString();
  return { at, status, ...error, failedDays: countFailedDays(days) };
}

/** After two days there is time in any case, or runs whose time is always up would never do the daily work. */
function hasTimeFor({ clock, time }: RunContext, doneAt: string | undefined): boolean {
  const isOverdue = doneAt !== undefined && clock.earlierMs() - Date.parse(doneAt) >= 2 * DAY_MS;
  return !time.isUp() || isOverdue;
}

async function examinedMonth(ctx: RunContext, month: string, nowMs: number): Promise<ExaminedMonth> {
  const ledger = await ctx.ledger(month).cached();
  const upstream = ctx.upstream && (await undamaged(ctx.upstream.ledger(month).cached()));
  const dueMs = monthDueAtMs(month, ledger, ctx.policy, nowMs, upstream);
  // No run reads a waiting day, but every run has to report it.
  const mustBeExamined =
    hasPendingPublication(ctx, ledger) ||
    waitingDays(new Map([[month, ledger]]), ctx.policy, nowMs).length > 0 ||
    // Its records may turn up in a day of another month.
    Object.values(ledger.days).some((entry) => fewerRead(entry) && entry.committed?.state !== 'settled') ||
    // A listener that was down gets them in the next run.
    (ctx.events !== undefined && pendingEvents(ledger).length > 0);
  return {
    dueMs: mustBeExamined ? nowMs : dueMs,
    ...(Object.values(ledger.days).some(({ committed }) => committed) && { hasDays: true }),
  };
}

async function readableMonths(ctx: RunContext, months: readonly string[]): Promise<string[]> {
  return [...(await undamagedLedgers(months.map((month) => ctx.ledger(month).refresh()))).keys()];
}

/*
 * One report of one brand, from the plan to the vacuum.
 *
 * The ledgers of the months in which a day may be due are read, and what they say is committed but not published is
 * published first. Then the due days are planned from them, and each goes through `pipeline/sync-day.ts` by itself:
 * claim → fetch and stage → build → commit → publish. A day that fails stops no other, until five in a row fail or one
 * needs an operator. At the end `finish.ts` vacuums once a day, writes `coverage`, and records when each month is next
 * due.
 */
import { forEachConcurrent } from './concurrency.ts';
import { daysFrom, earlier, monthOf } from './days.ts';
import { type BrandReportsError, rethrowBugs } from './errors.ts';
import { finishReport, vacuumIsDue } from './finish.ts';
import type { Ledger } from './lake/documents/ledger.ts';
import { markMonthsDirty, mayBeDue } from './lake/documents/month-index.ts';
import {
  type DayOutcome,
  type ErrorSummary,
  type ReportOutcome,
  errorSummary,
  reportStatus,
} from './outcome.ts';
import { type RunContext, todayIn } from './pipeline/context.ts';
import { type Range, resumeOrStart } from './pipeline/continuation.ts';
import { probeEndDate } from './pipeline/probe-end-date.ts';
import { publishPending, tableShape } from './pipeline/publish.ts';
import { type SyncedDay, syncDay } from './pipeline/sync-day.ts';
import { type UpstreamDay, upstreamState } from './planning/due.ts';
import { type Continuation, type DueDay, plan } from './planning/plan.ts';
import { policyFingerprint } from './planning/policy.ts';
import { isEndOfRun } from './service/retry.ts';

/** Circuit breaker: after so many consecutive failed days the other days wait for the next run. */
const MAX_CONSECUTIVE_FAILURES = 5;

/** How the report ended; the run adds the rest of its outcome. */
export type SyncedReport = Pick<ReportOutcome, 'brand' | 'report' | 'status' | 'days' | 'error'>;

/** @param range days to read again, whatever the policy says; missing: the days that are due */
export async function syncReport(ctx: RunContext, range: Range | undefined): Promise<SyncedReport> {
  const name = { brand: ctx.brand, report: ctx.report.name };
  let days: DayOutcome[] = [];
  try {
    await warnOfIgnoredColumnSettings(ctx);
    const continuation = await resumeOrStart(ctx, range);
    const ledgers = await ledgersToExamine(ctx, continuation);
    const shape = await tableShape(ctx);
    await ctx.lake.catalog?.ensureTable(shape);
    const unpublished = await publishPending(ctx, ledgers.values());

    const due = plan(ledgers, ctx.policy, ctx.clock.now().getTime(), {
      continuation,
      ...(await upstreamOf(ctx, continuation)),
    });
    ctx.log({ event: 'report_planned', dueDays: due.length });
    if (due.length > 0) await probeEndDate(ctx);
    await markInProgress(ctx, due);
    const synced = await syncDays(ctx, due, continuation);
    days = synced.days;
    if (synced.brokeOff) throw synced.brokeOff.thrown;
    const error = synced.error ?? (unpublished && errorSummary(unpublished));

    await finishReport(ctx, [...ledgers.keys()], shape.columns.length);
    return { ...name, status: reportStatus(days, error), days, ...(error && { error }) };
  } catch (thrown) {
    const error = rethrowBugs(thrown);
    if (isEndOfRun(error)) return { ...name, status: 'incomplete', days };
    ctx.log({ event: 'report_failed', ...errorSummary(error) });
    return { ...name, status: 'failed', days, error: errorSummary(error) };
  }
}

/** I7: the first commit of a column decides its type for good, so a setting that comes later has no effect. */
async function warnOfIgnoredColumnSettings({ schema, settings, log }: RunContext): Promise<void> {
  const { columns } = await schema.cached();
  for (const [name, type] of Object.entries(settings.columns)) {
    const existing = columns.find((column) => column.name === name)?.type;
    if (existing === undefined || existing === type) continue;
    const message = `the setting columns.${name} (${type}) has no effect: the column was first written as ${existing}, which stays`;
    log({ event: 'column_setting_ignored', message });
  }
}

/** Reads the ledgers of the months in which a day may be due. */
async function ledgersToExamine(ctx: RunContext, { range }: Continuation): Promise<Map<string, Ledger>> {
  const nowMs = ctx.clock.now().getTime();
  const { from, to } = range ?? { from: ctx.policy.startDate, to: todayIn(ctx) };
  const index = await ctx.index.cached();
  // A lookup is due when its upstream report changes, which its own index does not know. Once a day the index is
  // ignored altogether, so that a wrong hint, or a manual change of the catalog, is repaired.
  const all = range !== undefined || ctx.upstream !== undefined || vacuumIsDue(ctx, index);
  const fingerprint = policyFingerprint(ctx.policy);
  const months = monthsOf(from, to).filter((month) => all || mayBeDue(index, fingerprint, month, nowMs));
  return refreshed(months, ctx.ledger);
}

/** What is committed of the upstream report's days, by day; `undefined` for a report without an upstream. */
async function upstreamOf(
  { upstream, policy, clock }: RunContext,
  { range }: Continuation,
): Promise<{ upstream?: UpstreamDay }> {
  if (!upstream) return {};
  const first = earlier(range?.from ?? policy.startDate, policy.startDate);
  const ledgers = await refreshed(monthsOf(first, todayIn({ policy, clock })), upstream.ledger);
  return { upstream: (day) => upstreamState(ledgers.get(monthOf(day))?.days[day]) };
}

async function refreshed(
  months: readonly string[],
  ledgerOf: RunContext['ledger'],
): Promise<Map<string, Ledger>> {
  return new Map(
    await Promise.all(months.map(async (month) => [month, await ledgerOf(month).refresh()] as const)),
  );
}

function monthsOf(from: string, to: string): string[] {
  return [...new Set(daysFrom(from, to).map(monthOf))];
}

/** Marks months dirty: a run that dies would otherwise leave a claim in a month that no later run examines. */
async function markInProgress(ctx: RunContext, due: readonly DueDay[]): Promise<void> {
  if (due.length === 0) return;
  const months = [...new Set(due.map(({ day }) => monthOf(day)))];
  const mark = { by: ctx.runId, at: new Date(ctx.clock.wallMs()).toISOString() };
  await ctx.index.update((current) => markMonthsDirty(current, months, mark));
}

/** What became of the due days, in the plan's order. */
interface SyncedDays {
  days: DayOutcome[];
  /** The first failure of a day. */
  error?: ErrorSummary;
  /** What a day threw, a bug or a claim that could not be released: the outcome names the days read until then. */
  brokeOff?: { thrown: unknown };
}

/** Works through the due days in the plan's order, several at a time. */
async function syncDays(
  ctx: RunContext,
  due: readonly DueDay[],
  continuation: Continuation,
): Promise<SyncedDays> {
  const synced = new Map<string, SyncedDay>();
  const breaker = createCircuitBreaker();
  const brokeOff = await forEachConcurrent(due, ctx.daysInFlight, async (next) => {
    if (breaker.isOpen() || !ctx.time.tryStartDay()) return;
    const result = await syncDay(ctx, next, continuation);
    breaker.record(result);
    synced.set(next.day, result);
  }).then(
    () => undefined,
    (thrown: unknown) => ({ thrown }),
  );
  const pending = (day: string): DayOutcome => ({ dt: day, outcome: 'pending', rows: 0, pages: 0 });
  const days = due.map(({ day }) => synced.get(day)?.outcome ?? pending(day));
  const [first] = [...synced.values()].flatMap(({ error }) => error ?? []);
  return { days, ...(first && { error: errorSummary(first) }), ...(brokeOff && { brokeOff }) };
}

/** Whether to stop: otherwise an outage is multiplied by the number of days, and a wrong secret may lock the account. */
function createCircuitBreaker() {
  let failuresInRow = 0;
  let needsOperator = false;
  return {
    isOpen: () => needsOperator || failuresInRow >= MAX_CONSECUTIVE_FAILURES,
    record({ outcome: { outcome }, error }: { outcome: DayOutcome; error?: BrandReportsError }) {
      if (outcome === 'published' || outcome === 'unchanged') failuresInRow = 0;
      if (!error) return;
      failuresInRow += 1;
      needsOperator ||= error.kind === 'auth' || error.kind === 'config';
    },
  };
}

import { dayOf, daysFrom, earlier, monthOf } from './days.ts';
import { type BrandReportsError, rethrowBugs } from './errors.ts';
import type { CasDocument } from './lake/documents/cas-document.ts';
import type { Ledger } from './lake/documents/ledger.ts';
import { type MonthIndex, recordDueTimes, mayBeDue, markMonthsDirty } from './lake/documents/month-index.ts';
import {
  type DayOutcome,
  type ErrorSummary,
  type ReportOutcome,
  type Traffic,
  reportStatus,
  errorSummary,
} from './outcome.ts';
import { writeCoverage } from './catalog/coverage.ts';
import { probeEndDate } from './pipeline/probe-end-date.ts';
import { type UpstreamDay, monthDueAtMs, upstreamState } from './planning/due.ts';
import { type Continuation, type DueDay, plan } from './planning/plan.ts';
import { ensureTableAndViews } from './catalog/ensure-tables.ts';
import { policyFingerprint } from './planning/policy.ts';
import { type RunContext, outOfTime } from './pipeline/context.ts';
import { type Range, resumeOrStart } from './pipeline/continuation.ts';
import { forEachConcurrent } from './concurrency.ts';
import { vacuum } from './pipeline/vacuum.ts';
import { publishPending, tableShape } from './pipeline/publish.ts';
import { syncDay } from './pipeline/sync-day.ts';
import type { TableShape } from './ports.ts';

const SWEEP_EVERY_MS = 86_400_000;
/** After so many days in a row that failed, with none between them that did not, the rest is left to the next run. */
const HOPELESS_AFTER = 5;

/**
 * One report of one brand, from the plan to the sweep. Every due day is claimed, paged, staged, built, committed
 * and switched by itself (`pipeline/sync-day.ts`); one that fails stops no other.
 */
export async function syncReport(
  run: RunContext,
  index: CasDocument<MonthIndex>,
  range: Range | undefined,
): Promise<Omit<ReportOutcome, keyof Traffic | 'newestComplete'>> {
  const name = { brand: run.brand, report: run.report.name };
  const days: DayOutcome[] = [];
  try {
    await warnOfSettledTypes(run);
    const continuation = await resumeOrStart(run, index, range);
    const months = await monthsToLookAt(run, index, continuation);
    const shape = await tableShape(run);
    await run.lake.catalog?.ensureTable(shape);
    const stillOwed = await publishPending(run, months.values());

    const due = plan(months, run.policy, run.clock.now().getTime(), await planOptions(run, continuation));
    run.log({ event: 'report_planned', dueDays: due.length });
    if (due.length > 0) await probeEndDate(run, index);
    await touch(run, index, due);
    const failed = await syncDays(run, due, continuation, days);
    const error = failed ?? (stillOwed && errorSummary(stillOwed));
    await leave(run, index, [...months.keys()], shape);
    const status = reportStatus(days, error);
    return { ...name, status, days: byPlan(days, due), ...(error && { error }) };
  } catch (thrown) {
    const error = rethrowBugs(thrown);
    if (error.code === 'stopped') return { ...name, status: 'incomplete', days };
    run.log({ event: 'report_failed', ...errorSummary(error) });
    return { ...name, status: 'failed', days, error: errorSummary(error) };
  }
}

/** The first commit of a column decides its type for good: a setting that comes later is said to be without effect. */
async function warnOfSettledTypes({ schema, settings, log }: RunContext): Promise<void> {
  const { columns } = await schema.cached();
  for (const [name, type] of Object.entries(settings.columns)) {
    const settled = columns.find((column) => column.name === name)?.type;
    if (settled === undefined || settled === type) continue;
    const message = `the setting columns.${name} (${type}) has no effect: the column was first written as ${settled}, which stays`;
    log({ event: 'column_setting_ignored', message });
  }
}

/** The ledgers of the months in which a day may be due, read anew. */
async function monthsToLookAt(
  run: RunContext,
  index: CasDocument<MonthIndex>,
  continuation: Continuation,
): Promise<Map<string, Ledger>> {
  const nowMs = run.clock.now().getTime();
  const today = dayOf(nowMs, run.policy.timeZone);
  const { from, to } = continuation.range ?? { from: run.policy.startDate, to: today };
  const hints = await index.cached();
  // A report about another report's records is due when those change, which its own index does not know.
  // Once a day nothing is taken for granted: a wrong pointer, or a hint that is, is met then.
  const all = continuation.range !== undefined || run.upstream !== undefined || sweepIsDue(run, hints);
  const months = [...new Set(daysFrom(from, to).map(monthOf))].filter(
    (month) => all || mayBeDue(hints, policyFingerprint(run.policy), month, nowMs),
  );
  const ledgers = months.map(async (month) => [month, await run.ledger(month).refresh()] as const);
  return new Map(await Promise.all(ledgers));
}

async function planOptions(run: RunContext, continuation: Continuation) {
  const { upstream, policy, clock } = run;
  if (!upstream) return { continuation };
  const today = dayOf(clock.now().getTime(), policy.timeZone);
  const { from } = continuation.range ?? { from: policy.startDate };
  const first = earlier(from, policy.startDate);
  const months = [...new Set(daysFrom(first, today).map(monthOf))];
  const ledgers = new Map(
    await Promise.all(months.map(async (month) => [month, await upstream.ledger(month).refresh()] as const)),
  );
  const upstreamDay: UpstreamDay = (day) => upstreamState(ledgers.get(monthOf(day))?.days[day]);
  return { continuation, upstream: upstreamDay };
}

/** Works through the due days, several at a time. @returns the first failure */
async function syncDays(
  run: RunContext,
  due: readonly DueDay[],
  continuation: Continuation,
  outcomes: DayOutcome[],
): Promise<ErrorSummary | undefined> {
  let first: ErrorSummary | undefined;
  let hopeless = false;
  let failuresInRow = 0;
  const record = ({ outcome, error }: { outcome: DayOutcome; error?: BrandReportsError }) => {
    outcomes.push(outcome);
    if (outcome.outcome === 'published' || outcome.outcome === 'unchanged') failuresInRow = 0;
    if (!error) return;
    first ??= errorSummary(error);
    failuresInRow += 1;
    hopeless ||= failuresInRow >= HOPELESS_AFTER || error.kind === 'auth' || error.kind === 'config';
  };
  await forEachConcurrent(due, run.daysInFlight, async (next) => {
    if (hopeless || (outOfTime(run) && run.units.begun > 0)) {
      outcomes.push({ dt: next.day, outcome: 'pending', rows: 0, pages: 0 });
      return;
    }
    run.units.begun += 1;
    record(await syncDay(run, next, continuation));
  });
  return first;
}

/** Marks the months as worked in before anything there is claimed: a run that dies leaves them to be looked at. */
async function touch(run: RunContext, index: CasDocument<MonthIndex>, due: readonly DueDay[]): Promise<void> {
  if (due.length === 0) return;
  const months = [...new Set(due.map(({ day }) => monthOf(day)))];
  const mark = { by: run.runId, at: new Date(run.clock.wallMs()).toISOString() };
  await index.update((current) => markMonthsDirty(current, months, mark));
}

/** Leaves the lake in order: when each month is next due, what nothing names swept, coverage as the ledgers say. */
async function leave(
  run: RunContext,
  index: CasDocument<MonthIndex>,
  months: readonly string[],
  shape: TableShape,
): Promise<void> {
  const nowMs = run.clock.now().getTime();
  const wallMs = run.clock.wallMs();
  const before = await index.cached();
  const proven = before.hasReturnedRecords || (await hasRecords(run, months));
  const swept = sweepIsDue(run, before) && !outOfTime(run);
  if (swept) await vacuum(run);
  // New columns may be what a view waits for; once a day a death before, or a hand in the catalog, is mended.
  const grown = (await run.schema.cached()).columns.length > shape.columns.length;
  if (grown || swept) await ensureTableAndViews(run);
  const everything = proven && !before.hasReturnedRecords ? monthsSince(run, nowMs) : [];
  await writeCoverage(run, [...new Set([...months, ...everything])], proven);
  // Last of all: a run that dies before has its months looked at, and covered, by the next one.
  const fingerprint = policyFingerprint(run.policy);
  const due = new Map<string, number | null>();
  for (const month of months) {
    const ledger = await run.ledger(month).refresh();
    due.set(month, isOwed(run, ledger) ? nowMs : monthDueAtMs(month, ledger, run.policy, nowMs));
  }
  await index.update((current) => {
    const left = recordDueTimes(current, due, fingerprint, { id: run.runId, wallMs, nowMs });
    const next = swept ? { ...left, vacuumedAt: new Date(wallMs).toISOString() } : left;
    return next.hasReturnedRecords === proven ? next : { ...next, hasReturnedRecords: proven };
  });
}

/** Whether a committed day is not known to be switched. */
function isOwed({ lake }: RunContext, { days }: Ledger): boolean {
  return (
    lake.catalog !== undefined && Object.values(days).some(({ committed }) => committed?.published === false)
  );
}

function sweepIsDue({ clock }: RunContext, { vacuumedAt }: MonthIndex): boolean {
  return vacuumedAt === undefined || clock.wallMs() - Date.parse(vacuumedAt) >= SWEEP_EVERY_MS;
}

async function hasRecords(run: RunContext, months: readonly string[]): Promise<boolean> {
  const ledgers = await Promise.all(months.map((month) => run.ledger(month).cached()));
  return ledgers.some(({ days }) => Object.values(days).some(({ committed }) => (committed?.rows ?? 0) > 0));
}

function monthsSince({ policy }: RunContext, nowMs: number): string[] {
  return daysFrom(policy.startDate, dayOf(nowMs, policy.timeZone)).map(monthOf);
}

function byPlan(days: readonly DayOutcome[], due: readonly DueDay[]): DayOutcome[] {
  const place = new Map(due.map(({ day }, index) => [day, index]));
  return days.toSorted((a, b) => (place.get(a.dt) ?? 0) - (place.get(b.dt) ?? 0));
}

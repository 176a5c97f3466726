import { dayOf, daysFrom, earlier, monthOf } from './days.ts';
import { type BrandReportsError, expected } from './errors.ts';
import type { Document } from './lake/documents/cas-document.ts';
import type { Ledger } from './lake/documents/ledger.ts';
import { type MonthIndex, leaveMonths, mayBeDue, touchMonths } from './lake/documents/month-index.ts';
import {
  type DayOutcome,
  type ErrorSummary,
  type ReportOutcome,
  type Traffic,
  statusOf,
  summary,
} from './outcome.ts';
import { coverMonths } from './catalog/coverage.ts';
import { measureEndDate } from './pipeline/probe-end-date.ts';
import { type DayRequest, type DueDay, type Sources, monthDueAtMs, plan } from './planning/plan.ts';
import { prepare } from './catalog/ensure-tables.ts';
import { policyFingerprint } from './planning/policy.ts';
import { type ReportRun, outOfTime } from './pipeline/context.ts';
import { type Range, openRequest } from './pipeline/continuation.ts';
import { sideBySide } from './concurrency.ts';
import { sweep } from './pipeline/vacuum.ts';
import { switchOwed, tableShape } from './pipeline/publish.ts';
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
  run: ReportRun,
  index: Document<MonthIndex>,
  range: Range | undefined,
): Promise<Omit<ReportOutcome, keyof Traffic | 'newestComplete'>> {
  const name = { brand: run.brand, report: run.report.name };
  const days: DayOutcome[] = [];
  try {
    await warnOfSettledTypes(run);
    const request = await openRequest(run, index, range);
    const months = await monthsToLookAt(run, index, request);
    const shape = await tableShape(run);
    await run.lake.catalog?.ensureTable(shape);
    const stillOwed = await switchOwed(run, months.values());

    const due = plan(months, run.policy, run.clock.now().getTime(), await planOptions(run, request));
    run.log({ level: 'info', event: 'report_planned', ...name, due: due.length });
    if (due.length > 0) await measureEndDate(run, index);
    await touch(run, index, due);
    const failed = await syncDays(run, due, request, days);
    const error = failed ?? (stillOwed && summary(stillOwed));
    await leave(run, index, [...months.keys()], shape);
    const status = statusOf(days, error);
    return { ...name, status, days: byPlan(days, due), ...(error && { error }) };
  } catch (thrown) {
    const error = expected(thrown);
    if (error.code === 'stopped') return { ...name, status: 'incomplete', days };
    run.log({
      level: 'error',
      event: 'report_failed',
      ...name,
      kind: error.kind,
      code: error.code,
      message: error.message,
    });
    return { ...name, status: 'failed', days, error: summary(error) };
  }
}

/** The first commit of a column decides its type for good: a setting that comes later is said to be without effect. */
async function warnOfSettledTypes({ schema, settings, log, brand, report }: ReportRun): Promise<void> {
  const { columns } = await schema.known();
  for (const [name, type] of Object.entries(settings.columns)) {
    const settled = columns.find((column) => column.name === name)?.type;
    if (settled === undefined || settled === type) continue;
    const message = `the setting columns.${name} (${type}) has no effect: the column was first written as ${settled}, which stays`;
    log({ level: 'warn', event: 'column_type_kept', brand, report: report.name, message });
  }
}

/** The ledgers of the months in which a day may be due, read anew. */
async function monthsToLookAt(
  run: ReportRun,
  index: Document<MonthIndex>,
  request: DayRequest,
): Promise<Map<string, Ledger>> {
  const nowMs = run.clock.now().getTime();
  const today = dayOf(nowMs, run.policy.timeZone);
  const { from, to } = request.range ?? { from: run.policy.startDate, to: today };
  const hints = await index.known();
  // A report about another report's records is due when those change, which its own index does not know.
  // Once a day nothing is taken for granted: a wrong pointer, or a hint that is, is met then.
  const all = request.range !== undefined || run.parent !== undefined || sweepIsDue(run, hints);
  const months = [...new Set(daysFrom(from, to).map(monthOf))].filter(
    (month) => all || mayBeDue(hints, policyFingerprint(run.policy), month, nowMs),
  );
  const ledgers = months.map(async (month) => [month, await run.ledger(month).fresh()] as const);
  return new Map(await Promise.all(ledgers));
}

async function planOptions(run: ReportRun, request: DayRequest) {
  const { parent, policy, clock } = run;
  if (!parent) return { request };
  const today = dayOf(clock.now().getTime(), policy.timeZone);
  const { from } = request.range ?? { from: policy.startDate };
  const first = earlier(from, policy.startDate);
  const months = [...new Set(daysFrom(first, today).map(monthOf))];
  const ledgers = new Map(
    await Promise.all(months.map(async (month) => [month, await parent.ledger(month).fresh()] as const)),
  );
  const sources: Sources = (day) => {
    const published = ledgers.get(monthOf(day))?.days[day]?.published;
    return published && { digest: published.digest, closed: published.state === 'closed' };
  };
  return { request, sources };
}

/** Works through the due days, several at a time. @returns the first failure */
async function syncDays(
  run: ReportRun,
  due: readonly DueDay[],
  request: DayRequest,
  outcomes: DayOutcome[],
): Promise<ErrorSummary | undefined> {
  let first: ErrorSummary | undefined;
  let hopeless = false;
  let failuresInRow = 0;
  const record = ({ outcome, error }: { outcome: DayOutcome; error?: BrandReportsError }) => {
    outcomes.push(outcome);
    if (outcome.outcome === 'published' || outcome.outcome === 'unchanged') failuresInRow = 0;
    if (!error) return;
    first ??= summary(error);
    failuresInRow += 1;
    hopeless ||= failuresInRow >= HOPELESS_AFTER || error.kind === 'auth' || error.kind === 'config';
  };
  await sideBySide(due, run.pagesInFlight, async (next) => {
    if (hopeless || (outOfTime(run) && run.units.begun > 0)) {
      outcomes.push({ dt: next.day, outcome: 'pending', rows: 0, pages: 0 });
      return;
    }
    run.units.begun += 1;
    record(await syncDay(run, next, request));
  });
  return first;
}

/** Marks the months as worked in before anything there is claimed: a run that dies leaves them to be looked at. */
async function touch(run: ReportRun, index: Document<MonthIndex>, due: readonly DueDay[]): Promise<void> {
  if (due.length === 0) return;
  const months = [...new Set(due.map(({ day }) => monthOf(day)))];
  const mark = { by: run.run, at: new Date(run.clock.wallMs()).toISOString() };
  await index.update((current) => touchMonths(current, months, mark));
}

/** Leaves the lake in order: when each month is next due, what nothing names swept, coverage as the ledgers say. */
async function leave(
  run: ReportRun,
  index: Document<MonthIndex>,
  months: readonly string[],
  shape: TableShape,
): Promise<void> {
  const nowMs = run.clock.now().getTime();
  const wallMs = run.clock.wallMs();
  const before = await index.known();
  const proven = before.proven || (await hasRecords(run, months));
  const swept = sweepIsDue(run, before) && !outOfTime(run);
  if (swept) await sweep(run);
  // New columns may be what a view waits for; once a day a death before, or a hand in the catalog, is mended.
  const grown = (await run.schema.known()).columns.length > shape.columns.length;
  if (grown || swept) await prepare(run);
  const everything = proven && !before.proven ? monthsSince(run, nowMs) : [];
  await coverMonths(run, [...new Set([...months, ...everything])], proven);
  // Last of all: a run that dies before has its months looked at, and covered, by the next one.
  const fingerprint = policyFingerprint(run.policy);
  const due = new Map<string, number | null>();
  for (const month of months) {
    const ledger = await run.ledger(month).fresh();
    due.set(month, isOwed(run, ledger) ? nowMs : monthDueAtMs(month, ledger, run.policy, nowMs));
  }
  await index.update((current) => {
    const left = leaveMonths(current, due, fingerprint, { id: run.run, wallMs, nowMs });
    const next = swept ? { ...left, sweptAt: new Date(wallMs).toISOString() } : left;
    return next.proven === proven ? next : { ...next, proven };
  });
}

/** Whether a committed day is not known to be switched. */
function isOwed({ lake }: ReportRun, { days }: Ledger): boolean {
  return (
    lake.catalog !== undefined && Object.values(days).some(({ published }) => published?.switched === false)
  );
}

function sweepIsDue({ clock }: ReportRun, { sweptAt }: MonthIndex): boolean {
  return sweptAt === undefined || clock.wallMs() - Date.parse(sweptAt) >= SWEEP_EVERY_MS;
}

async function hasRecords(run: ReportRun, months: readonly string[]): Promise<boolean> {
  const ledgers = await Promise.all(months.map((month) => run.ledger(month).known()));
  return ledgers.some(({ days }) => Object.values(days).some(({ published }) => (published?.rows ?? 0) > 0));
}

function monthsSince({ policy }: ReportRun, nowMs: number): string[] {
  return daysFrom(policy.startDate, dayOf(nowMs, policy.timeZone)).map(monthOf);
}

function byPlan(days: readonly DayOutcome[], due: readonly DueDay[]): DayOutcome[] {
  const place = new Map(due.map(({ day }, index) => [day, index]));
  return days.toSorted((a, b) => (place.get(a.dt) ?? 0) - (place.get(b.dt) ?? 0));
}

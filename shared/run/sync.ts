/*
 * Syncs the reports of one brand in one run. The due days of all reports form one queue, and each worker takes the first
 * day that it may read:
 * - first the open day and yesterday of every report, then the other days, and last the days that failed before
 * - among equal days the reports take turns, so that a short run reads some days of each report and no backlog starves
 *   the others
 * - a day of lookups waits for its own upstream day, and is planned again as soon as the upstream day is committed
 *
 * A failed day stops no other day, until five days in a row fail or a failure needs an operator. A bug ends its report:
 * the day is recorded as failed, and other reports and brands go on.
 */
import { fetchFirstPage } from '../day/fetch.ts';
import { addDays, dayOf } from '../base/days.ts';
import {
  type BrandReportsError,
  asBrandReportsError,
  redactedFailure,
  rethrowBugs,
  stackOf,
} from '../base/errors.ts';
import { writeCoverage } from '../catalog/coverage.ts';
import { type Ending, announceReport, examineReport, recordFailedRun, vacuumReport } from './finish.ts';
import type { IcebergCommits } from './iceberg-commits.ts';
import {
  type DayOutcome,
  type ReportOutcome,
  type Traffic,
  errorSummary,
  reportStatus,
  wasRead,
} from '../base/outcome.ts';
import type { RunContext } from '../context/context.ts';
import type { Range } from './continuation.ts';
import { movedSince } from '../history/index.ts';
import { type SyncedDay, syncDay } from '../day/sync-day.ts';
import { type ReportPlan, planDay, planReport } from './plan-report.ts';
import { dayQueries, windowToRead } from '../planning/day-queries.ts';
import { type DueDay, byOrder, isUrgent, readAgain } from '../planning/plan.ts';
import { clocksText } from '../service/client.ts';
import { CLOCKS_DIFFER, concernsNoDay, isEndOfRun } from '../service/retry.ts';
import { LARGE_SKEW_MS } from '../service/server-clock.ts';

/** Circuit breaker: after this many consecutive failed days the other days wait for the next run. */
const MAX_CONSECUTIVE_FAILURES = 5;

export interface ReportToSync {
  ctx: RunContext;
  /** Days to read again, regardless of the policy; `undefined` for the days that are due. */
  range: () => Range | undefined;
  traffic: () => Traffic;
}

export interface SyncedReport {
  ctx: RunContext;
  outcome: ReportOutcome;
}

interface ReportSync extends ReportToSync {
  upstream: ReportSync | undefined;
  lookups: ReportSync[];
  plan?: ReportPlan;
  /** The days that no worker has taken, in the order in which they are read. */
  left: Map<string, DueDay>;
  inFlight: Set<string>;
  taken: number;
  days: Map<string, DayOutcome>;
  breaker: ReturnType<typeof createCircuitBreaker>;
  failedDay?: BrandReportsError;
  brokeOff?: { thrown: unknown };
  /** How the report ended, if nothing fails from now on. */
  outcome?: ReportOutcome;
  ending?: Ending;
}

export async function syncReports(
  reports: readonly ReportToSync[],
  iceberg: IcebergCommits,
): Promise<SyncedReport[]> {
  const syncs = reports.map(beginSync);
  for (const sync of syncs) {
    sync.upstream = syncs.find(({ ctx }) => ctx.report.name === sync.ctx.upstream?.report.name);
    sync.upstream?.lookups.push(sync);
  }
  let learned: Promise<void> | undefined;
  const learnTime = () => {
    learned ??= learnServiceTime(reports.map(({ ctx }) => ctx));
    return learned;
  };
  const upstreamFirst = syncs.toSorted((a, b) => Number(!!a.upstream) - Number(!!b.upstream));
  for (const sync of upstreamFirst) await guarded(sync, () => planSync(sync, learnTime));
  // At once, because the changes of all reports are then one write.
  await Promise.all(
    syncs.map((sync) => guarded(sync, async () => sync.plan && sync.ctx.reportState.update(sync.plan.begin))),
  );
  const isClock = ({ brokeOff }: ReportSync) =>
    brokeOff && asBrandReportsError(brokeOff.thrown).code === CLOCKS_DIFFER;
  // A report without due days asks for no time, and would date its end by a wrong clock.
  const brokeOff = syncs.find(isClock)?.brokeOff;
  if (brokeOff) for (const sync of syncs) sync.brokeOff ??= brokeOff;
  await readDays(syncs);

  for (const sync of syncs) await guarded(sync, () => examineSync(sync));
  const end = (sync: ReportSync, step: (ending: Ending) => Promise<unknown>) =>
    guarded(sync, async () => sync.ending && step(sync.ending));
  // At once, because the rows of all reports in `coverage` are then one write.
  await Promise.all(
    syncs.map((sync) =>
      end(sync, (ending) => writeCoverage(ending.of, ending.months, ending.hasReturnedRecords)),
    ),
  );
  const covered = syncs.flatMap(({ ending, brokeOff }) => (ending?.of.iceberg && !brokeOff ? [ending] : []));
  if (covered.length > 0) await iceberg.commit(covered);
  for (const sync of syncs) {
    if (iceberg.failures.has(sync.ctx)) sync.brokeOff ??= { thrown: iceberg.failures.get(sync.ctx) };
    await end(sync, announceReport);
  }
  await Promise.all(
    syncs.map((sync) => end(sync, async ({ of, record }) => record && of.reportState.update(record))),
  );
  for (const sync of syncs) await end(sync, vacuumReport);
  return Promise.all(syncs.map(endSync));
}

/**
 * Sends one request, so that the run has the service's time before it plans a day or writes any time: a machine that is
 * ahead would close a day too early. Even a refusal shows the time; without a `Date` in it, the machine's clock counts.
 * @param reports of one brand. If the service refuses the request for the report that is read last, the refusal may concern
 * this report alone. A second refusal ends the run, so the second request is for another report
 * @throws BrandReportsError `config` `clocks_differ`; the failure of the request if no response arrived
 */
async function learnServiceTime(reports: readonly RunContext[]): Promise<void> {
  const paged = reports.filter(({ upstream }) => !upstream);
  const [ctx = reports.at(-1), other] = [...new Set([paged.at(-1), paged[0]])];
  if (!ctx) return;
  const { brand, clock, log } = ctx;
  let failure = await requestFirstPage(ctx).then(() => undefined, rethrowBugs);
  if (other && failure?.kind === 'auth')
    failure = await requestFirstPage(other).then(() => undefined, rethrowBugs);
  const { clockSkewMs } = ctx.service;
  const isUnanswered = failure && failure.kind !== 'contract' && failure.context.status === undefined;
  if (failure && (concernsNoDay(failure) || (isUnanswered && clockSkewMs === undefined))) throw failure;
  // The requests of the days fail or succeed by themselves.
  const why = failure?.code ?? `no response of ${brand} has a Date header`;
  if (clockSkewMs === undefined) log({ event: 'service_time_unknown', message: why });
  else if (Math.abs(clockSkewMs) > LARGE_SKEW_MS)
    log({ event: 'clocks_differ', message: clocksText(brand, clock.wallMs(), clockSkewMs) });
}

/** The first page of yesterday, which services refuse less often than the present day. */
async function requestFirstPage(ctx: RunContext): Promise<void> {
  const { brandSettings, clock, policy, upstream } = ctx;
  const report = upstream?.report ?? ctx.report;
  const settings = brandSettings.reports[report.name] ?? ctx.settings;
  const nowMs = clock.now().getTime();
  const day = addDays(dayOf(nowMs, policy.timeZone), -1);
  const window = windowToRead(brandSettings, day, nowMs, undefined);
  const [query] = dayQueries(report, brandSettings, settings, day, window);
  const service = ctx.service.inOrder({ urgent: true, report: report.name, rank: 0, asksTime: true });
  if (query) await fetchFirstPage({ ...ctx, report, settings, service }, query.fields);
}

async function guarded(sync: ReportSync, act: () => Promise<unknown>): Promise<void> {
  if (sync.brokeOff) return;
  try {
    await act();
  } catch (thrown) {
    sync.brokeOff ??= { thrown };
  }
}

function beginSync(report: ReportToSync): ReportSync {
  const days = { left: new Map(), inFlight: new Set<string>(), taken: 0, days: new Map() };
  return { ...report, ...days, upstream: undefined, lookups: [], breaker: createCircuitBreaker() };
}

async function readDays(syncs: readonly ReportSync[]): Promise<void> {
  const [first] = syncs;
  if (!first) return;
  const { daysInFlight, mostDays } = first.ctx;
  let change = Promise.withResolvers<void>();
  /** A waiting lookup may become readable when a day ends, so a worker gives up only if no day is in flight. */
  const next = async () => {
    for (;;) {
      const reading = syncs.reduce((sum, { inFlight }) => sum + inFlight.size, 0);
      const day = reading < mostDays ? takeNext(syncs) : undefined;
      if (day || reading === 0) return day;
      await change.promise;
    }
  };
  // While one day is built, the next day is fetched: building sends no request, and the service takes most of the time.
  const worker = async () => {
    let built = Promise.resolve();
    for (let day = await next(); day; day = await next()) {
      const fetched = Promise.withResolvers<void>();
      const ended = readDay(day, fetched.resolve).finally(() => {
        change.resolve();
        change = Promise.withResolvers();
      });
      await Promise.all([fetched.promise, built]);
      built = ended;
    }
    await built;
  };
  const breakOff = (thrown: unknown) => {
    for (const sync of syncs) sync.brokeOff ??= { thrown };
  };
  const again = new Set<string>();
  do await Promise.all(Array.from({ length: daysInFlight }, () => worker().catch(breakOff)));
  while (await planMoved(syncs, again));
}

async function planSync(sync: ReportSync, learnTime: () => Promise<void>): Promise<void> {
  const { ctx, days } = sync;
  const plan = await planReport(ctx, sync.range, [...(sync.upstream?.left.keys() ?? [])], learnTime);
  sync.plan = plan;
  sync.left = new Map(plan.due.map((due) => [due.day, due]));
  for (const day of sync.left.keys()) days.set(day, notRead(day, 'pending'));
  for (const day of plan.waiting) if (!days.has(day)) days.set(day, notRead(day, 'waiting'));
}

/** @param again the days that this run has read once more. @returns whether there are more of them */
async function planMoved(syncs: readonly ReportSync[], again: Set<string>): Promise<boolean> {
  const before = again.size;
  for (const sync of syncs)
    await guarded(sync, async () => {
      const { ctx, plan, days, left } = sync;
      const read = new Set([...days].flatMap(([day, outcome]) => (wasRead(outcome) ? [day] : [])));
      if (!plan || read.size === 0) return;
      for (const day of await movedSince(ctx, plan.months, read)) {
        const id = `${ctx.report.name} ${day}`;
        if (again.has(id) || left.has(day)) continue;
        again.add(id);
        left.set(day, readAgain(day));
        days.set(day, notRead(day, 'pending'));
      }
    });
  return again.size > before;
}

function notRead(dt: string, outcome: 'pending' | 'waiting'): DayOutcome {
  return { dt, outcome, rows: 0, pages: 0 };
}

async function replanDay(sync: ReportSync, day: string): Promise<void> {
  const { ctx, plan, days, inFlight } = sync;
  if (!plan || inFlight.has(day)) return;
  const due = await planDay(ctx, plan, day);
  // Meanwhile the day may have been planned or taken.
  const { left } = sync;
  if (!due && left.delete(day)) days.delete(day);
  if (!due || left.has(day) || inFlight.has(day)) return;
  sync.left = new Map([...left.values(), due].sort(byOrder).map((each) => [each.day, each]));
  days.set(day, notRead(day, 'pending'));
}

interface NextDay {
  sync: ReportSync;
  plan: ReportPlan;
  due: DueDay;
}

/** A lookup waits for its upstream day, because it would otherwise look up records that are about to change. */
function firstDayOf(sync: ReportSync): NextDay[] {
  const { plan, upstream, left } = sync;
  const isAwaited = (day: string) => upstream && (upstream.inFlight.has(day) || mayRead(upstream, day));
  const due = left.values().find(({ day }) => mayRead(sync, day) && !isAwaited(day));
  return plan && due ? [{ sync, plan, due }] : [];
}

function mayRead({ left, brokeOff, breaker }: ReportSync, day: string): boolean {
  const due = left.get(day);
  return due !== undefined && !brokeOff && !breaker.isOpen(due);
}

/**
 * The first by `order`. On a tie, the report with the fewest days in flight, then with the fewest days taken, then the
 * one read longest ago. So runs with time for one day read another report each time.
 */
function takeNext(syncs: readonly ReportSync[]): NextDay | undefined {
  const [next] = syncs
    .flatMap(firstDayOf)
    .sort(
      (a, b) =>
        a.due.order[0] - b.due.order[0] ||
        a.sync.inFlight.size - b.sync.inFlight.size ||
        a.sync.taken - b.sync.taken ||
        a.plan.lastReadMs - b.plan.lastReadMs,
    );
  if (!next?.sync.ctx.time.tryStartDay()) return undefined;
  const { sync, due } = next;
  sync.left.delete(due.day);
  sync.inFlight.add(due.day);
  sync.taken += 1;
  return next;
}

/** @param onFetched called when the day needs no further page, and in any case at its end */
async function readDay({ sync, plan, due }: NextDay, onFetched: () => void): Promise<void> {
  const { report, service } = sync.ctx;
  const turn = { urgent: isUrgent(due), report: report.name, rank: sync.taken };
  try {
    // A day without clicks needs no lookup.
    const hasReturned = () => service.hasAnsweredTo(report.action) && [...sync.days.values()].some(wasRead);
    const ctx = { ...sync.ctx, hasReturned, service: service.inOrder(turn) };
    const { id, range } = plan.continuation;
    const isRequested = range !== undefined && range.from <= due.day && due.day <= range.to;
    const continuation = isRequested ? plan.continuation : { id };
    const { outcome, error, endsReport }: SyncedDay = await syncDay(ctx, due, continuation, onFetched);
    if (endsReport) sync.left.clear();
    sync.breaker.record(due, outcome, error);
    sync.days.set(due.day, outcome);
    if (error && (!sync.failedDay || error.kind === 'bug')) sync.failedDay = error;
    if (wasRead(outcome))
      for (const lookups of sync.lookups) await guarded(lookups, () => replanDay(lookups, due.day));
  } catch (thrown) {
    sync.brokeOff ??= { thrown };
  } finally {
    sync.inFlight.delete(due.day);
    onFetched();
  }
}

async function examineSync(sync: ReportSync): Promise<void> {
  const { ctx, plan, failedDay, days } = sync;
  if (!plan) return;
  const failure = failedDay ?? plan.error;
  const error = failure && errorSummary(failure);
  sync.outcome = outcomeOf(sync, reportStatus([...days.values()], error), error);
  const published = [...days.values()]
    .filter(({ outcome }) => outcome === 'published' || outcome === 'kept')
    .map(({ dt }) => dt);
  sync.ending = await examineReport(ctx, plan, published, sync.range() ? undefined : sync.outcome);
}

function outcomeOf(
  { ctx, days, traffic }: ReportSync,
  status: ReportOutcome['status'],
  error?: ReportOutcome['error'],
): ReportOutcome {
  const of = { brand: ctx.brand, report: ctx.report.name, status, days: [...days.values()], ...traffic() };
  return { ...of, ...(error && { error }) };
}

async function endSync(sync: ReportSync): Promise<SyncedReport> {
  const { ctx, outcome, brokeOff } = sync;
  if (outcome && !brokeOff) return { ctx, outcome };
  const error = redactedFailure(brokeOff?.thrown, ctx.service);
  // Nothing has failed, and the run that holds the lease records its end.
  if (error.code === 'brand_busy') return { ctx, outcome: outcomeOf(sync, 'busy', errorSummary(error)) };
  if (isEndOfRun(error)) return { ctx, outcome: outcomeOf(sync, 'incomplete') };
  const ended = outcomeOf(sync, reportStatus([], error), errorSummary(error));
  // The time of the record would be wrong.
  if (!sync.range() && error.code !== CLOCKS_DIFFER) await recordFailedRun(ctx, ended);
  ctx.log({ event: 'report_failed', ...errorSummary(error), ...stackOf(error) });
  return { ctx, outcome: ended };
}

/**
 * Decides whether to stop. Without it, an outage would be repeated for every day, and a wrong secret might lock the
 * account. Refused days stop only days that are due for the same reason: a history that the service does not keep must
 * not prevent restated days from being read.
 */
function createCircuitBreaker() {
  let unavailable = 0;
  const failures = new Map<DueDay['reason'], number>();
  let needsOperator = false;
  return {
    isOpen: ({ reason }: DueDay) =>
      needsOperator || Math.max(unavailable, failures.get(reason) ?? 0) >= MAX_CONSECUTIVE_FAILURES,
    record({ reason }: DueDay, { outcome }: DayOutcome, error: BrandReportsError | undefined) {
      const isRead = wasRead({ outcome });
      if (isRead || (error && error.kind !== 'transient')) unavailable = 0;
      if (isRead) failures.delete(reason);
      if (!error) return;
      if (error.kind === 'transient') unavailable += 1;
      failures.set(reason, (failures.get(reason) ?? 0) + 1);
      needsOperator ||= ['auth', 'config', 'bug'].includes(error.kind);
    },
  };
}

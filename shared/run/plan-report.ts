/*
 * Prepares a report for its first day. If the report state shows no month in which a day may be due, the run reads
 * nothing but the state. A month whose ledger is damaged or lost is left out, because reading its days would overwrite
 * its contents; the other months go on.
 */
import { monthOf, monthsFrom } from '../base/days.ts';
import { type BrandReportsError, configError } from '../base/errors.ts';
import { readOrDamage } from '../lake/cas-document.ts';
import type { Ledger } from '../lake/ledger.ts';
import { type ReportState, mayBeDue, withoutHints } from '../lake/report-state.ts';
import { sizeOfSchema } from '../lake/schema.ts';
import { errorSummary } from '../base/outcome.ts';
import { type RunContext, todayIn, isDailyWorkDue } from '../context/context.ts';
import { type Range, resumeOrStart } from './continuation.ts';
import { probeEndDate } from '../day/probe-end-date.ts';
import { ensureDayTables, pendingPublications, publishDays } from '../day/publish.ts';
import { type UpstreamDay, upstreamState } from '../planning/due.ts';
import { type Continuation, type DueDay, lastReadMs, plan, waitingDays } from '../planning/plan.ts';
import { policyFingerprint } from '../planning/policy.ts';

export interface ReportPlan {
  continuation: Continuation;
  /** In the order in which they are read. */
  due: DueDay[];
  waiting: string[];
  /** The months examined, `YYYY-MM`. */
  months: readonly string[];
  examinedAll: boolean;
  lastReadMs: number;
  /** Removes the due times of months, before a day of them is claimed. */
  begin: (state: ReportState) => ReportState;
  /** `sizeOfSchema`; missing if there was nothing to read or to publish. */
  size: number | undefined;
  /** The first failure that concerns no due day: of a damaged month, or of a publication. */
  error: BrandReportsError | undefined;
}

/**
 * Plans a report. If a day may be due, the run needs the service's time before it reads a ledger, whose times it judges.
 * A run without such a day sends no request: a machine that is ahead finds more due days, and what earlier runs have
 * recorded makes a machine that is behind examine months too.
 * @param rangeOf returns the days to read again, regardless of the policy; `undefined` for the days that are due
 * @param upstreamDue the days of the upstream report that this run reads: each of them may make a day due (`planDay`)
 */
export async function planReport(
  ctx: RunContext,
  rangeOf: () => Range | undefined,
  upstreamDue: readonly string[],
  learnTime: () => Promise<void>,
): Promise<ReportPlan> {
  const looked = new Set(upstreamDue.map(monthOf));
  const hints = await monthsToExamine(ctx, undefined, looked);
  if (rangeOf() || hints.isDaily || hints.months.length > 0) await learnTime();
  const range = rangeOf();
  if (range) assertBegun(ctx, range);
  const { months: toExamine, isDaily } = await monthsToExamine(ctx, range, looked);
  const { ledgers, damagedMonths, error: damaged } = await refreshed(ctx, toExamine, ctx.ledger);
  const ofUpstream = ctx.upstream && (await refreshed(ctx, toExamine, ctx.upstream.ledger));
  const upstream: UpstreamDay | undefined =
    ofUpstream && ((day) => upstreamState(ofUpstream.ledgers.get(monthOf(day))?.days[day]));
  const nowMs = ctx.clock.now().getTime();
  const continuation = await resumeOrStart(ctx, range);
  const due = plan(ledgers, ctx.policy, nowMs, { continuation, upstream });
  const waiting = waitingDays(ledgers, ctx.policy, nowMs, range);
  ctx.log({ event: 'report_planned', dueDays: due.length });
  const daysToRead = [...due.map(({ day }) => day), ...upstreamDue];
  const pending = await pendingPublications(ctx, ledgers.values());
  const hasWork = daysToRead.length + pending.length > 0;
  if (hasWork) await ensureDayTables(ctx);
  const unpublished = await publishDays(ctx, pending);
  if (due.length > 0) await probeEndDate(ctx);
  // A run that dies would otherwise leave a claim in a month that no later run examines. A damaged month keeps no due time,
  // so that later runs report it too.
  const changing = [...daysToRead.map(monthOf), ...damagedMonths];
  return {
    ...{ continuation, due, waiting, months: [...ledgers.keys()] },
    size: hasWork ? sizeOfSchema(await ctx.schema.cached()) : undefined,
    begin: (state) => withoutHints(state, changing),
    examinedAll: isDaily && !range,
    lastReadMs: lastReadMs(ledgers),
    error: damaged ?? ofUpstream?.error ?? unpublished,
  };
}

/** Plans one day again after the run has committed its upstream day. @returns `undefined` if the day is not due */
export async function planDay(
  ctx: RunContext,
  { continuation, months }: ReportPlan,
  day: string,
): Promise<DueDay | undefined> {
  const month = monthOf(day);
  if (!ctx.upstream || !months.includes(month)) return undefined;
  const ledgers = new Map([[month, await ctx.ledger(month).cached()]]);
  const { days } = await ctx.upstream.ledger(month).cached();
  const upstream = () => upstreamState(days[day]);
  const [due] = plan(ledgers, ctx.policy, ctx.clock.now().getTime(), { continuation, upstream, only: day });
  return due;
}

/** @throws BrandReportsError `config` if the first day of the range has not begun */
function assertBegun(ctx: RunContext, { from }: Range): void {
  const today = todayIn(ctx);
  if (from <= today) return;
  const message = `${ctx.brand} ${ctx.report.name}: ${from} has not begun, today is ${today} in ${ctx.policy.timeZone}; choose a range that begins today or earlier`;
  throw configError('range_ahead', message);
}

async function monthsToExamine(
  ctx: RunContext,
  range: Range | undefined,
  lookedMonths: ReadonlySet<string>,
): Promise<{ months: string[]; isDaily: boolean }> {
  const state = await ctx.reportState.cached();
  const isDaily = isDailyWorkDue(ctx, state.examinedAt);
  const nowMs = ctx.clock.now().getTime();
  const { from, to } = range ?? { from: ctx.policy.startDate, to: todayIn(ctx) };
  const months = monthsFrom(from, to);
  // Once a day the hints are ignored, so that a wrong hint or a manual change of the catalog is repaired.
  if (range || isDaily) return { months, isDaily };
  const fingerprint = policyFingerprint(ctx.policy);
  const isExamined = (month: string) => lookedMonths.has(month) || mayBeDue(state, fingerprint, month, nowMs);
  return { months: months.filter(isExamined), isDaily };
}

async function refreshed({ log }: RunContext, months: readonly string[], ledgerOf: RunContext['ledger']) {
  const damagedMonths: string[] = [];
  let error: BrandReportsError | undefined;
  const read = await Promise.all(
    months.map(async (month): Promise<(readonly [string, Ledger])[]> => {
      const ledger = await readOrDamage(ledgerOf(month).refresh());
      if ('value' in ledger) return [[month, ledger.value]];
      log({ event: 'month_skipped', month, ...errorSummary(ledger.damage) });
      damagedMonths.push(month);
      error ??= ledger.damage;
      return [];
    }),
  );
  return { ledgers: new Map(read.flat()), damagedMonths, error };
}

import { writeCoverage } from './catalog/coverage.ts';
import { ensureTableAndViews } from './catalog/ensure-tables.ts';
import { vacuumCoverage } from './catalog/vacuum-coverage.ts';
import { DAY_MS, daysFrom, monthOf } from './days.ts';
import { rethrowBugs } from './errors.ts';
import { refreshUndamaged } from './lake/documents/cas-document.ts';
import type { Ledger } from './lake/documents/ledger.ts';
import { type MonthIndex, recordDueTimes } from './lake/documents/month-index.ts';
import { errorSummary } from './outcome.ts';
import { type RunContext, todayIn } from './pipeline/context.ts';
import { hasPendingPublication } from './pipeline/publish.ts';
import { vacuum } from './pipeline/vacuum.ts';
import { monthDueAtMs } from './planning/due.ts';
import { waitingDays } from './planning/plan.ts';
import { policyFingerprint } from './planning/policy.ts';

const VACUUM_INTERVAL_MS = DAY_MS;

/**
 * What a run does when its days are done: vacuum and catalog once a day, coverage of the months that it examined, and
 * last the index, from which later runs read when each month is next due. If a run dies before that, these months
 * stay marked dirty, and the next run examines them.
 * @param months those that the run examined
 * @param columnsBefore how many columns the table had when the run began
 */
export async function finishReport(
  ctx: RunContext,
  months: readonly string[],
  columnsBefore: number,
): Promise<void> {
  const nowMs = ctx.clock.now().getTime();
  const vacuumedAt = new Date(ctx.clock.serviceMs()).toISOString();
  const before = await ctx.index.cached();
  const hasReturnedRecords = before.hasReturnedRecords || (await hasRecords(ctx, months));
  const isDaily = vacuumIsDue(ctx, before) && (!ctx.time.isUp() || vacuumIsOverdue(ctx, before));
  // I3: a machine clock that is ahead, and that no response has corrected, would remove what queries still read.
  const hasTime = ctx.service.knowsTime || ctx.service.hasAnswered;
  const vacuumed = isDaily && hasTime && (await vacuumOrLog(ctx));
  // A view may have waited for a new column. Once a day, damage by a crash or a manual edit of the catalog is repaired.
  const hasGrown = (await ctx.schema.cached()).columns.length > columnsBefore;
  if (hasGrown || isDaily) await ensureTableAndViews(ctx);
  // The report's very first record makes every empty day before it complete instead of unverified.
  const verified = hasReturnedRecords && !before.hasReturnedRecords ? await readableMonths(ctx) : [];
  await writeCoverage(ctx, [...new Set([...months, ...verified])], hasReturnedRecords);

  const dueTimes = await dueTimesOf(ctx, months, nowMs);
  const run = { id: ctx.runId, wallMs: ctx.clock.wallMs(), nowMs };
  await ctx.index.update((current) => {
    const recorded = recordDueTimes(current, dueTimes, policyFingerprint(ctx.policy), run);
    const next = vacuumed ? { ...recorded, vacuumedAt } : recorded;
    return next.hasReturnedRecords === hasReturnedRecords ? next : { ...next, hasReturnedRecords };
  });
}

/** A vacuum that fails is tried again by the next run, and stops nothing else: coverage and due times are due all the same. */
async function vacuumOrLog(ctx: RunContext): Promise<boolean> {
  try {
    await vacuum(ctx);
    await vacuumCoverage(ctx);
    return true;
  } catch (thrown) {
    ctx.log({ event: 'vacuum_failed', ...errorSummary(rethrowBugs(thrown)) });
    return false;
  }
}

/** Runs whose time is always up would otherwise never vacuum. */
function vacuumIsOverdue({ clock }: RunContext, { vacuumedAt }: MonthIndex): boolean {
  return vacuumedAt !== undefined && clock.serviceMs() - Date.parse(vacuumedAt) >= 2 * VACUUM_INTERVAL_MS;
}

/** Once a day a run also examines all months: see `planReport`. A time in the future comes from a clock that was ahead. */
export function vacuumIsDue({ clock }: RunContext, { vacuumedAt }: MonthIndex): boolean {
  if (vacuumedAt === undefined) return true;
  const ageMs = clock.serviceMs() - Date.parse(vacuumedAt);
  return ageMs < 0 || ageMs >= VACUUM_INTERVAL_MS;
}

/** By month: when one of its days is next due, in milliseconds; `null` where all its days are settled. */
async function dueTimesOf(
  ctx: RunContext,
  months: readonly string[],
  nowMs: number,
): Promise<Map<string, number | null>> {
  const dueTimes = new Map<string, number | null>();
  for (const month of months) {
    const ledger = await ctx.ledger(month).refresh();
    const dueMs = monthDueAtMs(month, ledger, ctx.policy, nowMs);
    // A day that waits after a failure has no time to be read, but every run has to name it.
    const mustBeExamined = hasPendingPublication(ctx, ledger) || hasWaitingDay(ctx, ledger, nowMs);
    dueTimes.set(month, mustBeExamined ? nowMs : dueMs);
  }
  return dueTimes;
}

function hasWaitingDay({ policy }: RunContext, ledger: Ledger, nowMs: number): boolean {
  return waitingDays(new Map([[ledger.month, ledger]]), policy, nowMs).length > 0;
}

async function hasRecords(ctx: RunContext, months: readonly string[]): Promise<boolean> {
  const ledgers = await Promise.all(months.map((month) => ctx.ledger(month).cached()));
  return ledgers.some(({ days }) => Object.values(days).some(({ committed }) => (committed?.rows ?? 0) > 0));
}

/** All months since the start date, without those whose ledger is damaged. */
async function readableMonths(ctx: RunContext): Promise<string[]> {
  const months = new Set(daysFrom(ctx.policy.startDate, todayIn(ctx)).map(monthOf));
  const readable = await Promise.all(
    [...months].map(async (month) => ((await refreshUndamaged(ctx.ledger(month))) ? [month] : [])),
  );
  return readable.flat();
}

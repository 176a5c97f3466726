/**
 * The requests of a report's hourly runs: by the planner as it is, by the least that its policy needs for one who knows the
 * future, and by a fixed lookback. Pages are counted, not fetched.
 */
import {
  DAY_MS,
  HOUR_MS,
  addDays,
  dayOf,
  daysBetween,
  intervalMs,
  monthOf,
  monthsFrom,
  startOfDay,
} from '../../shared/days.ts';
import type { Committed, DayEntry, Ledger } from '../../shared/lake/documents/ledger.ts';
import { type Policy, closesAtMs, daysWatched, doubtOf, settles } from '../../shared/planning/due.ts';
import { plan } from '../../shared/planning/plan.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { type HeldDay, ZONE, atAge, versionAt } from './brand.ts';

/** What is simulated of a report. */
export interface Simulated {
  report: ReportDefinition;
  policy: Policy;
  days: readonly HeldDay[];
  /** The days whose requests count: from the start of the first to the end of the last. */
  counted: { from: string; to: string };
}

export interface Spent {
  requests: number;
  /** Readings of whole days. */
  passes: number;
}

export const LOOKBACK_DAYS = 35;

/** The requests of a pass over so many rows: numbered pages end with an empty one, and the day's last instant is asked for. */
function requestsOfPass({ paging, day }: ReportDefinition, rows: number): number {
  if (paging.style === 'lookup') return rows;
  const pages = Math.max(1, Math.ceil(rows / paging.pageSize.default));
  return pages + (paging.style === 'numbered' ? 1 : 0) + (day.by === 'timestamps' ? 1 : 0);
}

/** Runs of every hour, a few minutes past. */
function* runsOf({ days, counted }: Simulated): Generator<number> {
  const firstMs = startOfDay(days[0]?.day ?? counted.from, ZONE) + 7 * 60_000;
  for (let atMs = firstMs; atMs < startOfDay(addDays(counted.to, 1), ZONE); atMs += HOUR_MS) yield atMs;
}

/** Rows that there are at a time of the day: they come evenly over it. */
function rowsAt(held: HeldDay, atMs: number): number {
  const share = Math.min(1, (atMs - startOfDay(held.day, ZONE)) / DAY_MS);
  return Math.ceil(held.rows * share);
}

function counter({ report, counted }: Simulated) {
  const fromMs = startOfDay(counted.from, ZONE);
  const spent: Spent = { requests: 0, passes: 0 };
  return {
    spent,
    read: (held: HeldDay, atMs: number) => {
      if (atMs < fromMs) return;
      spent.passes += 1;
      spent.requests += requestsOfPass(report, rowsAt(held, atMs));
    },
  };
}

/** What the planner asks for. */
export function plannedRequests(simulated: Simulated): Spent {
  const { policy, days, counted } = simulated;
  const byDay = new Map(days.map((held) => [held.day, held]));
  const ledgers = new Map(
    monthsFrom(policy.startDate, counted.to).map((month): [string, Ledger] => [
      month,
      { version: 1, report: simulated.report.name, brand: 'acme', month, days: {}, recentWrites: [] },
    ]),
  );
  const { spent, read } = counter(simulated);
  for (const nowMs of runsOf(simulated))
    for (const { day } of plan(ledgers, policy, nowMs)) {
      const held = byDay.get(day);
      const ledger = ledgers.get(monthOf(day));
      if (!held || !ledger) continue;
      read(held, nowMs);
      ledger.days[day] = { committed: committedAfter(simulated, held, ledger.days[day], nowMs) };
    }
  return spent;
}

/** What the ledger says of a day behind a reading of it. */
function committedAfter(
  { report, policy }: Simulated,
  held: HeldDay,
  entry: DayEntry | undefined,
  nowMs: number,
): Committed {
  const before = entry?.committed;
  const closed = nowMs >= closesAtMs(held.day, policy);
  const digest = String(versionAt(held, nowMs));
  const unchanged = before?.digest === digest;
  const rows = rowsAt(held, nowMs);
  const readFrom = new Date(nowMs).toISOString();
  const agreed = unchanged && before.state === 'closed' ? before.identicalPasses : 0;
  const { statesFingerprint } = policy;
  const counts = {
    rows,
    ...(statesFingerprint !== undefined && { statesFingerprint, unsettled: nowMs >= held.finalMs ? 0 : 1 }),
  };
  const identicalPasses = closed ? agreed + 1 : 0;
  const reading = { unchanged, recordPages: requestsOfPass(report, rows), rows, isSure: true };
  const { mayBeLast, ...doubt } = doubtOf(policy, reading, before);
  const settled = closed && mayBeLast && settles(held.day, policy, nowMs, { identicalPasses, ...counts });
  return {
    ...{ snapshot: 's', published: true, bytes: 1, attempt: 'a', pages: 1, readTo: readFrom },
    ...{ ...counts, digest, state: closed ? 'closed' : 'open', settled, identicalPasses, readFrom },
    ...doubt,
    ...(settled && { watchedDays: daysBetween(held.day, dayOf(nowMs, ZONE)) - 1 }),
    queryFingerprint: policy.queryFingerprint,
  };
}

/**
 * The least that the policy needs, for one who knows when each record becomes final: every run reads the open day, the first
 * behind its end closes it, and then it is read at the policy's intervals while records can change, until two readings
 * agree when none can, or the policy ends. Readings that only confirm another one (I11) are no part of it.
 */
export function leastRequests(simulated: Simulated): Spent {
  const { policy, days } = simulated;
  const { spent, read } = counter(simulated);
  const runs = [...runsOf(simulated)];
  const [firstMs = 0] = runs;
  for (const held of days) {
    const closesMs = closesAtMs(held.day, policy);
    let [agreeing, version, lastMs] = [0, Number.NaN, 0];
    for (let run = Math.max(0, Math.ceil((startOfDay(held.day, ZONE) - firstMs) / HOUR_MS)); ; run += 1) {
      const atMs = runs[run];
      if (atMs === undefined) break;
      const isClosed = lastMs >= closesMs;
      if (isClosed && atMs - lastMs < intervalAt(policy, held.day, atMs)) continue;
      read(held, atMs);
      const changed = versionAt(held, atMs) !== version;
      [version, lastMs] = [versionAt(held, atMs), atMs];
      if (atMs < closesMs) continue;
      agreeing = changed ? 1 : agreeing + 1;
      const isBehindPolicy = atMs >= atAge(held.day, daysWatched(policy) + 1);
      const isFinal = atMs >= held.finalMs;
      if (isFinal && agreeing >= 2) break;
      if (isBehindPolicy && agreeing >= (policy.pagesAreSnapshot ? 1 : 2)) break;
    }
  }
  return spent;
}

/** The interval of the tier that holds for the day's age; behind the last one that of days that are watched longer. */
function intervalAt(policy: Policy, day: string, atMs: number): number {
  const age = daysBetween(day, dayOf(atMs, ZONE));
  const tier = policy.refresh.find(({ untilAgeDays }) => age <= untilAgeDays);
  if (tier) return intervalMs(tier.every);
  return policy.statesFingerprint === undefined ? 0 : 7 * DAY_MS;
}

/** What reading the last days again costs, once a day or in every run. */
export function lookbackRequests(simulated: Simulated, everyMs: number): Spent {
  const { days } = simulated;
  const { spent, read } = counter(simulated);
  const [firstMs = 0] = runsOf(simulated);
  for (const atMs of runsOf(simulated)) {
    if ((atMs - firstMs) % everyMs !== 0) continue;
    for (const held of days) {
      const age = daysBetween(held.day, dayOf(atMs, ZONE));
      if (age >= 0 && age <= LOOKBACK_DAYS) read(held, atMs);
    }
  }
  return spent;
}

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
import { type Policy, closesAtMs, isBehindPolicy, isLast } from '../../shared/planning/due.ts';
import { plan } from '../../shared/planning/plan.ts';
import { MAX_CONTRADICTIONS, afterReading } from '../../shared/planning/transitions.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { type HeldDay, ZONE, versionAt } from './brand.ts';

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
function requestsOfPass(report: ReportDefinition, rows: number): number {
  const { paging, day } = report;
  if (paging.style === 'lookup') return rows;
  return (
    Math.max(1, recordPagesOf(report, rows)) +
    (paging.style === 'numbered' ? 1 : 0) +
    (day.by === 'timestamps' ? 1 : 0)
  );
}

function recordPagesOf({ paging }: ReportDefinition, rows: number): number {
  return paging.style === 'lookup' ? rows : Math.ceil(rows / paging.pageSize.default);
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
  const readFrom = new Date(nowMs).toISOString();
  const { queryFingerprint, timeZone } = policy;
  const counts = countsAt(held, policy, nowMs);
  const { rows } = counts;
  const next = afterReading(
    before,
    {
      ...{ kind: closed ? 'whole' : 'open', rows, digest, queryFingerprint },
      ...{ isAlone: isAlone({ report, policy }, rows), isAccepted: false },
    },
    { last: isLast(held.day, policy, nowMs, counts), past: isBehindPolicy(held.day, policy, nowMs) },
  );
  if (!next) throw new Error(`${held.day}: a reading was refused`);
  // None of these days loses records, so no version is kept against its reading.
  return {
    ...{ snapshot: 's', published: true, bytes: 1, attempt: 'a', pages: 1, readTo: readFrom },
    ...{ ...counts, digest, ...next.said, readFrom, timeZone, queryFingerprint },
  };
}

/** Whether a reading of so many rows needs no other one to agree. */
function isAlone({ report, policy }: Pick<Simulated, 'report' | 'policy'>, rows: number): boolean {
  return policy.pagesAreSnapshot || recordPagesOf(report, rows) <= 1;
}

function countsAt(held: HeldDay, { statesFingerprint }: Policy, atMs: number) {
  return {
    rows: rowsAt(held, atMs),
    ...(statesFingerprint !== undefined && {
      unsettled: { rows: atMs >= held.finalMs ? 0 : 1, states: statesFingerprint },
    }),
  };
}

/**
 * The least that the policy needs, for one who knows when each record becomes final: every run reads the open day, the first
 * after its end closes it, and then it is read at the policy's intervals until the policy ends, which is later while
 * records can change. A reading that another one has to confirm (I11) is repeated by the next run.
 */
export function leastRequests(simulated: Simulated): Spent {
  const { policy, days } = simulated;
  const { spent, read } = counter(simulated);
  const runs = [...runsOf(simulated)];
  const [firstMs = 0] = runs;
  for (const held of days) {
    const closesMs = closesAtMs(held.day, policy);
    let [isBelieved, contradictions, version, lastMs] = [true, 0, Number.NaN, 0];
    for (let run = Math.max(0, Math.ceil((startOfDay(held.day, ZONE) - firstMs) / HOUR_MS)); ; run += 1) {
      const atMs = runs[run];
      if (atMs === undefined) break;
      const isClosed = lastMs >= closesMs;
      if (isClosed && isBelieved && atMs - lastMs < intervalAt(policy, held, atMs)) continue;
      read(held, atMs);
      const changed = versionAt(held, atMs) !== version;
      [version, lastMs] = [versionAt(held, atMs), atMs];
      if (atMs < closesMs) continue;
      const counts = countsAt(held, policy, atMs);
      const isDoubted = changed && (counts.rows === 0 || !isAlone(simulated, counts.rows));
      contradictions = isDoubted ? contradictions + (isBelieved ? 0 : 1) : 0;
      isBelieved = !isDoubted || (!isBelieved && contradictions >= MAX_CONTRADICTIONS);
      if (isBelieved && isLast(held.day, policy, atMs, counts)) break;
    }
  }
  return spent;
}

/** The interval of the tier that holds for the day's age; after the last one that of days with records that can change. */
function intervalAt(policy: Policy, { day, finalMs }: HeldDay, atMs: number): number {
  const age = daysBetween(day, dayOf(atMs, ZONE));
  const tier = policy.refresh.find(({ untilAgeDays }) => age <= untilAgeDays);
  if (tier) return intervalMs(tier.every);
  return policy.statesFingerprint === undefined || atMs >= finalMs ? 0 : 14 * DAY_MS;
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

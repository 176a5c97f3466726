/**
 * Runs the real product in virtual time against a simulated brand and counts its requests for each report. It compares
 * them with the minimum for the same readings, and with a script that re-reads the last 35 days at the same hours.
 */
import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  addDays,
  dayOf,
  daysBetween,
  daysFrom,
  startOfDay,
} from '../../shared/days.ts';
import type { SendRequest } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { livingBrand } from '../../test/living/brand.ts';
import { type LifeTime, createPipeline } from '../../test/living/pipeline.ts';
import { heldTable, type LivingBrand, wordAt } from '../../test/simulation/brand.ts';
import { servedPerPage } from '../../test/strict-service/answer.ts';
import { Random } from '../../test/simulation/random.ts';
import { ADDRESS, SERVICE, httpResponse, simulatedService } from '../../test/simulation/service.ts';
import {
  type Interpretation,
  plainInterpretation,
  settingsFor,
} from '../../test/strict-service/interpretations.ts';

const FIRST_DAY = '2025-03-01';
const ZONE = 'America/New_York';
const SEED = 7;
const LOOKBACK_DAYS = 35;
const CALL_MS = 25;

export interface SimulatedPlan {
  /** The days that the brand has had before the first run. */
  daysBefore: number;
  /** The days with runs. */
  days: number;
  runEveryMs: number;
  interpretation?: Partial<Interpretation>;
}

/** The requests of a report, without the one request of each run for the service's time. */
export interface Spent {
  report: string;
  requests: number;
  /** The number of readings of days. */
  readings: number;
  /** Requests of the first run, which reads all existing days. The other figures exclude them. */
  first: number;
  /** One request a page and one proof of the end, for each reading that the planner requested. */
  least: number;
  /**
   * The requests of a script that reads the last 35 days once a day, and the first days in every run, as `refresh`
   * does.
   */
  lookback: number;
}

export async function spentBy(plan: SimulatedPlan): Promise<Spent[]> {
  const random = new Random(SEED);
  const dayCount = plan.daysBefore + plan.days;
  const brand = livingBrand({ timeZone: ZONE, firstDay: FIRST_DAY, dayCount }, random.fork('brand'));
  const firstMs = startOfDay(addDays(FIRST_DAY, plan.daysBefore), ZONE);
  const time: LifeTime = { nowMs: firstMs };
  const account = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };
  const interpretation = { ...plainInterpretation, ...plan.interpretation };
  const service = simulatedService({ brand, account, interpretation, nowMs: () => time.nowMs });
  const send: SendRequest = async (request, { onHeaders }) => {
    time.nowMs += CALL_MS;
    const response = httpResponse(service.answer(request), { dateMs: time.nowMs });
    onHeaders(response.headers);
    return response;
  };
  const pipeline = await createPipeline({
    ...{ time, account, send, random: random.fork('pipeline') },
    brandSettings: {
      ...{ baseUrl: ADDRESS, service: SERVICE, timeZone: ZONE, startDate: FIRST_DAY, secretName: 'none' },
      ...settingsFor(interpretation),
    },
  });
  const runsMs: number[] = [];
  /** The first call of each run, for the service's time. */
  const forTime = new Set<number>();
  let [callsBefore, eventsBefore] = [0, 0];
  for (let atMs = firstMs + 20 * MINUTE_MS; atMs < firstMs + plan.days * DAY_MS; atMs += plan.runEveryMs) {
    time.nowMs = Math.max(time.nowMs, atMs);
    runsMs.push(time.nowMs);
    forTime.add(service.calls.length);
    const { status } = await pipeline.run();
    if (runsMs.length === 1 && plan.daysBefore > 0)
      [callsBefore, eventsBefore] = [service.calls.length, pipeline.log.length];
    if (status !== 'complete') throw new Error(`the run of ${new Date(atMs).toISOString()} is ${status}`);
  }
  if (service.violations.length > 0) throw new Error(service.violations.join('\n'));
  const calls = service.calls.map((call, index) => ({ ...call, isForTime: forTime.has(index) }));
  return pagedReports().map((report) => {
    const isOwn = ({ action, isForTime }: (typeof calls)[number]) => action === report.action && !isForTime;
    const readings = pipeline.log
      .slice(eventsBefore)
      .flatMap((event) => (event.event === 'day_ended' && event.report === report.name ? [event.rows] : []));
    return {
      report: report.name,
      requests: calls.slice(callsBefore).filter(isOwn).length,
      first: calls.slice(0, callsBefore).filter(isOwn).length,
      readings: readings.length,
      least: readings.reduce((sum, rows) => sum + requestsFor(report, rows, interpretation), 0),
      lookback: lookbackRequests(report, brand, runsMs, interpretation),
    };
  });
}

function pagedReports(): ReportDefinition[] {
  return Object.values(reports).filter(({ paging }) => paging.style !== 'lookup');
}

/** One request a page; numbered pages end with an empty page, which proves the end. */
function requestsFor({ paging }: ReportDefinition, rows: number, interpretation: Interpretation): number {
  if (paging.style === 'lookup') return rows;
  const pages = Math.ceil(rows / servedPerPage(paging.pageSize.default, interpretation));
  return paging.style === 'numbered' ? pages + 1 : Math.max(1, pages);
}

function lookbackRequests(
  report: ReportDefinition,
  brand: LivingBrand,
  runsMs: readonly number[],
  interpretation: Interpretation,
): number {
  const table = heldTable(report);
  const everyRun = report.refresh.find(({ every }) => every === 'run')?.untilAgeDays ?? 0;
  const readMs = new Map<string, number>();
  let requests = 0;
  for (const nowMs of runsMs) {
    const today = dayOf(nowMs, ZONE);
    for (const day of daysFrom(addDays(today, -LOOKBACK_DAYS), today)) {
      const isFresh = nowMs - (readMs.get(day) ?? 0) < DAY_MS - HOUR_MS / 2;
      if (day < FIRST_DAY || (isFresh && daysBetween(day, today) > everyRun)) continue;
      readMs.set(day, nowMs);
      requests += requestsFor(report, wordAt(brand, table, day, nowMs).length, interpretation);
    }
  }
  return requests;
}

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
} from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import type { SendRequest } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { runSync } from '../../shared/run/run.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { type HeldTable, heldTable, type LivingBrand, wordAt } from '../../test/simulation/brand.ts';
import { openSimulatedLake } from '../../test/simulation/lake.ts';
import { Random } from '../../test/simulation/random.ts';
import {
  ADDRESS,
  type Interpretation,
  SERVICE,
  httpResponse,
  plainInterpretation,
  settingsFor,
  simulatedService,
} from '../../test/simulation/service.ts';

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

/** The records of the brand, before and after their last change. */
const RECORDS: Readonly<
  Record<HeldTable, (id: number, day: string, atMs: number, isFinal: boolean) => JsonObject>
> = {
  clicks: (id, _day, atMs) => ({ id: String(id), pbtid: '', created_time: httpDate(atMs) }),
  orders: (transid, _day, _atMs, isFinal) => ({ transid, status: isFinal ? 'effective' : 'new' }),
  transactions: (id, _day, _atMs, isFinal) => ({ order_id: `o${id}`, sku_status: isFinal ? 'paid' : 'new' }),
  attribution: (id, day, _atMs, isFinal) => ({
    date: day.replaceAll('-', ''),
    asin: `B${id}`,
    click: isFinal ? 2 : 1,
  }),
};

/** A brand with 2 to 15 records on most days. One day in 40 is empty, and one in 30 has several pages. */
function brandOf(days: readonly string[], random: Random): LivingBrand {
  let id = 0;
  const livingOf = (table: HeldTable, day: string, index: number) => {
    const count = index % 40 === 5 ? 0 : index % 30 === 10 ? 143 : random.whole(2, 15);
    return Array.from({ length: count }, (_, place) => {
      id += 1;
      const atMs = startOfDay(day, ZONE) + Math.floor((23 * HOUR_MS * place) / count / 1000) * 1000;
      const form = (isFinal: boolean) => RECORDS[table](id, day, atMs, isFinal);
      const versions = [
        { fromMs: atMs + random.between(0, 10) * MINUTE_MS, record: form(false) },
        { fromMs: atMs + random.between(14, 45) * DAY_MS, record: form(true) },
      ];
      return { atMs, versions, detail: { id } };
    });
  };
  const fill = (table: HeldTable) => new Map(days.map((day, index) => [day, livingOf(table, day, index)]));
  const held = {
    clicks: fill('clicks'),
    orders: fill('orders'),
    transactions: fill('transactions'),
    attribution: fill('attribution'),
  };
  return { timeZone: ZONE, days, held };
}

export async function spentBy(plan: SimulatedPlan): Promise<Spent[]> {
  const random = new Random(SEED);
  const brand = brandOf(
    daysFrom(FIRST_DAY, addDays(FIRST_DAY, plan.daysBefore + plan.days - 1)),
    random.fork('brand'),
  );
  const firstMs = startOfDay(addDays(FIRST_DAY, plan.daysBefore), ZONE);
  const time = { nowMs: firstMs };
  const account = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };
  const interpretation = { ...plainInterpretation, ...plan.interpretation };
  const service = simulatedService({ brand, account, interpretation, nowMs: () => time.nowMs });
  const send: SendRequest = async (request, { onHeaders }) => {
    time.nowMs += CALL_MS;
    const response = httpResponse(service.answer(request), { dateMs: time.nowMs });
    onHeaders(response.headers);
    return response;
  };
  const acme = {
    ...{ baseUrl: ADDRESS, service: SERVICE, timeZone: ZONE, startDate: FIRST_DAY, secretName: 'none' },
    ...settingsFor(interpretation),
  };
  const settings = parseSettings({ brands: { acme }, requestsPerSecond: 1000 }, reports);
  const lake = openSimulatedLake(() => time.nowMs);
  const log: LogEvent[] = [];
  let ids = 0;
  const run = () =>
    runSync({
      ...{ settings, reports, lake, send, scope: {} },
      newId: () => `id-${++ids}`,
      clock: {
        wallMs: () => time.nowMs,
        monotonicMs: () => time.nowMs,
        async sleep(ms) {
          time.nowMs += ms;
        },
        // A run takes seconds: no lease is renewed.
        every: () => () => {},
      },
      credentials: { read: async () => account },
      log: (event) => log.push(event),
      random: () => random.next(),
    });
  const runsMs: number[] = [];
  /** The first call of each run, for the service's time. */
  const forTime = new Set<number>();
  let [callsBefore, eventsBefore] = [0, 0];
  for (let atMs = firstMs + 20 * MINUTE_MS; atMs < firstMs + plan.days * DAY_MS; atMs += plan.runEveryMs) {
    time.nowMs = Math.max(time.nowMs, atMs);
    runsMs.push(time.nowMs);
    forTime.add(service.calls.length);
    const { status } = await run();
    if (runsMs.length === 1 && plan.daysBefore > 0)
      [callsBefore, eventsBefore] = [service.calls.length, log.length];
    if (status !== 'complete') throw new Error(`the run of ${new Date(atMs).toISOString()} is ${status}`);
  }
  if (service.violations.length > 0) throw new Error(service.violations.join('\n'));
  const calls = service.calls.map((call, index) => ({ ...call, isForTime: forTime.has(index) }));
  const paged = Object.values(reports).filter(({ paging }) => paging.style !== 'lookup');
  return paged.map((report) => {
    const isOwn = ({ action, isForTime }: (typeof calls)[number]) => action === report.action && !isForTime;
    const readings = log
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

/** One request a page; numbered pages end with an empty page, which proves the end. */
function requestsFor({ paging }: ReportDefinition, rows: number, interpretation: Interpretation): number {
  if (paging.style === 'lookup') return rows;
  const pages = Math.ceil(rows / Math.min(paging.pageSize.default, interpretation.pageCap));
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

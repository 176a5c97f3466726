/**
 * Runs hourly for two days of virtual time with wrong clocks, one scenario a row: the machine's clock, the service's
 * clock or one `Date` is wrong. Each scenario has to end like the walk in which all clocks are right.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, daysFrom, endOfDay } from '../../shared/days.ts';
import type { DayOutcome } from '../../shared/outcome.ts';
import type { SendRequest } from '../../shared/ports.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { coverageOf, ledgerEntries, publishedDays, serviceDays } from './lake-contents.ts';
import { NO_TIME, type SampleLake, ZONE } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const REPORTS: ReportName[] = ['clicks_list', 'order_list'];
const FIRST = '2026-03-07';
const LAST_CLOSED = '2026-03-10';
const RUNS = 49;
/** Requests of a run with a wrong clock: one refusal of the brand, and the page that shows the difference again. */
const REQUESTS_TO_LEARN = 2;
const refresh = [{ untilAgeDays: 20, every: '1 day' }];

const sample = sharedLakes({
  now: '2026-03-09T16:00:00.000Z',
  recordsTo: '2026-03-16T16:00:00.000Z',
  startDate: FIRST,
  clicksPerDay: 6,
  reports: REPORTS,
  brandSettings: {
    reports: { clicks_list: { refresh }, order_list: { refresh, ...ALL_FINAL } },
  },
});
let right: Walk;
beforeAll(async () => {
  right = await walk({});
});

/** The clock errors of a run; runs are counted from 0. */
interface Scenario {
  /** How far the machine is ahead of the true time. */
  machineMs?: (run: number) => number;
  /** How far the service is ahead of the true time. */
  serviceMs?: (run: number) => number;
  /** How far both are ahead of the true time. */
  bothMs?: (run: number) => number;
  send?: (run: number) => SendRequest;
}

interface Walk {
  lake: SampleLake;
  /** The statuses of runs that did not end complete. */
  statuses: string[];
  /** The days that a run closed before they were over, with a time that later runs accept. */
  early: string[];
  /** How often a day was read. */
  readings: number;
  requests: number;
}

async function walk({ machineMs, serviceMs, bothMs, send }: Scenario): Promise<Walk> {
  const lake = sample.emptyLake();
  const [startMs, sentBefore] = [lake.nowMs, lake.service.requests.length];
  const statuses: string[] = [];
  const early: string[] = [];
  let readings = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const trueMs = startMs + run * HOUR_MS;
    const skewMs = serviceMs?.(run) ?? 0;
    lake.nowMs = trueMs + (bothMs?.(run) ?? 0);
    const mend = lake.service.addFault({ on: {}, fault: { kind: 'skewed_clock', skewMs } });
    const clockAheadMs = machineMs?.(run) ?? 0;
    const { status, reports } = await lake.sync({ clockAheadMs, ...(send && { send: send(run) }) });
    mend();
    if (status !== 'complete') statuses.push(status);
    readings += reports.flatMap(({ days }) => days).filter(isRead).length;
    for (const report of REPORTS)
      for (const [day, { committed }] of await ledgerEntries(lake, report)) {
        const isDated = Date.parse(committed?.readFrom ?? '') <= trueMs + MINUTE_MS;
        if (isDated && committed?.state === 'closed' && endOfDay(day, ZONE) > trueMs) early.push(day);
      }
  }
  return { lake, statuses, early, readings, requests: lake.service.requests.length - sentBefore };
}

const always = (ms: number) => () => ms;
const once = (ms: number) => (run: number) => (run === 9 ? ms : 0);
const everySecond = (ms: number) => (run: number) => (run % 2 === 0 ? ms : 0);

/** In one run, the second response has a `Date` with this error. */
function oneDate(aheadMs: number): (run: number) => SendRequest {
  return (run) => {
    let responses = 0;
    return (request, options) =>
      sendRequest(request, {
        ...options,
        onHeaders(headers) {
          responses += 1;
          const date = httpDate(Date.parse(headers.date ?? '') + aheadMs);
          options.onHeaders(run === 9 && responses === 2 ? { ...headers, date } : headers);
        },
      });
  };
}

describe('I2: a walk of two days closes no day too early, ends right, and reads no day more often, with', () => {
  it.each<[string, Scenario, number, string[]]>([
    ['the service an hour ahead', { serviceMs: always(HOUR_MS) }, RUNS, []],
    ['the service an hour behind', { serviceMs: always(-HOUR_MS) }, RUNS, []],
    ['the machine an hour ahead', { machineMs: always(HOUR_MS) }, RUNS, []],
    ['the machine an hour behind', { machineMs: always(-HOUR_MS) }, RUNS, []],
    ['the machine ten hours behind', { machineMs: always(-10 * HOUR_MS) }, RUNS, []],
    ['every second machine two hours ahead', { machineMs: everySecond(2 * HOUR_MS) }, RUNS, []],
    ['one Date 20 days ahead', { send: oneDate(20 * DAY_MS) }, 1, []],
    ['one Date 20 days behind', { send: oneDate(-20 * DAY_MS) }, 1, []],
    ['both two hours ahead, once', { bothMs: once(2 * HOUR_MS) }, 2, []],
    ['the machine 60 days ahead, once', { machineMs: once(60 * DAY_MS) }, 1, ['incomplete']],
    ['the machine 60 days behind, once', { machineMs: once(-60 * DAY_MS) }, 1, ['incomplete']],
  ])('every day ends right: %s', async (_name, scenario, wrongRuns, unfinished) => {
    const { lake, statuses, early, readings, requests } = await walk(scenario);
    expect([statuses, early]).toEqual([unfinished, []]);
    await expectRight(lake);
    expect(readings).toBeLessThanOrEqual(right.readings);
    expect(requests).toBeLessThanOrEqual(right.requests + REQUESTS_TO_LEARN * wrongRuns);
  });

  it('clocks that differ by more than a day: the error contains both times', async () => {
    const lake = sample.emptyLake();
    const { status, reports } = await lake.sync({ clockAheadMs: 2 * DAY_MS });
    expect(status).toBe('incomplete');
    const message = expect.stringMatching(/shows 2026-03-11T16:00.* the service's 2026-03-09T16:00/);
    for (const { error } of reports)
      expect(error).toMatchObject({ kind: 'config', code: 'clocks_differ', message });
  });

  it('both three days ahead in a run with little time: the next runs read the open day again', async () => {
    const lake = sample.emptyLake();
    lake.nowMs += 3 * DAY_MS;
    await lake.sync({ deadline: NO_TIME });
    lake.nowMs -= 3 * DAY_MS;
    const openDay: string[] = [];
    for (let run = 0; run < 8; run += 1) {
      lake.nowMs += HOUR_MS;
      const { reports } = await lake.sync({ scope: { reports: ['order_list'] }, deadline: NO_TIME });
      openDay.push(...reports.flatMap(({ days }) => days.filter(isRead).map(({ dt }) => dt)));
    }
    expect(openDay.filter((day) => day === '2026-03-09').length).toBeGreaterThan(1);
  });

  it('the request for the time is refused after a clock was ahead: other days are read', async () => {
    const lake = sample.emptyLake();
    lake.nowMs += 3 * DAY_MS;
    await lake.sync();
    lake.nowMs -= 2 * DAY_MS;
    const today = { code: 17, msg: 'today is not ready', kind: 'code' } as const;
    const todayMs = endOfDay('2026-03-09', ZONE);
    const mend = lake.service.addFault({
      on: {
        action: 'report/order_list',
        when: ({ fields }) => Number(fields.start_time) * 1000 >= todayMs,
      },
      fault: today,
    });
    const { reports } = await lake.sync();
    mend();
    const orders = reports.find(({ report }) => report === 'order_list');
    expect(orders?.days.filter(isRead).map(({ dt }) => dt)).toContain('2026-03-08');
  });

  it.each([3, 12])(
    'a machine %s hours behind requests no range that ends before it begins: its days wait',
    async (hours) => {
      const lake = sample.emptyLake();
      await lake.sync();
      lake.nowMs += HOUR_MS;
      const sent = lake.service.requests.length;
      const { status, reports } = await lake.sync({
        scope: { reports: ['order_list'], from: FIRST, to: '2026-03-09' },
        clockAheadMs: -hours * HOUR_MS,
      });
      const waiting = reports.flatMap(({ days }) => days.filter(({ outcome }) => outcome === 'waiting'));
      expect([status, waiting.length]).toEqual(['incomplete', 3]);
      for (const { fields } of lake.service.requests.slice(sent))
        expect(Number(fields.start_time)).toBeLessThanOrEqual(Number(fields.end_time));
    },
  );

  it('both three days ahead, once: the days of that run are read again', async () => {
    const { lake, early, readings } = await walk({ bothMs: once(3 * DAY_MS) });
    expect(early).toEqual([]);
    await expectRight(lake);
    const daysAhead = 3 + daysFrom(FIRST, '2026-03-09').length;
    expect(readings).toBeLessThanOrEqual(right.readings + daysAhead * REPORTS.length);
  });
});

function isRead({ outcome }: DayOutcome): boolean {
  return outcome === 'published' || outcome === 'unchanged';
}

async function expectRight(lake: SampleLake): Promise<void> {
  const days = daysFrom(FIRST, LAST_CLOSED);
  for (const report of REPORTS) {
    const [published, coverage] = [await publishedDays(lake, report), await coverageOf(lake, report)];
    expect(new Map(days.map((day) => [day, published.get(day)]))).toEqual(
      await serviceDays(lake, report, LAST_CLOSED),
    );
    expect(days.filter((day) => coverage[day]?.state !== 'complete')).toEqual([]);
  }
}

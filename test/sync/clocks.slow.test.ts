/**
 * Runs hourly with wrong clocks, one scenario a row: the machine's clock, the service's clock or single `Date` headers are
 * wrong. Each scenario has to end like the walk in which all clocks are right, or is refused and changes nothing.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf, daysFrom, endOfDay } from '../../shared/base/days.ts';
import type { DayOutcome } from '../../shared/base/outcome.ts';
import { closeMonth } from '../../shared/operations/close-month.ts';
import type { HttpHeaders, SendRequest } from '../../shared/ports.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { coverageOf, ledgerEntries, ledgerEntry, publishedDays, serviceDays } from './lake-contents.ts';
import { NO_TIME, type SampleLake, type SyncOptions, ZONE } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';
import { WITHOUT_SUMS } from '../fakes/without-sums.ts';

const REPORTS: ReportName[] = ['clicks_list', 'order_list'];
const FIRST = '2026-03-07';
const LAST_CLOSED = '2026-03-10';
const RUNS = 41;
/** Requests of a run with a wrong clock: the refused request. */
const REQUESTS_TO_LEARN = 1;
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

async function walk({ machineMs, serviceMs, send }: Scenario): Promise<Walk> {
  const lake = sample.emptyLake();
  const [startMs, sentBefore] = [lake.nowMs, lake.service.requests.length];
  const statuses: string[] = [];
  const early: string[] = [];
  let readings = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const trueMs = startMs + run * HOUR_MS;
    const skewMs = serviceMs?.(run) ?? 0;
    lake.nowMs = trueMs;
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
const everySecond = (ms: number) => (run: number) => (run % 2 === 0 ? ms : 0);

/** The headers of some responses of a run, counted from 1, are changed. */
function headersBy(change: (headers: HttpHeaders, response: number) => HttpHeaders): SendRequest {
  let responses = 0;
  return (request, options) =>
    sendRequest(request, {
      ...options,
      onHeaders(headers) {
        responses += 1;
        options.onHeaders(change(headers, responses));
      },
    });
}

function dated({ date = '', ...headers }: HttpHeaders, aheadMs: number): HttpHeaders {
  return { ...headers, date: httpDate(Date.parse(date) + aheadMs) };
}

/** In one run, this response has a `Date` with this error. */
const oneDate = (nth: number, aheadMs: number) => (run: number) =>
  headersBy((headers, response) => (run === 9 && response === nth ? dated(headers, aheadMs) : headers));

const withoutDates = headersBy(({ date: _date, ...headers }) => headers);

describe('I2: a walk closes no day too early, ends right, and reads no day more often, with', () => {
  it.each<[string, Scenario, number]>([
    ['the service an hour ahead', { serviceMs: always(HOUR_MS) }, RUNS],
    ['the service an hour behind', { serviceMs: always(-HOUR_MS) }, RUNS],
    ['the machine two hours ahead', { machineMs: always(2 * HOUR_MS) }, RUNS],
    ['the machine two hours behind', { machineMs: always(-2 * HOUR_MS) }, RUNS],
    ['every second machine two hours ahead', { machineMs: everySecond(2 * HOUR_MS) }, RUNS],
    ['every second machine two hours behind', { machineMs: everySecond(-2 * HOUR_MS) }, RUNS],
    ['the first Date of a run 20 days ahead', { send: oneDate(1, 20 * DAY_MS) }, 1],
    ['the first Date of a run 20 days behind', { send: oneDate(1, -20 * DAY_MS) }, 1],
    ['a later Date of a run 20 days ahead', { send: oneDate(3, 20 * DAY_MS) }, 0],
    [
      'every third Date 20 days ahead',
      { send: () => headersBy((headers, nth) => (nth % 3 === 0 ? dated(headers, 20 * DAY_MS) : headers)) },
      0,
    ],
    [
      'machines of the service that differ by five minutes',
      { send: () => headersBy((headers, nth) => dated(headers, nth % 2 === 0 ? 5 * MINUTE_MS : 0)) },
      0,
    ],
    [
      'a cache that dates every second response 20 days ago',
      {
        send: () =>
          headersBy((headers, nth) =>
            nth % 2 === 0 ? { ...dated(headers, -20 * DAY_MS), age: '1728000' } : headers,
          ),
      },
      0,
    ],
    ['no Date at all', { send: () => withoutDates }, 0],
  ])('clocks are wrong: %s', async (_name, scenario, wrongRuns) => {
    const { lake, statuses, early, readings, requests } = await walk(scenario);
    expect([statuses, early]).toEqual([[], []]);
    await expectRight(lake);
    expect(readings).toBeLessThanOrEqual(right.readings);
    expect(requests).toBeLessThanOrEqual(right.requests + REQUESTS_TO_LEARN * wrongRuns);
  });

  it.each<[string, number, number]>([
    ['corrected by two hours back', 2 * HOUR_MS, 0],
    ['corrected by two hours forward', -2 * HOUR_MS, 0],
    ['set two hours ahead', 0, 2 * HOUR_MS],
  ])('a clock that is %s during a run', async (_name, beforeMs, afterMs) => {
    const lake = sample.emptyLake();
    // Half an hour before the open day ends.
    lake.nowMs = endOfDay('2026-03-09', ZONE) - 30 * MINUTE_MS;
    let requests = 0;
    const send: SendRequest = (request, options) => {
      requests += 1;
      return sendRequest(request, options);
    };
    await lake.sync({ send, clockAheadMs: () => (requests < 6 ? beforeMs : afterMs) });
    const { committed } = await ledgerEntry(lake, 'order_list', '2026-03-09');
    expect(committed?.state).not.toBe('closed');
    lake.nowMs += HOUR_MS;
    expect((await lake.sync()).status).toBe('complete');
    await expectDays(lake, 'order_list', '2026-03-09');
  });
});

/** By key: the version of each object. A lease contains no time. */
function objectsOf(lake: SampleLake): Map<string, string> {
  const all = [...lake.store.objects].map(([key, { etag }]): [string, string] => [key, etag]);
  return new Map(all.filter(([key]) => !key.startsWith('leases/')));
}

const FAR: [string, Pick<SyncOptions, 'clockAheadMs'>, number][] = [
  ['a machine 40 days ahead', { clockAheadMs: 40 * DAY_MS }, 0],
  ['a machine 40 days behind', { clockAheadMs: -40 * DAY_MS }, 0],
  ['a machine two years ahead', { clockAheadMs: 730 * DAY_MS }, 0],
  ['a service three days ahead', {}, 3 * DAY_MS],
  ['a service three days behind', {}, -3 * DAY_MS],
];

describe('clocks that differ by more than a day end the run with both times, and change nothing:', () => {
  const BY_HAND: SyncOptions['scope'] = { reports: ['order_list'], from: FIRST, to: FIRST };
  it.each(
    FAR.flatMap(([name, clocks, serviceMs]) => [
      ...([[`${name}, in an empty lake`, clocks, serviceMs, true, {}]] as const),
      ...([[`${name}, in a lake`, clocks, serviceMs, false, {}]] as const),
      ...([[`${name}, of a run of one page`, clocks, serviceMs, false, { scope: BY_HAND }]] as const),
      ...([
        [`${name}, of a run of lookups`, clocks, serviceMs, false, { scope: { reports: ['clicks_detail'] } }],
      ] as const),
      ...([[`${name}, of a run with little time`, clocks, serviceMs, false, { deadline: NO_TIME }]] as const),
    ]),
  )('a run is refused: %s', async (_name, clocks, serviceMs, isEmpty, options) => {
    const lake = sample.emptyLake();
    if (!isEmpty) await lake.sync();
    lake.nowMs += HOUR_MS;
    const before = objectsOf(lake);
    const mend = lake.service.addFault({ on: {}, fault: { kind: 'skewed_clock', skewMs: serviceMs } });
    const sent = lake.service.requests.length;
    const { status, reports } = await lake.sync({ ...clocks, ...options });
    mend();
    expect(status).toBe('incomplete');
    const aheadMs = typeof clocks.clockAheadMs === 'number' ? clocks.clockAheadMs : 0;
    const times = [aheadMs, serviceMs].map((ms) => new Date(lake.nowMs + ms).toISOString().slice(0, 15));
    for (const { error, days } of reports) {
      expect([error?.kind, error?.code, days]).toEqual(['config', 'clocks_differ', []]);
      for (const time of times) expect(error?.message).toContain(time);
    }
    expect(objectsOf(lake)).toEqual(before);
    expect(lake.service.requests.length - sent).toBe(2);
    expect((await lake.sync()).status).toBe('complete');
    expect(await publishedDays(lake, 'order_list')).toEqual(
      await serviceDays(lake, 'order_list', '2026-03-09'),
    );
  });

  it('a report that has no due day is refused too', async () => {
    const lake = sample.emptyLake();
    const scope = { reports: ['clicks_list', 'clicks_detail'] };
    await lake.sync({ scope });
    lake.nowMs += MINUTE_MS;
    const { reports: before } = await lake.sync({ scope });
    expect(before.map(({ days }) => days.length)).toEqual([1, 0]);
    const objects = objectsOf(lake);
    const mend = lake.service.addFault({ on: {}, fault: { kind: 'skewed_clock', skewMs: 3 * DAY_MS } });
    const { reports } = await lake.sync({ scope });
    mend();
    expect(reports.map(({ error }) => error?.code)).toEqual(['clocks_differ', 'clocks_differ']);
    expect(objectsOf(lake)).toEqual(objects);
  });

  it('the clock is set 40 days ahead during a run: no day fails, and nothing is dated by it', async () => {
    const lake = sample.emptyLake();
    let requests = 0;
    const send: SendRequest = (request, options) => {
      requests += 1;
      return sendRequest(request, options);
    };
    const { status, reports } = await lake.sync({
      send,
      clockAheadMs: () => (requests < 6 ? 0 : 40 * DAY_MS),
    });
    expect(status).toBe('incomplete');
    expect(reports.flatMap(({ days }) => days.filter(({ outcome }) => outcome === 'failed'))).toEqual([]);
    expect((await lake.sync()).status).toBe('complete');
    expect(await publishedDays(lake, 'order_list')).toEqual(
      await serviceDays(lake, 'order_list', '2026-03-09'),
    );
  });

  it('a machine 40 days ahead does not close the month, because only runs close days', async () => {
    const lake = sample.emptyLake();
    await lake.sync();
    const before = objectsOf(lake);
    const clock = { ...lake.access().clock, wallMs: () => lake.nowMs + 40 * DAY_MS };
    const closing = closeMonth({
      ...lake.access(),
      ...WITHOUT_SUMS,
      clock,
      settings: lake.settings(),
      month: '2026-03',
    });
    await expect(closing).rejects.toMatchObject({ code: 'not_whole' });
    expect(objectsOf(lake)).toEqual(before);
  });
});

it('a machine 40 days ahead that gets no response claims, closes and deletes nothing', async () => {
  const lake = sample.emptyLake();
  await lake.sync();
  const before = objectsOf(lake);
  const send: SendRequest = async () => ({ failed: 'ECONNRESET' });
  const { status } = await lake.sync({ clockAheadMs: 40 * DAY_MS, send });
  expect(status).toBe('failed');
  const changed = [...objectsOf(lake)].filter(([key, etag]) => before.get(key) !== etag);
  expect(changed.map(([key]) => key).filter((key) => !key.endsWith('/state.json'))).toEqual([]);
  expect([...before.keys()].filter((key) => !objectsOf(lake).has(key))).toEqual([]);
});

describe('after a run whose times are all ahead, of a service without Dates', () => {
  it.each([
    ['five hours', 5 * HOUR_MS],
    ['40 days', 40 * DAY_MS],
  ])('right runs read each of its days again, and then nothing is ahead: %s', async (_name, aheadMs) => {
    const lake = sample.emptyLake();
    await lake.sync();
    await lake.sync({ clockAheadMs: aheadMs, send: withoutDates });
    for (let run = 0; run < 40; run += 1) {
      lake.nowMs += HOUR_MS;
      expect((await lake.sync()).status).toBe('complete');
      const entries = await ledgerEntries(lake, 'order_list');
      const early = entries.filter(
        ([day, { committed }]) => committed?.state === 'closed' && endOfDay(day, ZONE) > lake.nowMs,
      );
      if (run > 0) expect(early.filter(([day]) => day <= dayOf(lake.nowMs, ZONE))).toEqual([]);
    }
    await expectRight(lake);
    for (const report of REPORTS)
      for (const [day, { committed, claim }] of await ledgerEntries(lake, report)) {
        if (day > dayOf(lake.nowMs, ZONE)) continue;
        expect([day, claim]).toEqual([day, undefined]);
        expect(Date.parse(committed?.readFrom ?? '')).toBeLessThanOrEqual(lake.nowMs + MINUTE_MS);
      }
  });
});

function isRead({ outcome }: DayOutcome): boolean {
  return outcome === 'published' || outcome === 'unchanged';
}

async function expectDays(lake: SampleLake, report: ReportName, to: string): Promise<void> {
  const published = await publishedDays(lake, report);
  const days = daysFrom(FIRST, to);
  expect(new Map(days.map((day) => [day, published.get(day)]))).toEqual(await serviceDays(lake, report, to));
}

async function expectRight(lake: SampleLake): Promise<void> {
  for (const report of REPORTS) {
    await expectDays(lake, report, LAST_CLOSED);
    const coverage = await coverageOf(lake, report);
    const days = daysFrom(FIRST, LAST_CLOSED);
    expect(days.filter((day) => coverage[day]?.state !== 'complete')).toEqual([]);
  }
}

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import { errorOf, ledgerEntries, ledgerEntry, requestsOf, wrongReports } from './lake-contents.ts';
import { type SampleLake, type SyncOptions, sampleLake } from './sample-lake.ts';

const FIRST = '2026-03-07';
const LAST = '2026-03-09';
const REQUESTS_PER_RUN = 20;
const scope = { reports: ['transaction_list'], from: FIRST, to: LAST };

let sample: SampleLake;
let slow: SampleLake | undefined;
beforeAll(async () => {
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 30,
    interpretations: { pageCap: 1 },
  });
});
afterAll(() => Promise.all([sample.close(), slow?.close()]));

/** Time is up after this many requests. With `kills`, the process then ends too. */
function deadlineAfterRequests(
  lake: SampleLake,
  kills: boolean,
  limit = REQUESTS_PER_RUN,
): SyncOptions['deadline'] {
  const begun = lake.service.requests.length;
  const endMs = () => (lake.service.requests.length - begun >= limit ? 0 : Number.POSITIVE_INFINITY);
  return {
    get softMs() {
      return endMs();
    },
    get hardMs() {
      return kills ? endMs() : Number.POSITIVE_INFINITY;
    },
  };
}

describe('days of many pages, which runs with little time read', () => {
  it.each([
    ['an hour apart, so that a day is resumed', HOUR_MS],
    ['so far apart that a day restarts', 6 * HOUR_MS + MINUTE_MS],
  ])('I4: are complete after few runs and requests: %s', async (_name, betweenMs) => {
    const lake = sample.emptyLake();
    const before = requestsOf(lake, 'transaction_list').length;
    let runs = 0;
    for (let status = ''; status !== 'complete'; runs += 1) {
      expect(runs).toBeLessThan(15);
      ({ status } = await lake.sync({ scope, deadline: deadlineAfterRequests(lake, false) }));
      lake.nowMs += betweenMs;
    }
    const requests = requestsOf(lake, 'transaction_list').length - before;
    const records = lake.brand.records.transaction_list.length;
    expect(records).toBeGreaterThan(5 * REQUESTS_PER_RUN);
    expect(requests).toBeLessThan(2 * records);
    expect(await wrongReports({ ...lake, startDate: FIRST }, LAST, ['transaction_list'])).toEqual({});
  });

  it('I8: fail with the next step if no run could ever read one of them', async () => {
    const lake = sample.emptyLake();
    const errors = [];
    for (let runs = 0; runs < 5; runs += 1) {
      const outcome = await lake.sync({ scope, deadline: deadlineAfterRequests(lake, true) });
      errors.push(errorOf(outcome, 'transaction_list'));
      lake.nowMs += 7 * HOUR_MS;
    }
    expect(errors.filter((error) => error !== undefined)[0]).toMatchObject({
      kind: 'contract',
      code: 'restarted_too_often',
      message: expect.stringMatching(/6 hours.*--max-seconds.*requestsPerSecond/s),
    });
    expect((await ledgerEntry(lake, 'transaction_list', LAST)).failure?.code).toBe('restarted_too_often');
  });
});

/** A run that the rate limits: when a slot is free, all responses have arrived, and the days in flight request their next pages. */
function limitedByRate(lake: SampleLake): SyncOptions {
  const underWay = new Set<Promise<unknown>>();
  return {
    commonSettings: { requestsPerSecond: 5 },
    send(request, limits) {
      const sent = sendRequest(request, limits).finally(() => underWay.delete(sent));
      underWay.add(sent);
      return sent;
    },
    clock: {
      ...lake.access().clock,
      async sleep(ms) {
        lake.nowMs += ms;
        await Promise.all(underWay);
        for (let round = 0; round < 50; round += 1) await new Promise(setImmediate);
      },
    },
  };
}

describe('many days of many pages, which daily runs with little time read', () => {
  it('I4: are complete after few runs: the days in flight never share a run so that no day ends', async () => {
    // As with 13,000 orders a day: a run has time for the pages of less than four days, and reads four at a time.
    slow = await sampleLake({
      now: '2026-03-10T15:00:00Z',
      recordsTo: '2026-03-20T15:00:00Z',
      startDate: '2026-03-01',
      clicksPerDay: 12,
      interpretations: { pageCap: 2 },
      brandSettings: {
        reports: { transaction_list: { refresh: [{ untilAgeDays: 1, every: '1 day' }] } },
      },
    });
    const lake = slow;
    const reports = { reports: ['transaction_list'] };
    const closed: number[] = [];
    for (let runs = 0; runs < 6; runs += 1) {
      const deadline = deadlineAfterRequests(lake, true, 46);
      await lake.sync({ scope: reports, deadline, ...limitedByRate(lake) });
      const entries = await ledgerEntries(lake, 'transaction_list');
      closed.push(entries.filter(([, { committed }]) => committed?.state === 'closed').length);
      lake.nowMs += 24 * HOUR_MS;
    }
    const ended = closed.map((days, run) => days - (closed[run - 1] ?? 0));
    expect(Math.min(...ended)).toBeGreaterThanOrEqual(1);
    expect(closed.at(-1)).toBe(14);
  });
});

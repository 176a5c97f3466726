import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReportName, recordsOfDay } from '../../sample/brand.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { HOUR_MS, dayOf, daysFrom, startOfDay } from '../../shared/base/days.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import type { SendRequest } from '../../shared/ports.ts';
import { storeAround } from '../fakes/lake-around.ts';
import { outcomesOf, wrongReports } from './lake-contents.ts';
import { type SampleLake, ZONE, sampleLake } from './sample-lake.ts';

const TODAY = '2026-03-10';
const YESTERDAY = '2026-03-09';
const FIRST = '2026-03-05';
const CLICKS: ReportName[] = ['clicks_list', 'clicks_detail'];

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({ now: `${TODAY}T17:00:00Z`, startDate: FIRST, clicksPerDay: 4 });
});
afterAll(() => sample.close());

/** A request, as far as these tests distinguish requests. */
interface Asked {
  report: ReportName;
  day: string;
}

/** Whether a request is for this day, or for the detail of one of its clicks. */
function asksFor({ report, day }: Asked) {
  const ids = new Set(recordsOfDay(sample.brand, 'clicks_list', day).map(({ id }) => String(id)));
  const startSeconds = String(startOfDay(day, ZONE) / 1000);
  return ({ url, body = '' }: Parameters<SendRequest>[0]) => {
    if (!url.includes(`report/${report}`)) return false;
    const [, id = ''] = /"id":"?(\w+)/.exec(body) ?? [];
    return report === 'clicks_detail' ? ids.has(id) : body.includes(`"start_time":${startSeconds}`);
  };
}

/** Holds requests, but not the first one for the service's time, until an awaited request is sent. */
function holding(held: Asked, awaited: Asked): SendRequest {
  const [isHeld, isAwaited] = [asksFor(held), asksFor(awaited)];
  const came = Promise.withResolvers<void>();
  let sent = 0;
  return async (request, limits) => {
    sent += 1;
    if (isAwaited(request)) came.resolve();
    if (sent > 1 && isHeld(request)) await came.promise;
    return sendRequest(request, limits);
  };
}

/** The days of a run in the order in which it claimed and ended them: `claimed clicks_list 2026-03-10`. */
function steps() {
  const seen: string[] = [];
  const log = (event: LogEvent) => {
    if (event.event === 'day_claimed') seen.push(`claimed ${event.report} ${event.day}`);
    if (event.event === 'day_ended') seen.push(`ended ${event.report} ${event.day}`);
  };
  return { seen, log };
}

describe('the days of a run are one queue:', () => {
  it.each<{ name: string; reports: ReportName[]; held: Asked; awaited: Asked }>([
    {
      name: 'an older day is read while an urgent one still is',
      reports: ['order_list'],
      held: { report: 'order_list', day: YESTERDAY },
      awaited: { report: 'order_list', day: FIRST },
    },
    {
      name: 'clicks of the open day are looked up while yesterday’s are still read',
      reports: CLICKS,
      held: { report: 'clicks_list', day: YESTERDAY },
      awaited: { report: 'clicks_detail', day: TODAY },
    },
    {
      name: 'clicks of a day never read before are looked up while clicks of another day are still read',
      reports: CLICKS,
      held: { report: 'clicks_list', day: FIRST },
      awaited: { report: 'clicks_detail', day: '2026-03-06' },
    },
  ])(
    'A day waits for no phase: $name',
    async ({ reports, held, awaited }) => {
      const lake = sample.emptyLake();
      const { status } = await lake.sync({ scope: { reports }, send: holding(held, awaited) });
      expect(status).toBe('complete');
      expect(await wrongReports(lake, TODAY, reports)).toEqual({});
    },
    20_000,
  );

  it('clicks are looked up even if one write commits several of their days', async () => {
    const lake = sample.emptyLake();
    /** Fault: a store with slow writes of ledgers, so that changes of several days share one write. */
    const store = storeAround(lake.store, async ({ name, on }, act) => {
      if (name === 'put' && on.startsWith('ledger/clicks_list/')) await setTimeout(20);
      return act();
    });
    const slow = lake.over(store);
    const { status } = await lake.sync({
      ...{ scope: { reports: CLICKS }, lake: slow, commonSettings: { pagesInFlight: 16 } },
    });
    expect(status).toBe('complete');
  });

  it('all reports write `coverage` together at their end', async () => {
    const lake = sample.emptyLake();
    const written = () => [...lake.store.objects.keys()].filter((key) => /^snapshots\/coverage\//.test(key));
    expect((await lake.sync()).status).toBe('complete');
    expect(written()).toHaveLength(1);
    lake.nowMs += 20 * HOUR_MS;
    expect((await lake.sync()).status).toBe('complete');
    expect(written()).toHaveLength(2);
  }, 20_000);

  it.each<{ name: string; pagesInFlight: number; before: ReportName[] }>([
    { name: 'of an empty lake, one at a time', pagesInFlight: 1, before: [] },
    { name: 'of an empty lake, several at a time', pagesInFlight: 4, before: [] },
    { name: 'that is read again, one at a time', pagesInFlight: 1, before: ['clicks_list'] },
    { name: 'that is read again, several at a time', pagesInFlight: 4, before: ['clicks_list'] },
  ])('clicks are looked up after their own day $name', async ({ pagesInFlight, before }) => {
    const lake = sample.emptyLake();
    if (before.length > 0) await lake.sync({ scope: { reports: before } });
    lake.nowMs += 20 * HOUR_MS;
    const today = dayOf(lake.nowMs, ZONE);
    const { seen, log } = steps();
    const options = { scope: { reports: CLICKS }, commonSettings: { pagesInFlight }, log };
    expect((await lake.sync(options)).status).toBe('complete');
    const read = daysFrom(FIRST, today).filter((day) => seen.includes(`claimed clicks_list ${day}`));
    expect(read).toContain(TODAY);
    for (const day of read)
      expect(seen.indexOf(`claimed clicks_detail ${day}`)).toBeGreaterThan(
        seen.indexOf(`ended clicks_list ${day}`),
      );
    expect(await wrongReports(lake, today, CLICKS)).toEqual({});
  });
});

it('clicks are looked up even if the service no longer returns their days', async () => {
  const lake = sample.emptyLake();
  await lake.sync({ scope: { reports: ['clicks_list'] } });
  lake.nowMs += 20 * HOUR_MS;
  const mend = sample.service.addFault({
    on: { action: 'report/clicks_list' },
    fault: { kind: 'status', status: 503 },
  });
  const outcome = await lake.sync({
    scope: { reports: CLICKS, from: FIRST, to: TODAY },
    commonSettings: { pagesInFlight: 1 },
  });
  mend();
  const ofClicks = Object.values(outcomesOf(outcome, 'clicks_list'));
  expect(ofClicks.sort()).toEqual(['failed', 'failed', 'failed', 'failed', 'failed', 'pending']);
  const ofDetails = Object.values(outcomesOf(outcome, 'clicks_detail'));
  expect(ofDetails).toEqual(ofClicks.map(() => 'published'));
});

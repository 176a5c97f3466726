import { afterEach, describe, expect, it } from '@jest/globals';
import { recordsOfDay } from '../../sample/brand.ts';
import type { Fault } from '../../sample/faults.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import { type Json, numberText } from '../../shared/base/json.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { coverageOf, ledgerEntry, requestsOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake, type SyncOptions } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-03-09';
const TODAY = '2026-03-10';
/** When the day is over and closed. */
const AFTER = Date.parse('2026-03-10T04:30:00Z');
const scope = { reports: ['clicks_list', 'clicks_detail'] };

const sample = sharedLakes({
  now: '2026-03-09T16:00:00Z',
  recordsTo: '2026-03-10T04:00:00Z',
  startDate: DAY,
  clicksPerDay: 220,
});

const faults: (() => void)[] = [];
afterEach(() => {
  for (const stop of faults.splice(0)) stop();
});

/** A lake after the end of the day. */
function closedDay(): SampleLake {
  const lake = sample.emptyLake();
  lake.nowMs = AFTER;
  return lake;
}

function clickIds(lake: SampleLake): string[] {
  return recordsOfDay(lake.brand, 'clicks_list', DAY).map(({ id }) => String(id));
}

const digits = (value: Json | undefined) => numberText(value) ?? String(value);

/** Answers the details of these clicks with the fault. @returns a function that ends it */
function refuse(lake: SampleLake, ids: readonly string[], fault: Fault): () => void {
  const refused = new Set(ids);
  const when = ({ fields }: { fields: Record<string, Json> }) => refused.has(digits(fields.id));
  const stop = lake.service.addFault({ on: { action: 'report/clicks_detail', when }, fault });
  faults.push(stop);
  return stop;
}

const CODE: Fault = { kind: 'code', code: 17, msg: 'no detail of this click' };

/** One run: the clicks that it requested, the outcome of the day, and its warnings of refused lookups. */
async function run(lake: SampleLake, options: SyncOptions = {}) {
  const before = requestsOf(lake, 'clicks_detail').length;
  const warnings: LogEvent[] = [];
  const outcome = await lake.sync({
    scope,
    fixedNow: new Date(lake.nowMs),
    log: (event) => void (event.event === 'lookups_refused' && warnings.push(event)),
    ...options,
  });
  const requests = requestsOf(lake, 'clicks_detail').slice(before);
  const report = outcome.reports.find(({ report }) => report === 'clicks_detail');
  return {
    requested: requests.map(({ fields }) => digits(fields.id)),
    day: report?.days.find(({ dt }) => dt === DAY),
    status: report?.status,
    error: report?.error,
    warnings,
  };
}

async function committed(lake: SampleLake) {
  return (await ledgerEntry(lake, 'clicks_detail', DAY)).committed;
}

describe('a click whose detail is refused', () => {
  it.each<[string, Fault]>([
    ['a code', CODE],
    ['an answer about another click', { kind: 'other_id' }],
    ['HTML', { kind: 'html' }],
    ['HTTP 400', { kind: 'status', status: 400 }],
  ])('is left out alone and counted, given %s', async (_name, fault) => {
    const lake = closedDay();
    const ids = await afterReleased(lake);
    const [refused = ''] = ids;
    const stop = refuse(lake, [refused], fault);
    const { day, status, warnings } = await run(lake);
    stop();
    expect(status).toBe('complete');
    expect(day).toMatchObject({ outcome: 'published', rows: ids.length - 1, refusedLookups: 1 });
    expect(warnings).toMatchObject([{ day: DAY, lookups: 1, message: expect.stringContaining(refused) }]);
    expect(await committed(lake)).toMatchObject({
      state: 'closed',
      refusedLookups: { count: 1, retryAt: new Date(AFTER + HOUR_MS).toISOString() },
    });
    expect((await coverageOf(lake, 'clicks_detail'))[DAY]).toMatchObject({
      state: 'complete',
      refused_lookups: 1n,
      next_due: new Date(AFTER + HOUR_MS),
    });
  });

  it('is not requested before its wait is over, and then alone, until it is answered', async () => {
    const lake = closedDay();
    const ids = await afterReleased(lake);
    const [refused = ''] = ids;
    const stop = refuse(lake, [refused], CODE);
    // A refusal may pass, so it is retried five times.
    expect((await run(lake)).requested.length).toBe(ids.length + 5);
    for (lake.nowMs += MINUTE_MS; lake.nowMs < AFTER + HOUR_MS; lake.nowMs += 20 * MINUTE_MS)
      expect((await run(lake)).requested).toEqual([]);
    lake.nowMs = AFTER + HOUR_MS;
    const again = await run(lake);
    expect(again).toMatchObject({ day: { outcome: 'unchanged', refusedLookups: 1 } });
    // Before the lookup counts as refused, a click that was found earlier proves that the service answers lookups.
    expect([again.requested[0], again.requested.length]).toEqual([refused, 2 + 5]);
    stop();
    lake.nowMs += HOUR_MS;
    expect((await run(lake)).requested).toEqual([]);
    lake.nowMs += HOUR_MS;
    const found = await run(lake);
    expect(found.requested).toEqual([refused]);
    expect(found.day).toMatchObject({ outcome: 'published', rows: ids.length });
    expect(found.day).not.toHaveProperty('refusedLookups');
    expect(found.warnings).toEqual([]);
    expect(await committed(lake)).not.toHaveProperty('refusedLookups');
    expect(await wrongReports(lake, TODAY, ['clicks_detail'])).toEqual({});
  });

  describe('and requested again, after a click that was found before', () => {
    /** A lake whose refused clicks are due and no longer refused. */
    async function refusedBefore(): Promise<{ lake: SampleLake; ids: string[]; refused: string[] }> {
      const lake = closedDay();
      const ids = await afterReleased(lake);
      const refused = ids.slice(0, 3);
      const stop = refuse(lake, refused, CODE);
      await run(lake);
      stop();
      lake.nowMs += HOUR_MS;
      return { lake, ids, refused };
    }
    const alone = { scope: { reports: ['clicks_detail'] } };

    it('is found without further requests, because the first request of the run has proven the credentials', async () => {
      const { lake, ids, refused } = await refusedBefore();
      const lists = requestsOf(lake, 'clicks_list').length;
      const { status, day, requested } = await run(lake, alone);
      expect(status).toBe('complete');
      expect(day).toMatchObject({ outcome: 'published', rows: ids.length });
      expect(requested.toSorted()).toEqual(refused.toSorted());
      expect(requestsOf(lake, 'clicks_list').length).toBe(lists);
    });

    it('fails as refused credentials after two requests if the list is refused too', async () => {
      const { lake } = await refusedBefore();
      const requests = () =>
        requestsOf(lake, 'clicks_detail').length + requestsOf(lake, 'clicks_list').length;
      const before = requests();
      faults.push(lake.service.addFault({ on: {}, fault: CODE }));
      const tries = (await committed(lake))?.refusedLookups;
      const { error } = await run(lake, alone);
      expect(error).toMatchObject({ kind: 'auth', code: 'refused' });
      expect(requests() - before).toBe(2);
      expect((await committed(lake))?.refusedLookups).toEqual(tries);
    });
  });
});

/** Of the lookups that are under way when the first of them has been refused six times. */
const RETRIES = 4 * 5;

describe('a service that refuses every detail', () => {
  it.each<[string, Fault, number]>([
    ['with a code', CODE, 10],
    ['with HTML', { kind: 'html' }, 10],
  ])('fails the day after a few calls, %s', async (_name, fault, calls) => {
    const lake = closedDay();
    const ids = await afterReleased(lake);
    const stop = refuse(lake, ids, fault);
    const { requested, status, error } = await run(lake);
    stop();
    expect(status).toBe('failed');
    expect(error).toMatchObject({ kind: 'contract', message: expect.stringContaining('refuse the action') });
    expect(requested.length).toBeLessThan(calls + 4 + RETRIES);
    expect(await committed(lake)).toBeUndefined();
    lake.nowMs += HOUR_MS;
    expect((await run(lake)).day).toMatchObject({ outcome: 'published', rows: ids.length });
  });

  it('fails the day even if it answered some lookups before', async () => {
    const lake = closedDay();
    const ids = await afterReleased(lake);
    const stop = lake.service.addFault({
      on: { action: 'report/clicks_detail', nth: 41, times: 1000 },
      fault: CODE,
    });
    const { requested, status } = await run(lake);
    stop();
    expect(status).toBe('failed');
    expect(requested.length).toBeLessThan(40 + 101 + 4 + RETRIES);
    lake.nowMs += HOUR_MS;
    await run(lake);
    lake.nowMs += HOUR_MS;
    await run(lake);
    expect(await committed(lake)).toMatchObject({ rows: ids.length });
    expect(await committed(lake)).not.toHaveProperty('refusedLookups');
  });
});

describe('the details of the open day', () => {
  it('I2: are looked up once each, although no run has time for all and new clicks keep appearing', async () => {
    const lake = sample.emptyLake();
    lake.nowMs = Date.parse('2026-03-09T23:00:00Z');
    const requested: string[] = [];
    for (let runs = 0; runs < 5; runs += 1) {
      await run(lake, { scope: { reports: ['clicks_list'] } });
      const { requested: now } = await run(lake, {
        scope: { reports: ['clicks_detail'] },
        deadline: NO_TIME,
      });
      requested.push(...now);
      // A run without time looks up one page of 50 clicks.
      if (runs < 2)
        expect({ now: now.length, all: clickIds(lake).length > requested.length }).toEqual({
          now: 50,
          all: true,
        });
      lake.nowMs += 10 * MINUTE_MS;
    }
    expect(new Set(requested).size).toBe(requested.length);
    await run(lake);
    expect(await wrongReports(lake, DAY, ['clicks_list', 'clicks_detail'])).toEqual({});
  });
});

/** The ids of the day's clicks, after the service has all of them: a lake releases records when it syncs. */
async function afterReleased(lake: SampleLake): Promise<string[]> {
  await lake.sync({ scope: { reports: ['clicks_list'] } });
  return clickIds(lake);
}

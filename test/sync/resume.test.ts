import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import type { Readings } from '../../sample/readings.ts';
import { numberText } from '../../shared/json.ts';
import {
  HOUR,
  MINUTE,
  NO_TIME,
  type SampleLake,
  entryOf,
  errorOf,
  requestsOf,
  sampleLake,
  wrongReports,
} from './sample-lake.ts';

const NOW = '2026-03-10T15:00:00Z';
const TODAY = '2026-03-10';
const FIRST = '2026-03-09';
const cursors: ReportName[] = ['transaction_list', 'amazon_attribution_report'];

const lakes: SampleLake[] = [];
async function lakeWith(readings: Partial<Readings>, clicksPerDay = 10): Promise<SampleLake> {
  const lake = await sampleLake({
    now: NOW,
    startDate: FIRST,
    clicksPerDay,
    readings: { pageCap: 3, ...readings },
  });
  lakes.push(lake);
  return lake;
}

let service: SampleLake;
beforeAll(async () => {
  service = await lakeWith({});
});
afterAll(() => Promise.all(lakes.map((lake) => lake.close())));

/** Runs until the day is begun, and has more than a page left to read. */
async function begin(lake: SampleLake, reports: ReportName[]): Promise<void> {
  const outcome = await lake.sync({ scope: { reports, from: FIRST, to: FIRST }, deadline: NO_TIME });
  expect(outcome.status).toBe('incomplete');
}

const goOn = (lake: SampleLake, reports: ReportName[], change = {}) =>
  lake.sync({ scope: { reports, from: FIRST, to: FIRST }, change });

/** The pages that the service was asked for since, by what asked for them. */
async function askedIn(lake: SampleLake, report: ReportName, act: () => Promise<unknown>): Promise<string[]> {
  const before = requestsOf(lake, report).length;
  await act();
  return requestsOf(lake, report)
    .slice(before)
    .filter(
      ({ fields: { start_time, end_time } }) =>
        start_time === undefined || numberText(start_time) !== numberText(end_time),
    )
    .map(({ fields: { first, page_number, cursor } }) => {
      const asked = first ?? page_number ?? cursor ?? 'start';
      return numberText(asked) ?? String(asked);
    });
}

const onlyFirst = (lake: SampleLake) => ({ ...lake, startDate: FIRST });

describe('a day that one run begins and others go on with', () => {
  it.each([
    ['clicks_list', '0'],
    ['order_list', '1'],
  ] as const)(
    'I4: %s: the last staged page is asked again, once, and then those behind it',
    async (report, first) => {
      const lake = service.beside();
      await begin(lake, [report]);
      const asked = await askedIn(lake, report, () => goOn(lake, [report]));
      expect(asked.filter((page) => page === first)).toHaveLength(1);
      expect(await wrongReports(onlyFirst(lake), FIRST, [report])).toEqual({});
    },
  );

  it.each(cursors)('I4: %s: the first cursor is not asked again', async (report) => {
    const lake = service.beside();
    await begin(lake, [report]);
    expect(await askedIn(lake, report, () => goOn(lake, [report]))).not.toContain('start');
    expect(await wrongReports(onlyFirst(lake), FIRST, [report])).toEqual({});
  });

  it.each(['clicks_list', 'order_list'] as const)(
    'I1: %s: where the last staged page is no more what it was, the day is begun anew',
    async (report) => {
      const lake = service.beside();
      await begin(lake, [report]);
      // The first record of the day goes, and every other one moves up a place.
      lake.brand.records[report] = lake.brand.records[report].slice(1);
      expect((await goOn(lake, [report])).status).toBe('complete');
      expect(await wrongReports(onlyFirst(lake), FIRST, [report])).toEqual({});
    },
  );

  it.each([
    ['filters', { reports: { transaction_list: { filters: { order_status: 'paid' } } } }],
    ['zone', { timeZone: 'Europe/Berlin' }],
    ['meaning of end_date', { endDate: 'midnight' }],
  ])('I1: is begun anew where the %s of the settings changed in between', async (_name, change) => {
    const lake = service.beside();
    await begin(lake, ['transaction_list']);
    expect(await askedIn(lake, 'transaction_list', () => goOn(lake, ['transaction_list'], change))).toContain(
      'start',
    );
    await lake.sync({ scope: { reports: ['transaction_list'] } });
    expect(await wrongReports(lake, TODAY, ['transaction_list'])).toEqual({});
  });

  it.each([
    ['within resumeWithinHours, it is gone on with', 6 * HOUR, false],
    ['older than that, it is begun anew', 6 * HOUR + MINUTE, true],
  ])('I4: %s', async (_name, ms, anew) => {
    const lake = service.beside();
    await begin(lake, ['transaction_list']);
    lake.nowMs += ms;
    const asked = await askedIn(lake, 'transaction_list', () => goOn(lake, ['transaction_list']));
    expect(asked.includes('start')).toBe(anew);
    expect(await wrongReports(onlyFirst(lake), FIRST, ['transaction_list'])).toEqual({});
  });

  it('I2: begun while the day was open, and gone on with after it, is begun anew', async () => {
    const lake = await sampleLake({
      now: '2026-03-10T03:50:00Z',
      recordsTo: '2026-03-10T05:00:00Z',
      startDate: FIRST,
      clicksPerDay: 10,
      readings: { pageCap: 3 },
    });
    lakes.push(lake);
    for (const reports of [['order_list'], ['clicks_list']] as ReportName[][]) {
      const fresh = lake.beside();
      await begin(fresh, reports);
      fresh.nowMs += 30 * MINUTE;
      expect((await goOn(fresh, reports)).status).toBe('complete');
      expect((await entryOf(fresh, reports[0] ?? 'order_list', FIRST)).committed?.state).toBe('closed');
      expect(await wrongReports(onlyFirst(fresh), FIRST, reports)).toEqual({});
    }
  });
});

describe('cursors that die between runs', () => {
  it.each([
    ['of transactions and attribution', {}, cursors],
    ['of clicks', { endCursor: 'opaque' }, ['clicks_list', 'clicks_detail']],
  ] as [string, Partial<Readings>, ReportName[]][])(
    'I4: %s: a day is begun anew, and then read to its end whatever the time',
    async (_name, readings, reports) => {
      const lake = await lakeWith({ ...readings, cursorLife: 6 });
      const [report = 'clicks_list'] = reports;
      const asked = await askedIn(lake, report, async () => {
        for (let status = 'incomplete', runs = 0; status === 'incomplete'; runs += 1) {
          ({ status } = await lake.sync({ scope: { reports }, deadline: NO_TIME }));
          // Others ask the service too, and by that the cursors of this lake become old.
          const [one] = lake.service.requests;
          if (one) lake.service.requests.push(...Array(6).fill(one));
          expect(runs).toBeLessThan(100);
        }
      });
      const begun = asked.filter((page) => page === 'start' || page === '0');
      // Each of the two days: begun, asked again with a cursor that has died, begun anew.
      expect(begun.length).toBeGreaterThan(2);
      expect(await wrongReports(lake, TODAY, reports)).toEqual({});
    },
  );

  it('I8: fail the day, naming what helps, where they die three times in a row', async () => {
    const lake = service.beside();
    const request = { reports: ['transaction_list'], from: FIRST, to: FIRST };
    // Every resume's first request is refused, and what is read to its end breaks in the middle.
    const codes: (string | undefined)[] = [];
    await lake.sync({ scope: request, deadline: NO_TIME });
    for (let runs = 0; runs < 6; runs += 1) {
      const heals = [
        lake.service.addFault({
          on: { action: 'report/transaction_list', nth: 1 },
          fault: { kind: 'code', code: 9, msg: 'unknown cursor' },
        }),
        lake.service.addFault({
          on: { action: 'report/transaction_list', nth: 3, times: 50 },
          fault: { kind: 'status', status: 503 },
        }),
      ];
      const outcome = await lake.sync({ scope: request });
      for (const heal of heals) heal();
      codes.push(errorOf(outcome, 'transaction_list')?.code);
      lake.nowMs += 10 * MINUTE;
    }
    expect(codes).toContain('cursor_dies');
    expect((await lake.sync({ scope: request })).status).toBe('complete');
    expect(await wrongReports(onlyFirst(lake), FIRST, ['transaction_list'])).toEqual({});
  });
});

describe('what was staged and is damaged', () => {
  it.each([
    ['missing', async (lake: SampleLake, key: string) => lake.store.delete([key])],
    [
      'cut off',
      async (lake: SampleLake, key: string) => {
        const object = lake.store.objects.get(key);
        if (object) lake.store.objects.set(key, { ...object, body: object.body.slice(0, 20) });
      },
    ],
  ] as const)(
    'I4: a chunk that is %s fails the day once; the next run reads it anew',
    async (_name, damage) => {
      const lake = service.beside();
      await begin(lake, ['order_list']);
      const chunk = [...lake.store.objects.keys()].find((key) => key.includes('chunk-')) ?? '';
      await damage(lake, chunk);
      const outcome = await goOn(lake, ['order_list']);
      expect(errorOf(outcome, 'order_list')?.code).toBe('damaged_chunk');
      lake.nowMs += MINUTE;
      expect((await goOn(lake, ['order_list'])).status).toBe('complete');
      expect(await wrongReports(onlyFirst(lake), FIRST, ['order_list'])).toEqual({});
    },
  );
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { MINUTE_MS } from '../../shared/base/days.ts';
import { numberText } from '../../shared/base/json.ts';
import { errorOf, requestsOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake, sampleLake } from './sample-lake.ts';

const NOW = '2026-03-10T15:00:00Z';
const TODAY = '2026-03-10';
const FIRST = '2026-03-09';
const cursors: ReportName[] = ['transaction_list', 'amazon_attribution_report'];

const lakes: SampleLake[] = [];
async function lakeWith(interpretations: Partial<Interpretations>, clicksPerDay = 10): Promise<SampleLake> {
  const lake = await sampleLake({
    now: NOW,
    startDate: FIRST,
    clicksPerDay,
    interpretations: { pageCap: 3, ...interpretations },
  });
  lakes.push(lake);
  return lake;
}

let sample: SampleLake;
beforeAll(async () => {
  sample = await lakeWith({});
});
afterAll(() => Promise.all(lakes.map((lake) => lake.close())));

/** One unit of work of the day, a page, which leaves more pages to read. */
async function begin(lake: SampleLake, reports: ReportName[]): Promise<void> {
  const outcome = await lake.sync({ scope: { reports, from: FIRST, to: FIRST }, deadline: NO_TIME });
  expect(outcome.status).toBe('incomplete');
}

const resume = (lake: SampleLake, reports: ReportName[], brandSettings = {}) =>
  lake.sync({ scope: { reports, from: FIRST, to: FIRST }, brandSettings });

/** The pages that `act` requested, each by its cursor, position or number. */
async function pagesAskedDuring(
  lake: SampleLake,
  report: ReportName,
  act: () => Promise<unknown>,
): Promise<string[]> {
  const before = requestsOf(lake, report).length;
  await act();
  return requestsOf(lake, report)
    .slice(before)
    .filter(
      ({ fields: { start_time, end_time } }) =>
        start_time === undefined || numberText(start_time) !== numberText(end_time),
    )
    .map(({ fields: { first, page_number, cursor } }) => {
      const page = first ?? page_number ?? cursor ?? 'start';
      return numberText(page) ?? String(page);
    });
}

const onlyFirst = (lake: SampleLake) => ({ ...lake, startDate: FIRST });

describe('a day that one run starts and another resumes', () => {
  it.each([
    ['clicks_list', '0'],
    ['order_list', '1'],
    ['transaction_list', 'start'],
    ['amazon_attribution_report', 'start'],
  ] as const)(
    'I4: of %s, requests the last staged page again, and then the pages after it',
    async (report, first) => {
      const lake = sample.emptyLake();
      await begin(lake, [report]);
      const pages = await pagesAskedDuring(lake, report, () => resume(lake, [report]));
      expect(pages.filter((page) => page === first)).toHaveLength(1);
      expect(await wrongReports(onlyFirst(lake), FIRST, [report])).toEqual({});
    },
  );
});

describe('cursors that die between runs', () => {
  it.each([
    ['transactions and attribution', {}, cursors],
    ['clicks', { endCursor: 'opaque' }, ['clicks_list', 'clicks_detail']],
  ] as [string, Partial<Interpretations>, ReportName[]][])(
    'I4: of %s, restart the day, which is then read to its end whatever the deadline',
    async (_name, interpretations, reports) => {
      const lake = await lakeWith({ ...interpretations, cursorLife: 6 });
      const [report = 'clicks_list'] = reports;
      const pages = await pagesAskedDuring(lake, report, async () => {
        for (let status = 'incomplete', runs = 0; status === 'incomplete'; runs += 1) {
          ({ status } = await lake.sync({ scope: { reports }, deadline: NO_TIME }));
          // Other clients' requests make the cursors of this lake expire.
          const [request] = lake.service.requests;
          if (request) lake.service.requests.push(...Array(6).fill(request));
          expect(runs).toBeLessThan(100);
        }
      });
      const starts = pages.filter((page) => page === 'start' || page === '0');
      // Each of the two days is started, resumed with a dead cursor, and restarted.
      expect(starts.length).toBeGreaterThan(2);
      expect(await wrongReports(lake, TODAY, reports)).toEqual({});
    },
  );
});

describe('a staged chunk that is damaged', () => {
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
    'I4: fails the day once if it is %s, and the next run restarts the day',
    async (_name, damage) => {
      const lake = sample.emptyLake();
      await begin(lake, ['order_list']);
      const chunk = [...lake.store.objects.keys()].find((key) => key.includes('chunk-')) ?? '';
      await damage(lake, chunk);
      const outcome = await resume(lake, ['order_list']);
      expect(errorOf(outcome, 'order_list')?.code).toBe('damaged_chunk');
      lake.nowMs += MINUTE_MS;
      expect((await resume(lake, ['order_list'])).status).toBe('complete');
      expect(await wrongReports(onlyFirst(lake), FIRST, ['order_list'])).toEqual({});
    },
  );
});

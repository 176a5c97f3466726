import { afterEach, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { HOUR_MS } from '../../shared/days.ts';
import { ledgerEntries, wrongReports } from './lake-contents.ts';
import { type SampleLake, type SyncOptions, sampleLake } from './sample-lake.ts';

const START = '2025-12-01';
const YESTERDAY = '2026-03-09';
const TODAY = '2026-03-10';
const PAGED: ReportName[] = ['clicks_list', 'order_list', 'transaction_list', 'amazon_attribution_report'];

let lake: SampleLake;
afterEach(() => lake.close());

/** Time is up after this many requests. */
function deadlineAfterRequests(requests: number): SyncOptions['deadline'] {
  const begun = lake.service.requests.length;
  return {
    get softMs() {
      return lake.service.requests.length - begun >= requests ? 0 : Number.POSITIVE_INFINITY;
    },
    hardMs: Number.POSITIVE_INFINITY,
  };
}

async function begin(): Promise<void> {
  lake = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    recordsTo: '2026-03-11T15:00:00Z',
    startDate: START,
    clicksPerDay: 6,
    reports: PAGED,
  });
}

const daysOf = async (report: ReportName) => (await ledgerEntries(lake, report)).map(([day]) => day);

describe('runs with little time and months to catch up on', () => {
  it('read the open day and yesterday of every report in the first run', async () => {
    await begin();
    await lake.sync({ deadline: deadlineAfterRequests(30) });
    for (const report of PAGED) {
      const days = await daysOf(report);
      expect(days).toContain(TODAY);
      expect(days).toContain(YESTERDAY);
    }
  });

  it('read older days of every report in each run, and complete in the end', async () => {
    await begin();
    const older = new Map(PAGED.map((report) => [report, 0]));
    for (let run = 0; run < 4; run += 1) {
      await lake.sync({ deadline: deadlineAfterRequests(60) });
      lake.nowMs += HOUR_MS;
      for (const report of PAGED) {
        const count = (await daysOf(report)).filter((day) => day < YESTERDAY).length;
        expect(count).toBeGreaterThan(older.get(report) ?? 0);
        older.set(report, count);
      }
    }
    expect((await lake.sync()).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, PAGED)).toEqual({});
  });
});

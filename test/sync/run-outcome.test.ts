import { afterEach, describe, expect, it } from '@jest/globals';
import type { ReportOutcome } from '../../shared/base/outcome.ts';
import type { Fault } from '../../sample/faults.ts';
import { type SampleLake, type SampleLakeOptions, type SyncOptions, sampleLake } from './sample-lake.ts';

let lake: SampleLake;

afterEach(() => lake.close());

async function begin(options: Partial<SampleLakeOptions> = {}): Promise<void> {
  lake = await sampleLake({
    now: '2026-03-03T17:00:00Z',
    startDate: '2026-02-27',
    recordsTo: '2026-03-05T17:00:00Z',
    reports: ['order_list', 'transaction_list'],
    ...options,
  });
}

async function sync(report: string, options?: SyncOptions): Promise<ReportOutcome> {
  const { reports } = await lake.sync(options);
  const outcome = reports.find((candidate) => candidate.report === report);
  if (!outcome) throw new Error(`the run has no outcome of ${report}`);
  return outcome;
}

describe('the count of requests', () => {
  it.each<[string, Fault, number]>([
    ['two responses of 429', { kind: 'status', status: 429, retryAfter: '1' }, 2],
    ['two responses of 503', { kind: 'status', status: 503 }, 0],
    ['two connection resets', { kind: 'reset' }, 0],
  ])('is separate for each report after %s', async (_name, fault, throttles) => {
    await begin();
    const scope = { from: '2026-03-01', to: '2026-03-01' };
    const { requests } = await sync('order_list', { scope });
    lake.service.addFault({ on: { action: 'report/order_list', times: 2 }, fault });
    const { reports } = await lake.sync({ scope });
    expect(reports).toMatchObject([
      { report: 'order_list', requests: requests + 2, retries: 2, throttles },
      { report: 'transaction_list', retries: 0, throttles: 0 },
    ]);
  });
});

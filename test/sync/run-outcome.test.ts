import { afterEach, describe, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../shared/errors.ts';
import type { ReportOutcome } from '../../shared/outcome.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import type { Fault } from '../../sample/faults.ts';
import {
  type SampleLake,
  type SampleLakeOptions,
  type SyncOptions,
  blindRegistry,
  sampleLake,
} from './sample-lake.ts';

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

describe('a store that breaks down while a day is read', () => {
  it('does not change the outcome of the other days', async () => {
    await begin({ startDate: '2026-03-01', reports: ['order_list'] });
    const { store, catalog } = lake;
    let writes = 0;
    const isBroken = (key: string) => key.includes('dt=2026-03-01/') && key.endsWith('progress.json');
    const unavailable = new BrandReportsError('transient', 'aws_unavailable', 'Run again later.');
    const breaking: ObjectStore = {
      ...store,
      get: async (key) => {
        if (isBroken(key) && writes > 1) throw unavailable;
        return store.get(key);
      },
      put: async (key, body, precondition) => {
        if (isBroken(key)) writes += 1;
        if (isBroken(key) && writes > 1) throw unavailable;
        return store.put(key, body, precondition);
      },
    };
    const { status, days, error } = await sync('order_list', {
      lake: { store: breaking, catalog, runs: blindRegistry },
    });
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'aws_unavailable' });
    expect(days.map(({ dt, outcome }) => `${dt} ${outcome}`)).toEqual(
      expect.arrayContaining(['2026-03-03 published', '2026-03-02 published']),
    );
  });
});

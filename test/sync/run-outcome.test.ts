import { afterEach, describe, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../shared/errors.ts';
import type { ReportOutcome } from '../../shared/outcome.ts';
import type { Fault } from '../../sample/faults.ts';
import { DAY, type SampleLake, type SampleLakeOptions, type SyncChange, sampleLake } from './sample-lake.ts';

const missing = {
  read: async () => {
    throw new BrandReportsError('config', 'secret_missing', 'create the secret');
  },
};

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

async function told(report: string, change?: SyncChange): Promise<ReportOutcome> {
  const { reports } = await lake.sync(change);
  const found = reports.find((one) => one.report === report);
  if (!found) throw new Error(`the run says nothing of ${report}`);
  return found;
}

describe('what went to the service', () => {
  it.each<[string, Fault, number]>([
    ['two answers of a limit on the rate', { kind: 'status', status: 429, retryAfter: '1' }, 2],
    ['two answers of an outage', { kind: 'status', status: 503 }, 0],
    ['two connections that were cut', { kind: 'reset' }, 0],
  ])('is counted for each report by itself after %s', async (_name, fault, throttles) => {
    await begin();
    const request = { from: '2026-03-01', to: '2026-03-01' };
    const { requests } = await told('order_list', { scope: request });
    lake.service.addFault({ on: { action: 'report/order_list', times: 2 }, fault });
    const { reports } = await lake.sync({ scope: request });
    expect(reports).toMatchObject([
      { report: 'order_list', requests: requests + 2, retries: 2, throttles },
      { report: 'transaction_list', retries: 0, throttles: 0 },
    ]);
  });
});

describe('the newest complete day', () => {
  it('is yesterday after a complete sync, whatever is due', async () => {
    await begin();
    expect((await told('order_list')).newestComplete).toBe('2026-03-02');
    expect((await told('order_list')).newestComplete).toBe('2026-03-02');
  });

  it('is none where only the open day could be read', async () => {
    await begin({ startDate: '2026-03-03' });
    expect(await told('order_list')).toMatchObject({ status: 'complete', newestComplete: null });
  });

  it('is none where nothing was ever read', async () => {
    await begin();
    expect(await told('order_list', { credentials: missing })).toMatchObject({
      status: 'failed',
      newestComplete: null,
    });
  });

  it('is none where nothing but empty answers came, which prove nothing', async () => {
    await begin({ recordsTo: '2026-02-27T00:00:00Z' });
    expect(await told('order_list')).toMatchObject({ status: 'complete', newestComplete: null });
  });

  it.each<[string, SyncChange]>([
    ['whose days all fail', { credentials: missing }],
    ['that was stopped', { signal: AbortSignal.abort() }],
  ])('is the one before in a run %s', async (_name, change) => {
    await begin();
    await lake.sync();
    lake.nowMs += DAY;
    expect((await told('order_list', change)).newestComplete).toBe('2026-03-02');
    expect((await told('order_list')).newestComplete).toBe('2026-03-03');
  });

  it('is found in a month before', async () => {
    await begin({ now: '2026-02-28T17:00:00Z' });
    await lake.sync();
    lake.nowMs = Date.parse('2026-03-02T17:00:00Z');
    expect((await told('order_list', { credentials: missing })).newestComplete).toBe('2026-02-27');
  });

  it('is not known where a ledger cannot be read, which is no bug', async () => {
    await begin();
    await lake.sync();
    const key = 'ledger/order_list/acme/2026-03.json';
    lake.store.objects.set(key, {
      body: new TextEncoder().encode('{'),
      etag: 'spoiled',
      modifiedAt: new Date(lake.nowMs),
    });
    expect(await told('order_list')).toMatchObject({ status: 'failed', newestComplete: null });
  });
});

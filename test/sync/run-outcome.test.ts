import { afterEach, describe, expect, it } from '@jest/globals';
import { DAY_MS } from '../../shared/days.ts';
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

const missingSecret = {
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
  ])('is each report’s own after %s', async (_name, fault, throttles) => {
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

describe('the newest complete day', () => {
  it('is yesterday after a complete sync, whatever is due', async () => {
    await begin();
    expect((await sync('order_list')).newestComplete).toBe('2026-03-02');
    expect((await sync('order_list')).newestComplete).toBe('2026-03-02');
  });

  it('is none where only the open day could be read', async () => {
    await begin({ startDate: '2026-03-03' });
    expect(await sync('order_list')).toMatchObject({ status: 'complete', newestComplete: null });
  });

  it('is none where nothing was read yet', async () => {
    await begin();
    expect(await sync('order_list', { credentials: missingSecret })).toMatchObject({
      status: 'failed',
      newestComplete: null,
    });
  });

  it('is none where only empty responses came, which prove nothing', async () => {
    await begin({ recordsTo: '2026-02-27T00:00:00Z' });
    expect(await sync('order_list')).toMatchObject({ status: 'complete', newestComplete: null });
  });

  it.each<[string, SyncOptions]>([
    ['whose days all fail', { credentials: missingSecret }],
    ['that was stopped', { signal: AbortSignal.abort() }],
  ])('is the previous one in a run %s', async (_name, options) => {
    await begin();
    await lake.sync();
    lake.nowMs += DAY_MS;
    expect((await sync('order_list', options)).newestComplete).toBe('2026-03-02');
    expect((await sync('order_list')).newestComplete).toBe('2026-03-03');
  });

  it('is found in the month before', async () => {
    await begin({ now: '2026-02-28T17:00:00Z' });
    await lake.sync();
    lake.nowMs = Date.parse('2026-03-02T17:00:00Z');
    expect((await sync('order_list', { credentials: missingSecret })).newestComplete).toBe('2026-02-27');
  });

  it('is unknown where a ledger cannot be read, and the run fails for that report', async () => {
    await begin();
    await lake.sync();
    const key = 'ledger/order_list/acme/2026-03.json';
    lake.store.objects.set(key, {
      body: new TextEncoder().encode('{'),
      etag: 'damaged',
      modifiedAt: new Date(lake.nowMs),
    });
    expect(await sync('order_list')).toMatchObject({ status: 'failed', newestComplete: null });
  });
});

describe('a store that breaks down while a day is read', () => {
  it('takes nothing from what the outcome says of the other days', async () => {
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

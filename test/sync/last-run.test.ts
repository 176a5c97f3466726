import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HOUR_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { storedState } from '../fakes/report-states.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import type { ReportName } from '../../sample/brand.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const REPORT = 'order_list';

let lake: SampleLake;
beforeEach(async () => {
  const reports: ReportName[] = [REPORT];
  lake = await sampleLake({ now: '2026-03-03T17:00:00Z', startDate: '2026-03-01', reports });
});
afterEach(() => lake.close());

const openLake = () => lake.over(lake.store);

async function lastRun() {
  return (await storedState(lake.store, REPORT, 'acme'))?.lastRun;
}

const noSecret = {
  read: async () => {
    throw new BrandReportsError('config', 'no_credentials', 'create the secret');
  },
};
const brokenCatalog = () => ({
  ...lake.catalog,
  ensureTable: async () => {
    throw new BrandReportsError('config', 'aws_refused', 'grant glue:CreateTable');
  },
});

describe('the last run in the report state', () => {
  it('has its status', async () => {
    const outcome = await lake.sync();
    expect(outcome.status).toBe('complete');
    const at = new Date(lake.nowMs).toISOString();
    expect(await lastRun()).toEqual({
      at: expect.stringContaining(at.slice(0, 16)),
      since: expect.any(String),
      completeAt: (await lastRun())?.at,
      status: 'complete',
      failedDays: 0,
    });
  });

  it('has the reason of a failure, and since when runs have failed with it', async () => {
    await lake.sync({ credentials: noSecret });
    const first = await lastRun();
    expect(first).toMatchObject({
      status: 'failed',
      kind: 'config',
      code: 'no_credentials',
      message: 'create the secret',
    });
    lake.advance(2 * HOUR_MS);
    await lake.sync({ credentials: noSecret });
    const second = await lastRun();
    expect(second).toMatchObject({ status: 'failed', since: first?.since });
    expect(second?.at).not.toBe(first?.at);
    lake.advance(24 * HOUR_MS);
    await lake.sync();
    const complete = await lastRun();
    expect(complete).toMatchObject({ status: 'complete', since: complete?.at, completeAt: complete?.at });
    lake.advance(HOUR_MS);
    await lake.sync({ credentials: noSecret });
    expect(await lastRun()).toMatchObject({ status: 'failed', completeAt: complete?.at });
    expect(second).not.toHaveProperty('completeAt');
  });

  it('is recorded even if the run failed before it read a day', async () => {
    const outcome = await lake.sync({ lake: { ...openLake(), catalog: brokenCatalog() } });
    expect(outcome.reports).toMatchObject([{ status: 'failed', requests: 1 }]);
    expect(await lastRun()).toMatchObject({
      status: 'failed',
      kind: 'config',
      message: 'grant glue:CreateTable',
    });
  });

  it('is recorded even if the run hit a bug, which is still thrown', async () => {
    const catalog = {
      ...lake.catalog,
      ensureTable: async () => Promise.reject(new TypeError('not a function')),
    };
    await expect(lake.sync({ lake: { ...openLake(), catalog } })).rejects.toThrow('not a function');
    expect(await lastRun()).toMatchObject({ status: 'failed', kind: 'bug' });
  });

  it('stays as it is after a run with a range, even if that run fails', async () => {
    await lake.sync();
    const before = await lastRun();
    lake.advance(6 * HOUR_MS);
    const scope = { from: '2026-03-01', to: '2026-03-01' };
    await lake.sync({ scope });
    await lake.sync({ scope, credentials: noSecret });
    expect(await lastRun()).toEqual(before);
  });
});

it('is logged in one line', async () => {
  const logged: LogEvent[] = [];
  const { reports } = await lake.sync({ log: (event) => void logged.push(event) });
  const [outcome] = reports;
  const rows = outcome?.days.reduce((sum, day) => sum + day.rows, 0);
  expect(logged.filter(({ event }) => event === 'run_ended')).toEqual([
    {
      ...{ event: 'run_ended', brand: 'acme', report: REPORT, status: 'complete', rows, failedDays: 0 },
      ...{ pages: expect.any(Number), requests: outcome?.requests, retries: 0, throttles: 0 },
    },
  ]);
});

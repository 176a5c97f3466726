import { afterEach, describe, expect, it } from '@jest/globals';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { dayPartition, snapshotKey } from '../../shared/lake/paths.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { coverageOf, errorOf, ledgerEntry, outcomesOf, requestsOf, wrongReports } from './lake-contents.ts';
import { BRAND, type SampleLake, type SampleLakeOptions, sampleLake } from './sample-lake.ts';

const TODAY = '2026-03-10';

let lake: SampleLake;
afterEach(() => lake.close());

async function begin(options: Partial<SampleLakeOptions>): Promise<void> {
  lake = await sampleLake({
    now: `${TODAY}T15:00:00Z`,
    startDate: '2026-03-08',
    clicksPerDay: 6,
    ...options,
  });
}

function damage(key: string, change: (body: Uint8Array) => Uint8Array): void {
  const stored = lake.store.objects.get(key);
  if (!stored) throw new Error(`${key} is missing`);
  lake.store.objects.set(key, { ...stored, body: change(stored.body) });
}

describe('a damaged snapshot of clicks', () => {
  it.each<[string, (key: string) => unknown]>([
    ['whose middle is empty', (key) => damage(key, (body) => body.slice().fill(0, 8, body.length - 400))],
    ['whose end is cut off', (key) => damage(key, (body) => body.slice(0, -8))],
    ['that is gone', (key) => lake.store.objects.delete(key)],
  ])('%s fails only its details, with the next step', async (_name, spoil) => {
    await begin({ reports: ['clicks_list', 'clicks_detail', 'transaction_list'] });
    await lake.sync({ scope: { reports: ['clicks_list'] } });
    const { committed } = await ledgerEntry(lake, 'clicks_list', '2026-03-08');
    spoil(snapshotKey('clicks', dayPartition(BRAND, '2026-03-08'), committed?.snapshot ?? ''));
    const outcome = await lake.sync({ scope: { reports: ['clicks_detail', 'transaction_list'] } });
    expect(outcomesOf(outcome, 'clicks_detail')).toEqual({
      '2026-03-08': 'failed',
      '2026-03-09': 'published',
      '2026-03-10': 'published',
    });
    expect(errorOf(outcome, 'clicks_detail')).toMatchObject({
      code: 'damaged_snapshot',
      message: expect.stringContaining('brand-reports sync clicks_list --from 2026-03-08 --to 2026-03-08'),
    });
    expect(await wrongReports(lake, TODAY, ['transaction_list'])).toEqual({});
    await lake.sync({ scope: { reports: ['clicks_list'], from: '2026-03-08', to: '2026-03-08' } });
    lake.nowMs += HOUR_MS;
    await lake.sync();
    expect(await wrongReports(lake, TODAY, ['clicks_detail'])).toEqual({});
  });
});

describe('records that the service has dropped', () => {
  const OLD = '2026-02-21';

  it('I11: stay published, unless their day is read with a range that accepts fewer', async () => {
    const refresh = [{ untilAgeDays: 2, every: '1 day' }];
    const reports = { transaction_list: { refresh, ...ALL_FINAL } };
    await begin({
      now: '2026-02-23T15:00:00Z',
      recordsTo: '2026-02-22T03:00:00Z',
      startDate: OLD,
      reports: ['transaction_list'],
      brandSettings: { endDate: 'whole_day', reports },
    });
    for (let run = 0; run < 5; run += 1) {
      await lake.sync();
      lake.nowMs += DAY_MS;
    }
    const { committed } = await ledgerEntry(lake, 'transaction_list', OLD);
    expect(committed).toMatchObject({ state: 'settled', rows: expect.any(Number) });
    lake.brand.records.transaction_list = [];
    const scope = { from: OLD, to: OLD };
    const brandSettings = { endDate: 'midnight', reports };
    const outcome = await lake.sync({ brandSettings, scope });
    expect([outcome.status, outcomesOf(outcome, 'transaction_list')[OLD]]).toEqual(['complete', 'kept']);
    const kept = await ledgerEntry(lake, 'transaction_list', OLD);
    expect(kept).toMatchObject({ committed: { ...committed }, disregarded: { rows: 0 } });
    expect((await coverageOf(lake, 'transaction_list'))[OLD]?.findings).toBe(
      `came_back_empty (${committed?.rows} rows, 0 now)`,
    );
    lake.nowMs += HOUR_MS;
    await lake.sync({ brandSettings, scope: { ...scope, acceptFewer: true } });
    expect((await ledgerEntry(lake, 'transaction_list', OLD)).committed?.rows).toBe(0);
  });

  it('I11: may never have been requested: days read before the first record appeared are read again', async () => {
    await begin({ startDate: '2026-02-20', recordsTo: '2026-03-20T15:00:00Z', reports: ['clicks_list'] });
    const held = lake.brand.records.clicks_list;
    lake.brand.records.clicks_list = [];
    for (let run = 0; run < 3; run += 1) {
      await lake.sync();
      lake.nowMs += HOUR_MS;
    }
    expect((await coverageOf(lake, 'clicks_list'))[OLD]?.state).toBe('unverified');
    lake.brand.records.clicks_list = held;
    for (let day = 0; day < 8; day += 1) {
      await lake.sync();
      lake.nowMs += DAY_MS;
    }
    expect(await wrongReports(lake, '2026-03-17', ['clicks_list'])).toEqual({});
    expect((await coverageOf(lake, 'clicks_list'))[OLD]?.state).toBe('settled');
  });
});

describe('a range', () => {
  const days = { from: '2026-02-01', to: '2026-02-20' };

  it('with one failing day goes on with that day alone', async () => {
    await begin({ startDate: '2026-02-01', clicksPerDay: 2, reports: ['transaction_list'] });
    lake.service.addFault({
      on: { when: ({ fields }) => fields.start_date === '20260205' },
      fault: { kind: 'html' },
    });
    const requested = [];
    for (let run = 0; run < 4; run += 1) {
      const before = requestsOf(lake, 'transaction_list').length;
      expect((await lake.sync({ scope: days })).status).toBe('failed');
      requested.push(requestsOf(lake, 'transaction_list').length - before);
      lake.nowMs += HOUR_MS;
    }
    expect(requested[0]).toBeGreaterThan(19);
    expect(requested.slice(1)).toEqual([1, 1, 1]);
  });

  it('in the future is refused, with the present day', async () => {
    await begin({ reports: ['transaction_list'] });
    const outcome = await lake.sync({ scope: { from: '2027-01-01', to: '2027-01-05' } });
    expect(outcome.status).toBe('failed');
    expect(errorOf(outcome, 'transaction_list')).toMatchObject({
      code: 'range_ahead',
      message: expect.stringContaining(`today is ${TODAY}`),
    });
  });
});

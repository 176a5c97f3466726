import { afterEach, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/days.ts';
import { ledgerKey } from '../../shared/lake/paths.ts';
import { ledgerEntries } from './lake-contents.ts';
import { BRAND, NO_TIME, type SampleLake, type SampleLakeOptions, sampleLake } from './sample-lake.ts';

const REPORT = 'transaction_list';

let lake: SampleLake;
afterEach(() => lake.close());

async function begin(options: Partial<SampleLakeOptions>): Promise<void> {
  lake = await sampleLake({
    now: '2026-03-20T15:00:00Z',
    startDate: '2026-03-10',
    recordsTo: '2026-04-20T15:00:00Z',
    clicksPerDay: 4,
    reports: [REPORT],
    ...options,
  });
}

const committedDays = async (report: ReportName) =>
  (await ledgerEntries(lake, report)).filter(([, { committed }]) => committed).map(([day]) => day);

describe('a clock that is wrong for long', () => {
  it('of a service that is an hour behind lets rounds of a range go on', async () => {
    await begin({ startDate: '2026-02-01' });
    lake.service.addFault({ on: {}, fault: { kind: 'skewed_clock', skewMs: -HOUR_MS } });
    const scope = { reports: [REPORT], from: '2026-02-01', to: '2026-02-28' };
    const statuses = [];
    for (let round = 0; round < 12; round += 1) {
      const begun = lake.service.requests.length;
      const deadline = {
        get softMs() {
          return lake.service.requests.length - begun >= 9 ? 0 : Number.POSITIVE_INFINITY;
        },
        hardMs: Number.POSITIVE_INFINITY,
      };
      statuses.push((await lake.sync({ deadline, scope })).status);
      lake.nowMs += 10_000;
    }
    expect(statuses).toContain('complete');
  });

  it('of a machine with time for one day a run does not use that day up', async () => {
    await begin({ startDate: '2026-03-19' });
    for (let run = 0; run < 4; run += 1) {
      await lake.sync({ deadline: NO_TIME, clockAheadMs: HOUR_MS });
      lake.nowMs += MINUTE_MS;
    }
    expect(await committedDays(REPORT)).toEqual(['2026-03-19', '2026-03-20']);
  });
});

describe('a failure that lasts', () => {
  it('of an upstream month’s ledger appears in the error of the lookups', async () => {
    await begin({ now: '2026-03-02T15:00:00Z', startDate: '2026-02-27', reports: ['clicks_list'] });
    await lake.sync();
    const key = ledgerKey('clicks_list', BRAND, '2026-02');
    const stored = lake.store.objects.get(key);
    if (!stored) throw new Error('the ledger of February is missing');
    lake.store.objects.set(key, { ...stored, body: Buffer.from('{') });
    const outcome = await lake.sync({ scope: { reports: ['clicks_detail'] } });
    expect(outcome.reports[0]).toMatchObject({ status: 'failed', error: { code: 'damaged_document' } });
    expect(await committedDays('clicks_detail')).toEqual(['2026-03-01', '2026-03-02']);
  });
});

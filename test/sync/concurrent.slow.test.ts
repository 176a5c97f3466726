import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ReportName } from '../../sample/brand.ts';
import { yieldingStore } from '../fakes/yielding-store.ts';
import { wrongReports } from './lake-contents.ts';
import { REPORTS, type SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const NOW = '2026-03-10T15:00:00Z';
const TODAY = '2026-03-10';

const sample = sharedLakes({
  now: NOW,
  startDate: '2026-03-08',
  clicksPerDay: 4,
  interpretations: { pageCap: 3 },
});

/** Runs several runs at once on one lake; `yields` decides how they interleave: per run, how often each operation waits. */
async function runsAtOnce(
  lake: SampleLake,
  yields: readonly (readonly number[])[],
  options: { leases: boolean; reports?: ReportName[] },
) {
  const { leases, reports } = options;
  const runs = yields.map((own) => {
    let operation = 0;
    const next = () => own[operation++ % own.length] ?? 0;
    const store = yieldingStore(lake.store, next);
    const scope = reports ? { reports } : {};
    return lake.sync({ leases, scope, lake: lake.over(store) });
  });
  return Promise.all(runs);
}

const yieldsOfARun = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 40 });

describe('concurrent runs', () => {
  it.each([2, 3])('I5: divide the days among themselves and leave the right lake: %i runs', async (count) => {
    const lake = sample.emptyLake();
    const outcomes = await runsAtOnce(
      lake,
      Array.from({ length: count }, () => [1]),
      { leases: true },
    );
    const days = outcomes.flatMap(({ reports }) => reports.flatMap(({ days }) => days));
    const published = days.filter(({ outcome }) => outcome === 'published');
    expect(days.some(({ outcome }) => outcome === 'busy')).toBe(true);
    expect(days.some(({ outcome }) => outcome === 'failed')).toBe(false);
    expect(published.length).toBeGreaterThanOrEqual(REPORTS.length * 3 - 3);
    expect(outcomes.every(({ status }) => status !== 'failed')).toBe(true);
    expect((await lake.sync()).status).toBe('complete');
    expect(await wrongReports(lake, TODAY)).toEqual({});
  });

  it.each([true, false])('I5: leave the right lake in any interleaving (leases: %s)', async (leases) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(yieldsOfARun, { minLength: 2, maxLength: 3 }),
        fc.constantFrom<ReportName[]>(['clicks_list', 'clicks_detail'], ['order_list'], ['transaction_list']),
        async (each, reports) => {
          const lake = sample.emptyLake();
          const outcomes = await runsAtOnce(lake, each, { leases, reports });
          expect(outcomes.map(({ status }) => status)).not.toContain('failed');
          // If two runs each left a day to the other run, the next run reads it.
          lake.advance(61_000);
          expect((await lake.sync({ scope: { reports } })).status).toBe('complete');
          expect(await wrongReports(lake, TODAY, reports)).toEqual({});
        },
      ),
      { numRuns: 12 },
    );
  });

  it('I5: finish everything without leases, although they take over each other’s days', async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(yieldsOfARun, yieldsOfARun), async (each) => {
        const reports: ReportName[] = ['order_list'];
        const lake = sample.emptyLake();
        await runsAtOnce(lake, each, { leases: false, reports });
        expect(await wrongReports(lake, TODAY, reports)).toEqual({});
      }),
      { numRuns: 20 },
    );
  });
});

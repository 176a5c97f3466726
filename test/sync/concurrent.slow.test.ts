import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ReportName } from '../../sample/brand.ts';
import { withoutLease } from '../fakes/without-lease.ts';
import { yieldingStore } from '../fakes/yielding-store.ts';
import { wrongReports } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
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
    return lake.sync({ leases, scope, lake: lake.over(withoutLease(store)) });
  });
  return Promise.all(runs);
}

const yieldsOfARun = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 40 });

describe('concurrent runs', () => {
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
});

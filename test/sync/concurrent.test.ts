import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ReportName } from '../../sample/brand.ts';
import { yieldingStore } from '../fakes/yielding-store.ts';
import { REPORTS, type SampleLake, sampleLake, unknowing, wrongReports } from './sample-lake.ts';

const NOW = '2026-03-10T15:00:00Z';
const TODAY = '2026-03-10';

let service: SampleLake;
beforeAll(async () => {
  service = await sampleLake({
    now: NOW,
    startDate: '2026-03-08',
    clicksPerDay: 4,
    readings: { pageCap: 3 },
  });
});
afterAll(() => service.close());

/** Several runs at once on one lake, in an order that the turns decide. */
async function runsAtOnce(
  lake: SampleLake,
  turns: readonly (readonly number[])[],
  options: { leases: boolean; reports?: ReportName[] },
) {
  const { leases, reports } = options;
  const runs = turns.map((mine) => {
    let at = 0;
    const next = () => mine[at++ % mine.length] ?? 0;
    const store = yieldingStore(lake.store, next);
    const request = reports ? { reports } : {};
    return lake.sync({ leases, scope: request, lake: { store, catalog: lake.catalog, runs: unknowing } });
  });
  return Promise.all(runs);
}

const turns = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 40 });

describe('runs at the same time', () => {
  it.each([2, 3])('I5: %i of them share the days out and end in the right lake', async (count) => {
    const lake = service.beside();
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

  it.each([true, false])('I5: in any interleaving end in the right lake (leases: %s)', async (leases) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(turns, { minLength: 2, maxLength: 3 }),
        fc.constantFrom<ReportName[]>(['clicks_list', 'clicks_detail'], ['order_list'], ['transaction_list']),
        async (each, reports) => {
          const lake = service.beside();
          const outcomes = await runsAtOnce(lake, each, { leases, reports });
          expect(outcomes.map(({ status }) => status)).not.toContain('failed');
          // What one run left to another that left it as well is read by the next one.
          lake.pass(61_000);
          expect((await lake.sync({ scope: { reports } })).status).toBe('complete');
          expect(await wrongReports(lake, TODAY, reports)).toEqual({});
        },
      ),
      { numRuns: 12 },
    );
  });

  it('I5: without leases nothing is left undone between two runs that take each other’s days over', async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(turns, turns), async (each) => {
        const reports: ReportName[] = ['order_list'];
        const lake = service.beside();
        await runsAtOnce(lake, each, { leases: false, reports });
        expect(await wrongReports(lake, TODAY, reports)).toEqual({});
      }),
      { numRuns: 20 },
    );
  });
});

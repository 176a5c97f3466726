import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backfillRate, scheduledRate } from '../shared/rate-share.ts';
import { reports } from '../shared/reports/index.ts';
import { parseSettings } from '../shared/settings.ts';
import { ACME } from './infra/stack.ts';

const NAMES = Object.keys(reports);

const settings = fc
  .record({
    requestsPerSecond: fc.double({ min: 0.001, max: 1000, noNaN: true }),
    backfillConcurrency: fc.integer({ min: 1, max: 20 }),
    brands: fc.uniqueArray(fc.constantFrom('acme', 'globex', 'initech'), { minLength: 1 }),
    disabled: fc.array(fc.subarray(NAMES), { minLength: 3, maxLength: 3 }),
  })
  .map(({ requestsPerSecond, backfillConcurrency, brands, disabled }) => {
    const enabled = (index: number) => {
      const off = disabled[index] ?? [];
      const parents = off.includes('clicks_list') ? [...off, 'clicks_detail'] : off;
      return Object.fromEntries(NAMES.map((name) => [name, { enabled: !parents.includes(name) }]));
    };
    const named = brands.map((name, index) => [name, { ...ACME, reports: enabled(index) }]);
    return parseSettings(
      { brands: Object.fromEntries(named), requestsPerSecond, deployment: { backfillConcurrency } },
      reports,
    );
  });

describe("a brand's rate", () => {
  it('holds for all of its reports at the same time, each run for all brands, beside a whole backfill', () => {
    fc.assert(
      fc.property(settings, (given) => {
        const { brands, requestsPerSecond, deployment } = given;
        const backfill = backfillRate(given) * deployment.backfillConcurrency;
        for (const [name, brand] of Object.entries(brands)) {
          const functions = NAMES.filter((report) => brand.reports[report]?.enabled);
          const alone = scheduledRate(given, [name]) * functions.length;
          const together = scheduledRate(given, Object.keys(brands)) * functions.length;
          expect(Math.max(alone, together) + backfill).toBeLessThanOrEqual(requestsPerSecond * (1 + 1e-12));
        }
        expect(backfill).toBeGreaterThan(0);
      }),
    );
  });

  it('is not left lying: five reports and two months of a backfill use all of it', () => {
    const given = parseSettings(
      { brands: { acme: { ...ACME, reports: { clicks_detail: { enabled: true } } } }, requestsPerSecond: 5 },
      reports,
    );
    expect(scheduledRate(given, ['acme']) * NAMES.length + backfillRate(given) * 2).toBeCloseTo(5, 9);
  });
});

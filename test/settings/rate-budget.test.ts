import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backfillRate, scheduledRate } from '../../shared/settings/rate-budget.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { ACME } from '../infra/stack.ts';

const NAMES = Object.keys(reports);
/** How many runs of up to 15 minutes may overlap. */
const AT_ONCE: Record<string, number> = {
  'rate(1 hour)': 1,
  'rate(5 minutes)': 3,
  'rate(7 minutes)': 3,
  'cron(0/10 * * * ? *)': 2,
  'cron(0,5 * * * ? *)': 3,
  'cron(5 6 * * ? *)': 1,
};

const settings = fc
  .record({
    requestsPerSecond: fc.double({ min: 0.001, max: 1000, noNaN: true }),
    backfillConcurrency: fc.integer({ min: 1, max: 20 }),
    brands: fc.uniqueArray(fc.constantFrom('acme', 'globex', 'initech'), { minLength: 1 }),
    disabled: fc.array(fc.subarray(NAMES), { minLength: 3, maxLength: 3 }),
    schedules: fc.array(fc.constantFrom(...Object.keys(AT_ONCE)), { minLength: 5, maxLength: 5 }),
  })
  .map(({ requestsPerSecond, backfillConcurrency, brands, disabled, schedules }) => {
    const enabled = (index: number) => {
      const off = disabled[index] ?? [];
      const allOff = off.includes('clicks_list') ? [...off, 'clicks_detail'] : off;
      return Object.fromEntries(
        NAMES.map((name, place) => [name, { enabled: !allOff.includes(name), schedule: schedules[place] }]),
      );
    };
    const named = brands.map((name, index) => [name, { ...ACME, reports: enabled(index) }]);
    return parseSettings(
      { brands: Object.fromEntries(named), requestsPerSecond, deployment: { backfillConcurrency } },
      reports,
    );
  });

describe("a brand's rate", () => {
  it('is not exceeded by all reports and a backfill at the same time', () => {
    fc.assert(
      fc.property(settings, (given) => {
        const { brands, requestsPerSecond, deployment } = given;
        const backfill = backfillRate(given) * deployment.backfillConcurrency;
        for (const [name, brand] of Object.entries(brands)) {
          const enabled = Object.values(brand.reports).filter((report) => report.enabled);
          const runs = enabled.reduce((sum, { schedule }) => sum + (AT_ONCE[schedule] ?? 0), 0);
          const alone = scheduledRate(given, [name]) * runs;
          const together = scheduledRate(given, Object.keys(brands)) * runs;
          expect(Math.max(alone, together) + backfill).toBeLessThanOrEqual(requestsPerSecond * (1 + 1e-12));
        }
        expect(backfill).toBeGreaterThan(0);
      }),
    );
  });

  it('is used completely by five reports and two months of a backfill', () => {
    const given = parseSettings(
      { brands: { acme: { ...ACME, reports: { clicks_detail: { enabled: true } } } }, requestsPerSecond: 5 },
      reports,
    );
    expect(scheduledRate(given, ['acme']) * NAMES.length + backfillRate(given) * 2).toBeCloseTo(5, 9);
  });
});

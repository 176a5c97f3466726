import { describe, expect, it } from '@jest/globals';
import { leastRequests, lookbackRequests, plannedRequests } from '../../bench/requests/quarter.ts';
import { simulatedReports } from '../../bench/requests/simulated.ts';
import { HOUR_MS } from '../../shared/days.ts';

const COUNTED = { from: '2026-07-01', to: '2026-07-21' };
const SEED = 7;
const DAYS_BEFORE = 50;

describe('the requests of simulated weeks', () => {
  it.each(simulatedReports(COUNTED, SEED, DAYS_BEFORE).map((each) => [each.report.name, each] as const))(
    'are at most 15 % above the least that the policy of %s needs, and a part of a lookback’s',
    (_name, simulated) => {
      const planned = plannedRequests(simulated).requests;
      const least = leastRequests(simulated).requests;
      expect(planned).toBeLessThanOrEqual(1.15 * least);
      expect(planned).toBeGreaterThanOrEqual(0.98 * least);
      expect(planned).toBeLessThan(lookbackRequests(simulated, HOUR_MS).requests / 5);
    },
  );
});

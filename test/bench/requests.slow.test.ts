import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Spent, spentBy } from '../../bench/requests/simulated.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';

describe.each([
  { service: 'includes the end of a range', interpretation: {} },
  {
    service: 'excludes it, caps its pages and ends without a cursor',
    interpretation: { endTime: 'exclusive', finalCursor: 'absent', pageCap: 50 } as const,
  },
])('requests to a service that $service', ({ interpretation }) => {
  let spent: Spent[];
  beforeAll(async () => {
    spent = await spentBy({ daysBefore: 20, days: 2, runEveryMs: HOUR_MS, interpretation });
  }, 5 * MINUTE_MS);

  it('are at most 1.2 times one request a page and one proof of the end for each reading', () => {
    for (const { report, requests, least } of spent)
      expect({ report, isBound: requests <= 1.2 * least }).toEqual({ report, isBound: true });
  });
});

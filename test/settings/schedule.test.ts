import { expect, it } from '@jest/globals';
import { rateMs } from '../../shared/settings/schedule.ts';

it.each([
  ['rate(15 minutes)', 15 * 60_000],
  ['rate(1 hour)', 3_600_000],
  ['rate(2 days)', 2 * 86_400_000],
])('%s has an interval', (schedule, ms) => {
  expect(rateMs(schedule)).toBe(ms);
});

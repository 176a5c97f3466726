import { describe, expect, it } from '@jest/globals';
import { nextStartMs, rateMs } from '../../shared/settings/schedule.ts';

describe('the next start of a schedule', () => {
  // A Friday.
  const NOW = '2026-11-20T10:00';
  it.each<[name: string, schedule: string, last: string | undefined, next: string]>([
    ['a rate counts from the last start', 'rate(1 hour)', '2026-11-20T09:10', '2026-11-20T10:10'],
    ['a rate continues after missed starts', 'rate(1 hour)', '2026-11-20T02:10', '2026-11-20T10:10'],
    ['a rate that starts now starts next time', 'rate(1 hour)', '2026-11-20T09:00', '2026-11-20T11:00'],
    ['a rate is at most its interval away', 'rate(1 day)', undefined, '2026-11-21T10:00'],
    ['a last start in the future', 'rate(1 hour)', '2026-11-20T12:00', '2026-11-20T13:00'],
  ])('is known: %s', (_name, schedule, last, next) => {
    const msOf = (text: string) => Date.parse(`${text}Z`);
    const ms = nextStartMs(schedule, msOf(NOW), last === undefined ? undefined : msOf(last));
    expect(new Date(ms).toISOString().slice(0, 16)).toBe(next);
  });
});

it.each([
  ['rate(15 minutes)', 15 * 60_000],
  ['rate(1 hour)', 3_600_000],
  ['rate(2 days)', 2 * 86_400_000],
])('%s has an interval', (schedule, ms) => {
  expect(rateMs(schedule)).toBe(ms);
});

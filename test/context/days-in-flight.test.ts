import { describe, expect, it } from '@jest/globals';
import { DaysInFlight } from '../../shared/context/days-in-flight.ts';

/** Begins days of the brand until there is no room. @returns the number of days begun */
function fill(days: DaysInFlight, brand: string): number {
  let begun = 0;
  for (; days.hasRoom(brand) && begun < 1_000; begun += 1) days.begin(brand);
  return begun;
}

describe('the days that a run has in flight', () => {
  it.each([
    ['one brand', 1, 64],
    ['some brands', 10, 6],
    ['half as many brands as days', 32, 2],
    ['more brands than days', 100, 1],
  ])('give each brand its share: %s', (_name, brands, share) => {
    const days = new DaysInFlight(brands);
    expect([fill(days, 'a'), fill(days, 'b')]).toEqual([share, share]);
  });

  it('give the other brands the share of a brand that has read all its days', async () => {
    const days = new DaysInFlight(2);
    expect(fill(days, 'a')).toBe(32);
    const changed = days.changed();
    days.leave();
    await changed;
    expect(fill(days, 'a')).toBe(32);
  });

  it('have room again when a day ends', async () => {
    const days = new DaysInFlight(64);
    days.begin('a');
    const changed = days.changed();
    expect(days.hasRoom('a')).toBe(false);
    days.end('a');
    await changed;
    expect(days.hasRoom('a')).toBe(true);
  });
});

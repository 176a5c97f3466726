import { describe, expect, it } from '@jest/globals';
import { BRANDS_AT_ONCE, brandsInTurn } from '../../shared/run/turns.ts';

const brands = Array.from({ length: BRANDS_AT_ONCE + 2 }, (_, index) => `brand-${index}`);
const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();

describe('the order of brands', () => {
  it('is the order of the settings if all of them begin at once, and reads nothing', async () => {
    const few = brands.slice(2);
    const lastRunAt = () => Promise.reject(new Error('it reads a document'));
    expect(await brandsInTurn(few, lastRunAt)).toEqual(few);
  });

  it('begins with the brands that no run has read, then with those whose last run ended longest ago', async () => {
    const ended = new Map(brands.map((brand, index) => [brand, at(index % 5)]));
    ended.delete('brand-7');
    const order = await brandsInTurn(brands, async (brand) => ended.get(brand));
    expect(order).toHaveLength(brands.length);
    expect(order[0]).toBe('brand-7');
    expect(order.slice(1).map((brand) => ended.get(brand))).toEqual([...ended.values()].sort());
  });
});

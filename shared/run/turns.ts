import { mapConcurrent } from '../base/concurrency.ts';

/** How many brands a run reads at the same time, so that its memory is bounded (I12). */
export const BRANDS_AT_ONCE = 64;

/**
 * The brands whose last run ended longest ago begin, because a run with little time does not come to all of them.
 * @param lastRunAt when the last run of a brand ended; called only if not all brands begin at once
 */
export async function brandsInTurn(
  brands: readonly string[],
  lastRunAt: (brand: string) => Promise<string | undefined>,
): Promise<readonly string[]> {
  if (brands.length <= BRANDS_AT_ONCE) return brands;
  const ended = await mapConcurrent(brands, BRANDS_AT_ONCE, async (brand) => ({
    brand,
    at: (await lastRunAt(brand)) ?? '',
  }));
  return ended.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)).map(({ brand }) => brand);
}

/*
 * Decides in which order a run begins its brands. It reads some brands at the same time, so that its memory is bounded
 * (I12), and a run with little time does not come to all of them. The brands whose last run ended longest ago begin, so
 * that the next run comes to the brands that this run did not come to.
 */
import { mapConcurrent } from '../concurrency.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import { type RunOptions, selectBrands, selectReports } from './run.ts';

/** How many brands a run reads at the same time. */
export const BRANDS_AT_ONCE = 64;

/** The brands in scope, in the order of their turns. If all begin at once, no document is read for the order. */
export async function brandsInTurn(options: RunOptions): Promise<readonly string[]> {
  const brands = selectBrands(options);
  if (brands.length <= BRANDS_AT_ONCE) return brands;
  const documents = createLakeDocuments({ store: options.lake.store, ...options });
  const ended = await mapConcurrent(brands, BRANDS_AT_ONCE, async (brand) => {
    const [report] = selectReports(options, brand);
    const state = report && (await documents.reportState(report.name, brand).cached());
    return { brand, at: state?.lastRun?.at ?? '' };
  });
  return ended.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)).map(({ brand }) => brand);
}

/** Measures a run of many brands that all have due days, four days of each brand at the same time. */
import { startBrandService } from './brand-service.ts';
import { ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { countRows } from './lake-rows.ts';
import { measure } from './measure.ts';
import { printTable } from './print.ts';
import { RECORDS_PER_PAGE } from './records.ts';

const DAYS_IN_FLIGHT = 4;

interface ManyBrands {
  brands: number;
  days: number;
  pagesPerDay: number;
  latencyMs: number;
}

export async function printManyBrands(runs: readonly ManyBrands[]): Promise<void> {
  const rows: string[][] = [];
  for (const { brands, days, pagesPerDay, latencyMs } of runs) {
    const service = await startBrandService({ pages: days * pagesPerDay, days, latencyMs });
    await withFolder(async (folder) => {
      const task = { url: service.url, folder, days, inFlight: DAYS_IN_FLIGHT, brands };
      const { code, stderr, peakMb, wallMs, cpuMs } = await measure(await ours.command(task));
      if (code !== 0) throw new Error(`ours ended with ${code}:\n${stderr.slice(-2000)}`);
      const records = pagesPerDay * RECORDS_PER_PAGE;
      const kept = await countRows(folder, ours.rows ?? '');
      if (kept.rows !== brands * days * records) throw new Error(`ours kept ${kept.rows} rows`);
      rows.push([
        `${brands} brands with ${days} days of ${records.toLocaleString('en-US')} records`,
        peakMb.toFixed(0),
        (wallMs / 1000).toFixed(1),
        (cpuMs / 1000).toFixed(1),
      ]);
    });
    await service.stop();
  }
  console.log('### Many brands, once each');
  printTable(['', 'peak MB', 'seconds', 'seconds of CPU'], rows);
}

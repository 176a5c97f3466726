/**
 * Measures what recording changes costs: a closed day is read again after some of its records, or all, changed their state.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { startBrandService } from './brand-service.ts';
import { ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { measure } from './measure.ts';
import { printTable, spread } from './print.ts';
import { RECORDS_PER_PAGE } from './records.ts';

/** I12: the promise for a restatement of 500,000 records. */
const MOST_MB = 400;

/** @param oneIn one record of so many changes */
export async function printRestated({
  records,
  oneIn,
  rounds,
}: {
  records: number;
  oneIn: number;
  rounds: number;
}): Promise<void> {
  const plan = { pages: records / RECORDS_PER_PAGE, days: 1, latencyMs: 0 };
  const before = await startBrandService(plan);
  const after = await startBrandService({ ...plan, restated: oneIn });
  const runs: { first: number; again: number; peakMb: number }[] = [];
  for (let round = 0; round < rounds; round += 1)
    await withFolder(async (folder) => {
      const run = async (url: string) => {
        const measured = await measure(await ours.command({ url, folder, days: 1, inFlight: 4 }));
        if (measured.code !== 0)
          throw new Error(`ours ended with ${measured.code}:\n${measured.stderr.slice(-2000)}`);
        return { cpu: (measured.cpuMs * 1000) / records, peakMb: measured.peakMb };
      };
      const first = await run(before.url);
      const again = await run(after.url);
      runs.push({ first: first.cpu, again: again.cpu, peakMb: again.peakMb });
      const changes = globSync(join(folder, 'lake/current/*_before/**/*.parquet'));
      if (changes.length !== 1) throw new Error(`ours recorded the changes of ${changes.length} days`);
    });
  await Promise.all([before.stop(), after.stop()]);
  const count = records.toLocaleString('en-US');
  console.log(`### ${count} records of a closed day, of which one in ${oneIn} changed, ${rounds} rounds`);
  const of = (value: (run: (typeof runs)[number]) => number, digits: number) =>
    spread(runs.map(value), digits);
  printTable(
    ['', 'µs of CPU a record, read first', 'read again, changed', '% more', 'peak MB'],
    [
      [
        ours.name,
        of(({ first }) => first, 1),
        of(({ again }) => again, 1),
        of(({ first, again }) => (again / first - 1) * 100, 0),
        of(({ peakMb }) => peakMb, 0),
      ],
    ],
  );
  const most = Math.max(...runs.map(({ peakMb }) => peakMb));
  if (most > MOST_MB) throw new Error(`changes took ${Math.round(most)} MB, the promise is ${MOST_MB} MB`);
}

/**
 * Measures what recording changes costs: a closed day is read again after one record in a hundred changed its state.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { startBrandService } from './brand-service.ts';
import { ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { measure } from './measure.ts';
import { printTable, spread } from './print.ts';
import { RECORDS_PER_PAGE } from './records.ts';

export async function printRestated({ records, rounds }: { records: number; rounds: number }): Promise<void> {
  const plan = { pages: records / RECORDS_PER_PAGE, days: 1, latencyMs: 0 };
  const before = await startBrandService(plan);
  const after = await startBrandService({ ...plan, restated: true });
  const runs: { first: number; again: number }[] = [];
  for (let round = 0; round < rounds; round += 1)
    await withFolder(async (folder) => {
      const cpuOf = async (url: string) => {
        const run = await measure(await ours.command({ url, folder, days: 1, inFlight: 4 }));
        if (run.code !== 0) throw new Error(`ours ended with ${run.code}:\n${run.stderr.slice(-2000)}`);
        return (run.cpuMs * 1000) / records;
      };
      runs.push({ first: await cpuOf(before.url), again: await cpuOf(after.url) });
      const changes = globSync(join(folder, 'lake/current/changes/**/*.parquet'));
      if (changes.length !== 1) throw new Error(`ours recorded the changes of ${changes.length} months`);
    });
  await Promise.all([before.stop(), after.stop()]);
  const count = records.toLocaleString('en-US');
  console.log(`### ${count} records of a closed day, of which 1 % changed, ${rounds} rounds`);
  const of = (value: (run: { first: number; again: number }) => number) => spread(runs.map(value), 1);
  printTable(
    ['', 'µs of CPU a record, read first', 'read again, changed', '% more'],
    [
      [
        ours.name,
        of(({ first }) => first),
        of(({ again }) => again),
        of(({ first, again }) => (again / first - 1) * 100),
      ],
    ],
  );
}

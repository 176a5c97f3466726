/** Measures what a day costs besides its records: many days with a few records each, in a local folder. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { startBrandService } from './brand-service.ts';
import { ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { countRows } from './lake-rows.ts';
import { measure } from './measure.ts';
import { printTable, spread } from './print.ts';

const DAYS_IN_FLIGHT = 4;

export async function printGrowth(options: {
  days: number;
  recordsPerDay: number;
  rounds: number;
}): Promise<void> {
  const { days, recordsPerDay, rounds } = options;
  const service = await startBrandService({ pages: days, days, latencyMs: 0, recordsPerPage: recordsPerDay });
  const runs: { wallMs: number; cpuMs: number }[] = [];
  // All folders stay until the last round has ended: after thousands of files were removed, ext4 takes up to a
  // millisecond of CPU time to create a file, for half a minute.
  await withFolder(async (folder) => {
    for (let round = 0; round < rounds; round += 1) {
      const task = {
        url: service.url,
        folder: await mkdtemp(join(folder, 'round-')),
        days,
        inFlight: DAYS_IN_FLIGHT,
      };
      const run = await measure(await ours.command(task));
      if (run.code !== 0) throw new Error(`ours ended with ${run.code}:\n${run.stderr.slice(-2000)}`);
      const { rows } = await countRows(task.folder, ours.rows ?? '');
      if (rows !== days * recordsPerDay) throw new Error(`ours kept ${rows} rows`);
      runs.push(run);
    }
  });
  await service.stop();
  console.log(
    `### ${days} days of ${recordsPerDay} records each, ${DAYS_IN_FLIGHT} at a time, ${rounds} rounds`,
  );
  const seconds = (ms: readonly number[]) =>
    spread(
      ms.map((each) => each / 1000),
      2,
    );
  printTable(
    ['', 'seconds', 'seconds of CPU', 'ms a day'],
    [
      [
        ours.name,
        seconds(runs.map(({ wallMs }) => wallMs)),
        seconds(runs.map(({ cpuMs }) => cpuMs)),
        spread(
          runs.map(({ wallMs }) => wallMs / days),
          1,
        ),
      ],
    ],
  );
}

/**
 * How much longer a run takes than the service's own latency, with several days in flight. A day's pages can only be
 * asked for one after the other, so the latency floor is: pages of a day × latency × days that follow one another.
 * How late timers fire in our process says how long its own work holds up requests.
 */
import { type BrandService, startBrandService } from './brand-service.ts';
import { type Competitor, floor, ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { measure } from './measure.ts';
import { observe } from './observed.ts';
import { printTable, spread } from './print.ts';
import { RECORDS_PER_PAGE } from './records.ts';

/** How long a run may take to start and to end. */
const START_AND_END_MS = 1_000;

export async function printWaiting(options: {
  pages: number;
  latencyMs: number;
  inFlight: readonly number[];
  rounds: number;
}): Promise<void> {
  const { pages, latencyMs, inFlight, rounds } = options;
  const rows: string[][] = [];
  for (const days of inFlight) {
    const service = await startBrandService({ pages, days, latencyMs });
    const floorMs = (pages / days) * latencyMs;
    const walls = new Map<Competitor, number[]>([ours, floor].map((each) => [each, []]));
    for (let round = 0; round < rounds; round += 1)
      for (const [competitor, all] of walls) all.push(await wallMs(competitor, service));
    const { delayMs } = await watched(service);
    await service.stop();
    for (const [competitor, all] of walls)
      rows.push([
        `${competitor.name}, ${days} days in flight`,
        spread(
          all.map((ms) => ms / 1000),
          2,
        ),
        (floorMs / 1000).toFixed(2),
        spread(
          all.map((ms) => ms / floorMs),
          2,
        ),
        spread(
          all.map((ms) => (ms - START_AND_END_MS) / floorMs),
          2,
        ),
        competitor === ours
          ? [delayMs.median, delayMs.p99, delayMs.max].map((ms) => ms.toFixed(0)).join(' / ')
          : '',
      ]);
  }
  const count = (pages * RECORDS_PER_PAGE).toLocaleString('en-US');
  console.log(`### ${count} records with ${latencyMs} ms a page, ${rounds} rounds`);
  const heads = [
    '',
    'seconds',
    'latency floor',
    '× floor',
    '× floor without 1 s',
    'timers late by ms: median / p99 / most',
  ];
  printTable(heads, rows);
}

async function wallMs(competitor: Competitor, service: BrandService): Promise<number> {
  return withFolder(async (folder) => {
    const { code, stderr, wallMs } = await measure(await competitor.command(taskOf(service, folder)));
    if (code !== 0) throw new Error(`${competitor.name} ended with ${code}:\n${stderr.slice(-2000)}`);
    return wallMs;
  });
}

async function watched(service: BrandService) {
  return withFolder(async (folder) => observe(await ours.command(taskOf(service, folder))));
}

function taskOf({ url, plan }: BrandService, folder: string) {
  return { url, folder, days: plan.days, inFlight: plan.days };
}

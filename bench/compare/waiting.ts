/**
 * Measures how much longer a run takes than the service's latency alone, with several days in flight. The pages of a
 * day can only be requested one after the other, so the latency floor is: pages × latency ÷ days in flight. The last
 * day is open, and a run reads it first: if other days waited for it, the figures would show it. The delay of timers
 * shows how long the process's own work holds up requests.
 */
import { startBrandService } from './brand-service.ts';
import { type Competitor, type Task, floor, ours } from './competitors.ts';
import { withFolder } from './folder.ts';
import { measure } from './measure.ts';
import { observe } from './observed.ts';
import { printTable, spread } from './print.ts';
import { RECORDS_PER_PAGE } from './records.ts';

/** The time that a run may take to start and to end. */
const START_AND_END_MS = 1_000;

/** Days of one report, of which `inFlight` are read at the same time. */
export interface WaitingCase {
  days: number;
  pagesPerDay: number;
  inFlight: number;
  latencyMs: number;
}

export async function printWaiting(options: {
  cases: readonly WaitingCase[];
  rounds: number;
}): Promise<void> {
  const { cases, rounds } = options;
  const rows: string[][] = [];
  for (const { days, pagesPerDay, inFlight, latencyMs } of cases) {
    const pages = days * pagesPerDay;
    const service = await startBrandService({ pages, days, latencyMs });
    const task = { url: service.url, days, inFlight, lastIsOpen: true };
    const floorMs = (pages / inFlight) * latencyMs;
    const walls = new Map<Competitor, number[]>([ours, floor].map((each) => [each, []]));
    for (let round = 0; round < rounds; round += 1)
      for (const [competitor, all] of walls) all.push(await wallMs(competitor, task));
    const { delayMs } = await withFolder(async (folder) => observe(await ours.command({ ...task, folder })));
    await service.stop();
    const ratios = (all: number[], besideMs: number) =>
      spread(
        all.map((ms) => (ms - besideMs) / floorMs),
        2,
      );
    for (const [competitor, all] of walls)
      rows.push([
        `${competitor.name}: ${days} days of ${pagesPerDay} pages, ${latencyMs} ms a page, ${inFlight} days in flight`,
        spread(
          all.map((ms) => ms / 1000),
          2,
        ),
        (floorMs / 1000).toFixed(2),
        ratios(all, 0),
        ratios(all, START_AND_END_MS),
        competitor === ours
          ? [delayMs.median, delayMs.p99, delayMs.max].map((ms) => ms.toFixed(0)).join(' / ')
          : '',
      ]);
  }
  console.log(
    `### Waiting for pages of ${RECORDS_PER_PAGE} records, the open day among the days, ${rounds} rounds`,
  );
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

async function wallMs(competitor: Competitor, task: Omit<Task, 'folder'>): Promise<number> {
  return withFolder(async (folder) => {
    const { code, stderr, wallMs } = await measure(await competitor.command({ ...task, folder }));
    if (code !== 0) throw new Error(`${competitor.name} ended with ${code}:\n${stderr.slice(-2000)}`);
    return wallMs;
  });
}

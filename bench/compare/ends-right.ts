/**
 * Tests which competitor ends right. The service fails in the middle of a day; then it recovers, and the same command
 * runs once more. After both runs DuckDB counts the rows in the lake by their ids, which no two records share. A
 * competitor is right if no run that exits with 0 leaves a day incomplete, and if the lake finally has every record
 * once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startBrandService, type BrandService } from './brand-service.ts';
import type { Competitor } from './competitors.ts';
import { withFolder } from './folder.ts';
import { type LakeRows, readRows } from './lake-rows.ts';
import { measure } from './measure.ts';
import { printTable } from './print.ts';
import { RECORDS_PER_PAGE } from './records.ts';
import type { Fault } from './service-messages.ts';

const FAULTS: readonly (readonly [Fault, string])[] = [
  ['none', 'nothing: the day is read twice'],
  ['error_inside', 'a 200 with an error inside'],
  ['error_and_list', 'a 200 with an error and an empty list'],
  ['repeated_once', 'a cursor that leads back once'],
  ['repeated_cursor', 'a cursor that always leads back'],
  ['no_answer', 'kill -9 in the middle'],
];

/** A competitor that still runs then has not noticed that it goes round in circles. */
const PATIENCE_MS = 20_000;

export interface Attempt {
  ended: 'complete' | 'failed' | 'killed' | 'never';
  lake: LakeRows | 'unreadable';
}

export async function printWhoEndsRight(competitors: readonly Competitor[], pages: number): Promise<void> {
  const records = pages * RECORDS_PER_PAGE;
  const service = await startBrandService({ pages, days: 1, latencyMs: 0 });
  const rows: string[][] = [];
  for (const [fault, name] of FAULTS)
    for (const competitor of competitors) {
      if (competitor.rows === undefined) continue;
      const [first, again] = await runTwice(competitor, service, fault);
      rows.push([name, competitor.name, textOf(first), textOf(again), verdict(first, again, records)]);
    }
  await service.stop();
  console.log(`### Who ends right: ${records.toLocaleString('en-US')} records of one day`);
  printTable(['what goes wrong', 'who', 'after that run', 'after a rerun', 'ends'], rows);
}

function runTwice(competitor: Competitor, service: BrandService, fault: Fault): Promise<[Attempt, Attempt]> {
  return withFolder(async (folder) => {
    const first = await attempt(competitor, service, folder, fault);
    return [first, await attempt(competitor, service, folder, 'none')];
  });
}

async function attempt(
  competitor: Competitor,
  service: BrandService,
  folder: string,
  fault: Fault,
): Promise<Attempt> {
  await service.begin(fault);
  const crash = fault === 'no_answer';
  const killWhen = crash ? service.held() : sleep(PATIENCE_MS, undefined, { ref: false });
  const command = await competitor.command({ url: service.url, folder, days: 1, inFlight: 4 });
  const { code, killed } = await measure(command, killWhen);
  const lake = await readRows(folder, competitor.rows ?? '');
  if (killed) return { ended: crash ? 'killed' : 'never', lake };
  return { ended: code === 0 ? 'complete' : 'failed', lake };
}

const ENDED = { complete: 'exit 0', failed: 'failed', killed: 'killed', never: 'never ends, killed' };

function textOf({ ended, lake }: Attempt): string {
  if (lake === 'unreadable') return `${ENDED[ended]}, a file that nobody can read`;
  const { rows, distinct } = lake;
  const doubled = rows > distinct ? `, ${rows - distinct} too many` : '';
  return `${ENDED[ended]}, ${rows} rows${doubled}`;
}

/** The verdict in a few words, for a day of so many records. */
export function verdict(first: Attempt, again: Attempt, records: number): string {
  const isWhole = ({ lake }: Attempt) =>
    lake !== 'unreadable' && lake.rows === records && lake.distinct === records;
  if (!isWhole(again)) return '**wrong**';
  if (first.ended === 'never') return '**only after a kill**';
  if (isWhole(first)) return 'right';
  if (first.ended === 'complete') return '**wrong until the rerun, and silent**';
  const isEmpty = first.lake !== 'unreadable' && first.lake.rows === 0;
  return isEmpty ? 'right' : 'right, broken until the rerun';
}

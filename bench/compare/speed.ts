/** Measures how much CPU, time and memory each competitor needs for a range of days, one competitor after the other. */
import { withFolder } from './folder.ts';
import { type BrandService, startBrandService } from './brand-service.ts';
import { type Competitor, ours } from './competitors.ts';
import { type Measured, measure } from './measure.ts';
import { median, printTable, spread } from './print.ts';
import { RECORDS_PER_PAGE } from './records.ts';
import { countRows } from './lake-rows.ts';

interface Round extends Measured {
  /** The CPU that the service used, as a share of one core. */
  serviceBusy: number;
}

/** @param others the competitors of ours @returns the median peak of ours, in MB */
export async function printSpeed(
  others: readonly Competitor[],
  { records, days, rounds }: { records: number; days: number; rounds: number },
): Promise<number> {
  const service = await startBrandService({ pages: records / RECORDS_PER_PAGE, days, latencyMs: 0 });
  const ofOurs: Round[] = [];
  const results = new Map([[ours, ofOurs], ...others.map((other): [Competitor, Round[]] => [other, []])]);
  for (let round = 0; round < rounds; round += 1)
    for (const [competitor, all] of results) all.push(await runOnce(competitor, service, { records, days }));
  await service.stop();

  const count = records.toLocaleString('en-US');
  console.log(
    `### ${count} records of ${days === 1 ? 'one day' : `${days} days`}, ${RECORDS_PER_PAGE} a page, ${rounds} rounds`,
  );
  const columns: { head: string; digits: number; of: (run: Round, round: number) => number }[] = [
    { head: 'µs of CPU a record', digits: 1, of: ({ cpuMs }) => (cpuMs * 1000) / records },
    {
      head: 'CPU of ours ÷ its',
      digits: 2,
      of: ({ cpuMs }, round) => (ofOurs[round]?.cpuMs ?? Number.NaN) / cpuMs,
    },
    { head: 'records/s', digits: 0, of: ({ wallMs }) => (records * 1000) / wallMs },
    { head: 'peak MB', digits: 0, of: ({ peakMb }) => peakMb },
    { head: 'service: % of a core', digits: 0, of: ({ serviceBusy }) => serviceBusy * 100 },
  ];
  printTable(
    ['', ...columns.map(({ head }) => head)],
    [...results].map(([{ name }, all]) => [
      name,
      ...columns.map(({ digits, of }) => spread(all.map(of), digits)),
    ]),
  );
  return median(ofOurs.map(({ peakMb }) => peakMb));
}

async function runOnce(
  competitor: Competitor,
  service: BrandService,
  { records, days }: { records: number; days: number },
): Promise<Round> {
  return withFolder(async (folder) => {
    await service.begin();
    const task = { url: service.url, folder, days, inFlight: 4 };
    const measured = await measure(await competitor.command(task));
    const { cpuMs } = await service.usage();
    if (measured.code !== 0)
      throw new Error(`${competitor.name} ended with ${measured.code}:\n${measured.stderr.slice(-2000)}`);
    if (competitor.rows !== undefined) {
      const { rows } = await countRows(folder, competitor.rows);
      if (rows !== records) throw new Error(`${competitor.name} kept ${rows} rows of ${records}`);
    }
    return { ...measured, serviceBusy: cpuMs / measured.wallMs };
  });
}

/**
 * `npm run living -- --seed S --count N --days D`: runs lives of a brand in turn, each from its own seed. It prints a
 * table and the faults. `--first 2026-03-22 --days 14` includes the end of a month. `--hard deaths,outages` adds
 * hardships of the pipeline, `--hard all` all of them.
 */
import { parseArgs } from 'node:util';
import { reports } from '../../shared/reports/index.ts';
import { heldTables } from '../simulation/brand.ts';
import { tableOf, wholeNumber } from '../simulation/command.ts';
import { type LivedLife, hardships, live } from './months.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { wrongClose } from './as-of.ts';
import { wrongSinceClose, wrongStatements } from './closed.ts';
import { writeFiles } from './published.ts';
import { changedSince } from './since-close.ts';
import { type Replayed, replayChanges } from './replay.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '1' },
    days: { type: 'string', default: '61' },
    first: { type: 'string' },
    hard: { type: 'string', default: '' },
    findings: { type: 'boolean', default: false },
    folder: { type: 'boolean', default: false },
  },
});
const lake = values.folder ? 'folder' : 'memory';
const named = values.hard.split(',');
const chosen = hardships.filter((hardship) => values.hard === 'all' || named.includes(hardship));
const first = wholeNumber('seed', values.seed);
const seeds = Array.from({ length: wholeNumber('count', values.count) }, (_, index) => first + index);
const firstDay = values.first === undefined ? {} : { firstDay: values.first };
const figures: [name: string, value: unknown][][] = [];
for (const seed of seeds) {
  const before = process.cpuUsage();
  const life = await live({
    seed,
    days: wholeNumber('days', values.days),
    lake,
    hardships: chosen,
    ...firstDay,
  });
  const replayed = await replayChanges(life.pipeline.lake, life.judge);
  const { judge, service } = life;
  const closed = await judgeCloses(life);
  const wrong = [...judge.findings, ...replayed.findings, ...closed, ...service.violations];
  const { user, system } = process.cpuUsage(before);
  figures.push([
    ...figuresOf(life, replayed),
    ['wrong', wrong.length],
    ['CPU, s', Math.round((user + system) / 1e6)],
  ]);
  for (const finding of wrong.slice(0, 8)) console.log(`seed ${seed}: ${finding}`);
  if (wrong.length > 0) process.exitCode = 1;
  if (values.findings) printFindings(life);
  await life.close();
}
const rows = (figures[0] ?? []).map(([name], row) => [name, ...figures.map((all) => all[row]?.[1])]);
console.log(tableOf(['', ...seeds.map((seed) => `seed ${seed}`)], rows));

function figuresOf(
  { judge, books, service, outcomes, closes, least, brand }: LivedLife,
  replayed: Replayed,
): [name: string, value: unknown][] {
  const { readings, versions, rows } = judge.figures;
  const last = [...judge.seen.values()].map((seen) => seen.at(-1)?.rows.length ?? 0);
  const clicks = brand.days.reduce((sum, day) => sum + (brand.held.clicks.get(day)?.length ?? 0), 0);
  return [
    ['runs', outcomes.length],
    ['readings of a day', readings],
    ['versions of a day', versions],
    ['rows in all versions', rows],
    ['records at the end', last.reduce((sum, count) => sum + count, 0)],
    ['details refused', service.refusedLookups],
    ['days changed after they were closed', replayed.days],
    ['changes of such days', replayed.changes],
    ...heldTables.map((table): [string, string] => [
      `requests for ${table} / least`,
      `${madeOf(service, brand, table)} / ${least[table]}`,
    ]),
    ['requests for details / clicks', `${madeOf(service, brand, 'click_details')} / ${clicks}`],
    ['transitions of orders and transactions', books.figures.transitions],
    ['… records gone / moved', `${books.figures.gone} / ${books.figures.moved}`],
    ['closed months', closes.map(({ month }) => month).join(' ')],
    [
      'changes since their closes',
      closes.map((close) => changedSince(close.entries, books.entries, close.month).size).join(' '),
    ],
  ];
}

/** The faults of closed months in the published files of the lake. */
async function judgeCloses(life: LivedLife): Promise<string[]> {
  const folder = await temporaryFolder();
  await writeFiles(life.pipeline.lake, folder.path);
  const wrong = [
    ...(await wrongSinceClose(life, folder.path)),
    ...(await wrongStatements(life, folder.path)),
  ];
  for (const close of life.closes) wrong.push(...(await wrongClose(life, folder.path, close)));
  await folder.remove();
  return wrong;
}

/** The product's findings, for a person who wants to read them. */
function printFindings({ judge, pipeline }: LivedLife): void {
  for (const change of judge.fieldChanges) console.log(change);
  for (const event of pipeline.log) if (event.event === 'day_finding') console.log(JSON.stringify(event));
}

function madeOf({ calls }: LivedLife['service'], { days }: LivedLife['brand'], table: string): number {
  const action = Object.values(reports).find((report) => report.table === table)?.action;
  return calls.filter((call) => call.action === action && days.includes(call.day)).length;
}

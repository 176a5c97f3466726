/**
 * `npm run living -- --seed S --count N --days D`: lives of a brand, one after the other, each from its own seed; a table
 * at the end, and what is wrong. `--hard deaths,outages` adds hardships of the pipeline, `--hard all` all of them.
 */
import { parseArgs } from 'node:util';
import { reports } from '../../shared/reports/index.ts';
import { heldTables } from '../simulation/brand.ts';
import { type LivedLife, hardships, live } from './months.ts';
import { type Replayed, replayChanges } from './replay.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '1' },
    days: { type: 'string', default: '61' },
    hard: { type: 'string', default: '' },
    findings: { type: 'boolean', default: false },
    folder: { type: 'boolean', default: false },
  },
});
const lake = values.folder ? 'folder' : 'memory';
const named = values.hard.split(',');
const chosen = hardships.filter((hardship) => values.hard === 'all' || named.includes(hardship));
const columns: [title: string, cells: string[]][] = [];
for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.count); seed += 1) {
  const before = process.cpuUsage();
  const life = await live({ seed, days: Number(values.days), lake, hardships: chosen });
  const replayed = await replayChanges(life.pipeline.lake, life.judge);
  const { user, system } = process.cpuUsage(before);
  columns.push([`seed ${seed}`, cellsOf(life, replayed, Math.round((user + system) / 1e6))]);
  const wrong = [...life.judge.findings, ...replayed.findings, ...life.service.violations];
  for (const finding of wrong.slice(0, 8)) console.log(`seed ${seed}: ${finding}`);
  if (wrong.length > 0) process.exitCode = 1;
  if (values.findings) printFindings(life);
  await life.close();
}
console.log(`| | ${columns.map(([title]) => title).join(' | ')} |`);
console.log(`| --- | ${columns.map(() => '--:').join(' | ')} |`);
for (const [row, name] of names().entries())
  console.log(`| ${name} | ${columns.map(([, cells]) => cells[row]).join(' | ')} |`);

function names(): string[] {
  return [
    'runs',
    'readings of a day',
    'versions of a day',
    'rows in all versions',
    'records at the end',
    'details refused',
    'days changed after they were closed',
    'changes of such days',
    '… records and values listed',
    '… only summed up',
    ...heldTables.map((table) => `requests for ${table} / least`),
    'requests for details / clicks',
    'wrong',
    'CPU, s',
  ];
}

function cellsOf(
  { judge, service, outcomes, least, brand }: LivedLife,
  replayed: Replayed,
  cpuSeconds: number,
): string[] {
  const { readings, versions, rows } = judge.figures;
  const last = [...judge.seen.values()].map((seen) => seen.at(-1)?.rows.length ?? 0);
  return [
    outcomes.length,
    readings,
    versions,
    rows,
    last.reduce((sum, count) => sum + count, 0),
    service.refusedLookups,
    replayed.days,
    replayed.changes,
    replayed.listed,
    replayed.summedUp,
    ...heldTables.map((table) => `${madeOf(service, table)} / ${least[table]}`),
    `${madeOf(service, 'click_details')} / ${brand.days.reduce((n, day) => n + (brand.held.clicks.get(day)?.length ?? 0), 0)}`,
    judge.findings.length + replayed.findings.length,
    cpuSeconds,
  ].map(String);
}

/** What the product found odd, for somebody who wants to read it. */
function printFindings({ judge, pipeline }: LivedLife): void {
  for (const change of judge.fieldChanges) console.log(change);
  for (const event of pipeline.log) if (event.event === 'day_finding') console.log(JSON.stringify(event));
}

function madeOf(service: LivedLife['service'], table: string): number {
  const action = Object.values(reports).find((report) => report.table === table)?.action;
  return service.calls.filter((call) => call.action === action).length;
}

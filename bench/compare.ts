/**
 * Compares the command line with its alternatives: a plain Python script, dlt, and the bare requests (`npm run bench`).
 * All run on this machine, one after the other, against one service of prepared bytes. The results are printed as
 * Markdown for docs/explanation/performance.md. Nothing fails because it is slow.
 * - `--only SECTION[,SECTION]`: only these sections, e.g. `speed,start`; a wrong name prints the list.
 * - `--small`: shows in less than a minute that every section works. It installs nothing, so without bench/peers/.venv
 * the Python competitors are left out.
 * - `--rounds N`: N rounds each, instead of three to seven.
 */
import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { floor, ours } from './compare/competitors.ts';
import { printManyBrands } from './compare/brands.ts';
import { printWhoEndsRight } from './compare/ends-right.ts';
import { printGrowth } from './compare/growth.ts';
import { printHistory } from './compare/history.ts';
import { printIceberg } from './compare/iceberg.ts';
import { type Peers, findPeers } from './compare/peers.ts';
import { printRestated } from './compare/restated.ts';
import { printSpeed } from './compare/speed.ts';
import { printStart } from './compare/start.ts';
import { printWaiting } from './compare/waiting.ts';

const BYTES_PER_GB = 2 ** 30;

const full = {
  speed: [
    { records: 100_000, days: 1, rounds: 5 },
    { records: 1_000_000, days: 1, rounds: 3 },
    { records: 100_000, days: 10, rounds: 3 },
  ],
  waiting: {
    cases: [
      { days: 4, pagesPerDay: 128, inFlight: 4, latencyMs: 50 },
      { days: 16, pagesPerDay: 34, inFlight: 16, latencyMs: 50 },
      { days: 12, pagesPerDay: 8, inFlight: 4, latencyMs: 200 },
    ],
    rounds: 3,
  },
  start: { rounds: 7 },
  growth: { days: 400, recordsPerDay: 5, rounds: 3 },
  brands: [
    { brands: 50, days: 4, pagesPerDay: 100, latencyMs: 20 },
    { brands: 100, days: 4, pagesPerDay: 50, latencyMs: 20 },
  ],
  restated: [
    { records: 100_000, oneIn: 100, rounds: 5 },
    { records: 500_000, oneIn: 1, rounds: 1 },
  ],
  right: { pages: 210 },
  history: { months: 24, ordersPerMonth: 100_000, rounds: 3 },
  iceberg: { brands: 5, days: 1_096 },
};
const small: typeof full = {
  speed: [{ records: 10_000, days: 2, rounds: 2 }],
  waiting: { cases: [{ days: 4, pagesPerDay: 8, inFlight: 4, latencyMs: 20 }], rounds: 1 },
  start: { rounds: 2 },
  growth: { days: 20, recordsPerDay: 5, rounds: 1 },
  brands: [{ brands: 5, days: 4, pagesPerDay: 2, latencyMs: 20 }],
  restated: [{ records: 10_000, oneIn: 100, rounds: 1 }],
  right: { pages: 10 },
  history: { months: 3, ordersPerMonth: 1_000, rounds: 1 },
  iceberg: { brands: 2, days: 62 },
};

const { values } = parseArgs({
  options: {
    small: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
  },
});
const plan = values.small ? small : full;
const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
if (rounds !== undefined && !(Number.isSafeInteger(rounds) && rounds > 0))
  throw new RangeError(`--rounds ${values.rounds} is not a whole number above 0`);
const peers = await findPeers(!values.small);
const others = 'missing' in peers ? [] : peers.competitors;

const sections: Record<string, () => Promise<void>> = {
  speed: async () => {
    const peaksMb: number[] = [];
    for (const size of plan.speed) {
      const limited = { ...size, rounds: rounds ?? size.rounds };
      peaksMb.push(await printSpeed([...others, floor], limited));
    }
    const [first = 0, ...later] = peaksMb;
    for (const peakMb of later)
      console.log(`Peak MB of ours ÷ in the first table: ${(peakMb / first).toFixed(2)}\n`);
  },
  waiting: () => printWaiting({ ...plan.waiting, rounds: rounds ?? plan.waiting.rounds }),
  start: () => printStart(rounds ?? plan.start.rounds),
  growth: () => printGrowth({ ...plan.growth, rounds: rounds ?? plan.growth.rounds }),
  brands: () => printManyBrands(plan.brands),
  restated: async () => {
    for (const each of plan.restated) await printRestated({ ...each, rounds: rounds ?? each.rounds });
  },
  // Each peer waits for a timeout, for which a small run has no time.
  right: () => printWhoEndsRight(values.small ? [ours] : [ours, ...others], plan.right.pages),
  history: () => printHistory({ ...plan.history, rounds: rounds ?? plan.history.rounds }),
  iceberg: () => printIceberg(plan.iceberg),
};

const wanted = values.only?.split(',') ?? Object.keys(sections);
const unknown = wanted.filter((name) => !Object.hasOwn(sections, name));
if (unknown.length > 0) {
  console.error(`No section "${unknown.join(', ')}"; there are ${Object.keys(sections).join(', ')}.`);
  process.exitCode = 2;
} else {
  console.log(machine(peers));
  for (const name of wanted) await sections[name]?.();
}

function machine(found: Peers): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const commit = git('rev-parse', '--short', 'HEAD');
  const changed = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : ' with changes';
  const [{ model } = { model: 'unknown' }] = cpus();
  const memory = Math.round(totalmem() / BYTES_PER_GB);
  return [
    `Commit ${commit}${changed}; ${cpus().length} cores of ${model.trim()}, ${memory} GB, Linux ${release()}; Node ${process.version}.`,
    'missing' in found ? `Python's competitors are left out: ${found.missing}.` : `${found.versions}.`,
    '',
  ].join('\n');
}

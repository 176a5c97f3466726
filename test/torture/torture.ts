/**
 * `npm run torture -- --seconds N --seed S`: runs random histories in turn, each from its own seed, until the time is
 * over, and then prints a table. For a history that ends wrong it prints the faults and the command that repeats the
 * history. `--only` repeats one history, `--trace` prints all its events.
 */
import './deterministic.ts';
import { parseArgs } from 'node:util';
import type { HistoryResult } from './history.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    only: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
});
const { runHistory } = await import('./history.ts');
const KINDS = ['lost', 'doubled', 'torn', 'leaked', 'other'];

const first = Number(values.seed ?? Math.floor(Math.random() * 1e9));
const untilMs = Date.now() + Number(values.seconds) * 1000;
const trace = values.trace ? (line: string) => console.log(line) : () => {};
const results: HistoryResult[] = [];

console.log(`torture: seeds from ${first}`);
for (let seed = first; seed === first || (!values.only && Date.now() < untilMs); seed += 1) {
  const result = await runHistory(seed, trace);
  results.push(result);
  if (result.findings.length === 0) continue;
  console.log(`\nseed ${seed}: ${result.findings.length} wrong`);
  for (const { kind, what } of result.findings.slice(0, 8)) console.log(`  ${kind}: ${what}`);
  console.log(`  repeat: npm run torture -- --seed ${seed} --only`);
}
const figures: Record<string, number> = { histories: results.length };
const add = (name: string, count: number) => {
  figures[name] = (figures[name] ?? 0) + count;
};
for (const { seed: _seed, findings, ...counts } of results) {
  for (const [name, count] of Object.entries(counts)) add(name, count);
  for (const kind of KINDS) add(kind, findings.filter((one) => one.kind === kind).length);
}
console.table(figures);
process.exitCode = results.some(({ findings }) => findings.length > 0) ? 1 : 0;

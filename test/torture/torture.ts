/**
 * `npm run torture -- --seconds N --seed S`: runs random histories in turn, each from its own seed, until the time is
 * over, and then prints a table. For a history that ends wrong it prints the faults and the command that repeats the
 * history. `--only` repeats one history, `--trace` prints all its events.
 */
import './deterministic.ts';
import { parseArgs } from 'node:util';
import { tableOf, wholeNumber } from '../simulation/command.ts';
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

const first = wholeNumber('seed', values.seed ?? String(Math.floor(Math.random() * 1e9)));
const untilMs = Date.now() + Number(values.seconds) * 1000;
const trace = values.trace ? (line: string) => console.log(line) : () => {};
const results: HistoryResult[] = [];

console.log(`torture: seeds from ${first}`);
for (let seed = first; seed === first || (!values.only && Date.now() < untilMs); seed += 1) {
  const result = await runHistory(seed, trace);
  results.push(result);
  if (result.findings.length === 0) continue;
  console.log(`\nseed ${seed} (${result.lake}): ${result.findings.length} wrong`);
  for (const { kind, what } of result.findings.slice(0, 8)) console.log(`  ${kind}: ${what}`);
  console.log(`  repeat: npm run torture -- --seed ${seed} --only`);
}
console.log(tableOf(['', ''], figuresOf(results)));
process.exitCode = results.some(({ findings }) => findings.length > 0) ? 1 : 0;

function figuresOf(all: readonly HistoryResult[]): [string, number][] {
  const sum = (of: (result: HistoryResult) => number) => all.reduce((total, result) => total + of(result), 0);
  const found = (kind: string) => sum(({ findings }) => findings.filter((one) => one.kind === kind).length);
  return [
    ['histories', all.length],
    ['… in memory', all.filter(({ lake }) => lake === 'memory').length],
    ['… in a folder', all.filter(({ lake }) => lake === 'folder').length],
    ['runs', sum(({ runs }) => runs)],
    ['requests', sum(({ requests }) => requests)],
    ['changes of a day', sum(({ changes }) => changes)],
    ['faults', sum(({ faults }) => faults)],
    ['deaths', sum(({ deaths }) => deaths)],
    ['restarts', sum(({ restarts }) => restarts)],
    ['readings by a query', sum(({ reads }) => reads)],
    ['lost', found('lost')],
    ['doubled', found('doubled')],
    ['torn', found('torn')],
    ['leaked', found('leaked')],
    ['otherwise wrong', found('other')],
  ];
}

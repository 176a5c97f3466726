/** `npm run reconcile:measure -- --seed S --count N`: prints the results of the comparison, a row for each format. */
import { parseArgs } from 'node:util';
import { tableOf, wholeNumber } from '../simulation/command.ts';
import { type Measured, fillLake, measure } from './measured.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, count: { type: 'string', default: '10' } },
});
const first = wholeNumber('seed', values.seed);
const lake = await fillLake();
const all: Measured[] = [];
for (let seed = first; seed < first + wholeNumber('count', values.count); seed += 1) {
  const measured = await measure(lake, seed);
  for (const { format, wrong } of measured)
    for (const line of wrong) console.log(`seed ${seed}, ${format}: ${line}`);
  all.push(...measured);
}
const rows = [...Map.groupBy(all, ({ format }) => format)].map(([format, own]) => {
  const sum = (name: 'faults' | 'found' | 'rightCause' | 'falseAlarms' | 'wrongSums') =>
    own.reduce((total, each) => total + each[name], 0);
  return [format, sum('faults'), sum('found'), sum('rightCause'), sum('falseAlarms'), sum('wrongSums')];
});
console.log(tableOf(['format', 'faults', 'found', 'right cause', 'false alarms', 'wrong sums'], rows));
await lake.close();

/**
 * Prints how many requests runs send to the service:
 * - In a lake of 400 days, after the first run: compared with one request a page and one proof of the end for each
 * reading.
 * - In the first 61 days of a brand: compared with a script that re-reads the last 35 days at the same hours.
 */
import { HOUR_MS } from '../shared/base/days.ts';
import { type Spent, spentBy } from './requests/simulated.ts';

const lake = await spentBy({ daysBefore: 386, days: 14, runEveryMs: HOUR_MS });
const life = await spentBy({ daysBefore: 0, days: 61, runEveryMs: 8 * HOUR_MS });
const number = (value: number) => value.toLocaleString('en').padStart(10);

function print(title: string, against: string, spent: readonly Spent[], partOf: (one: Spent) => number) {
  console.log(`\n${title}`);
  console.log(`${'report'.padEnd(26)}   readings   requests ${against.padStart(10)}      ratio`);
  for (const one of spent) {
    const ratio = (one.requests / partOf(one)).toFixed(2).padStart(10);
    const cells = [number(one.readings), number(one.requests), number(partOf(one)), ratio];
    console.log(`${one.report.padEnd(26)} ${cells.join(' ')}`);
  }
}

print('A lake of 400 days, 14 of them with hourly runs', 'least', lake, ({ least }) => least);
console.log(
  `The first run of the lake sent ${lake.map(({ report, first }) => `${first} for ${report}`).join(', ')}`,
);
print('The first 61 days, three runs a day', 'lookback', life, ({ lookback }) => lookback);

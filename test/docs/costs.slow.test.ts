import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
const NUMBER = /\d[\d,]*(?:\.\d+)?/g;
/** Requests that meet each other are repeated, a few more or less in each run. */
const TOLERANCE = 0.15;

it('docs/explanation/costs.md is what npm run cost prints, word for word, with about the same numbers, and no bill above its limit', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['bench/cost.ts'], { cwd: root });
  const page = readFileSync(new URL('../../docs/explanation/costs.md', import.meta.url), 'utf8');
  const words = (text: string) => text.replaceAll(NUMBER, '0').replaceAll(/[ -]+/g, ' ');
  expect(words(page)).toBe(words(stdout));
  const numbers = (text: string) =>
    (text.match(NUMBER) ?? []).map((each) => Number(each.replaceAll(',', '')));
  const printed = numbers(stdout);
  const differing = numbers(page).filter((each, index) => {
    const other = printed[index] ?? Number.NaN;
    return !(Math.abs(each - other) <= Math.max(0.01, TOLERANCE * other));
  });
  expect(differing).toEqual([]);
  const bills = [...stdout.matchAll(/^\| +(\d+) \|.*\*\*([\d.]+)\*\*.*$/gm)].map((row) =>
    row.slice(1).map(Number),
  );
  expect(bills.map(([brands]) => brands)).toEqual([1, 30, 300]);
  const most = [1.6, 30, 280];
  expect(bills.filter(([, dollars = Infinity], index) => dollars > (most[index] ?? 0))).toEqual([]);
}, 600_000);

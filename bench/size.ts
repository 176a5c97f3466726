/*
 * Counts the lines of the repository by module (CONTRIBUTING, "Weight"). Modules of `shared/` are its folders and
 * files. Configuration files do not count. The compiled kernel counts as it is in git.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const PRODUCT = ['shared', 'functions', 'infra', 'cli', 'kernel'];
const AREAS = ['product', 'tests', 'docs', 'beside'] as const;

type Area = (typeof AREAS)[number];

/** The area and module of a file; `undefined` for configuration and data. */
function placeOf(path: string): { area: Area; module: string } | undefined {
  const [top = '', second = '', ...below] = path.split('/');
  if (top === 'test') return { area: 'tests', module: below.length > 0 ? `test/${second}` : 'test' };
  if (path.endsWith('.md')) return { area: 'docs', module: second === '' ? 'top level' : top };
  if (!/\.[jt]s$/.test(path) || path.endsWith('.config.js') || top.startsWith('.')) return undefined;
  if (second === '') return { area: 'product', module: 'top level' };
  if (!PRODUCT.includes(top)) return { area: 'beside', module: top };
  return { area: 'product', module: top === 'shared' ? `shared/${second}` : top };
}

const lines: Record<Area, Map<string, number>> = {
  product: new Map(),
  tests: new Map(),
  docs: new Map(),
  beside: new Map(),
};
for (const path of execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')) {
  const place = placeOf(path);
  if (!place) continue;
  const counted = readFileSync(`${root}${path}`, 'utf8').split('\n').length - 1;
  const modules = lines[place.area];
  modules.set(place.module, (modules.get(place.module) ?? 0) + counted);
}

for (const area of AREAS) {
  const modules = [...lines[area]].sort(([, a], [, b]) => b - a);
  const all = modules.reduce((sum, [, count]) => sum + count, 0);
  console.log(`${all.toLocaleString('en').padStart(7)}  ${area}`);
  for (const [module, count] of modules) console.log(`${count.toLocaleString('en').padStart(9)}  ${module}`);
}

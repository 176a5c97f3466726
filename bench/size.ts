/*
 * Lines of the repository by room: what there is to read and to carry (CONTRIBUTING, "Weight"). Rooms of `shared/` are its
 * folders and files. Configuration files count nowhere, the compiled kernel as it is in git.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const PRODUCT = ['shared', 'functions', 'infra', 'cli', 'kernel'];
const AREAS = ['product', 'tests', 'docs', 'beside'] as const;

type Area = (typeof AREAS)[number];

/** Where a file counts; `undefined` for configuration and data. */
function placeOf(path: string): { area: Area; room: string } | undefined {
  const [top = '', second = '', ...below] = path.split('/');
  if (top === 'test') return { area: 'tests', room: below.length > 0 ? `test/${second}` : 'test' };
  if (path.endsWith('.md')) return { area: 'docs', room: second === '' ? 'top level' : top };
  if (!/\.[jt]s$/.test(path) || path.endsWith('.config.js') || top.startsWith('.')) return undefined;
  if (second === '') return { area: 'product', room: 'top level' };
  if (!PRODUCT.includes(top)) return { area: 'beside', room: top };
  return { area: 'product', room: top === 'shared' ? `shared/${second}` : top };
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
  const rooms = lines[place.area];
  rooms.set(place.room, (rooms.get(place.room) ?? 0) + counted);
}

for (const area of AREAS) {
  const rooms = [...lines[area]].sort(([, a], [, b]) => b - a);
  const all = rooms.reduce((sum, [, count]) => sum + count, 0);
  console.log(`${all.toLocaleString('en').padStart(7)}  ${area}`);
  for (const [room, count] of rooms) console.log(`${count.toLocaleString('en').padStart(9)}  ${room}`);
}

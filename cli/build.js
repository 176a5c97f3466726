import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../bundle.js';

// Plain JavaScript, as `bundle.js` is: bundles the command line into `dist/`.

const DAY_MS = 24 * 60 * 60 * 1000;
const folder = fileURLToPath(new URL('../dist/', import.meta.url));

const metafile = bundle({ entryPoints: ['cli/main.ts'] }, folder, {
  target: 'node22.18',
  external: ['@duckdb/*', 'parquetjs-lite'],
  // Most runs sync.
  atStart: ['cli/commands/sync.ts', 'shared/lake/table/parquet.ts'],
});
// The parts of older builds: a program that still runs loads its own.
for (const path of readdirSync(folder).map((name) => join(folder, name)))
  if (statSync(path).mtimeMs < Date.now() - DAY_MS) rmSync(path, { recursive: true });
writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
// Last, because the launcher takes what is newer for the rest of a build that did not end.
writeFileSync(join(folder, 'built.json'), JSON.stringify(metafile));

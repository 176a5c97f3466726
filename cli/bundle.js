import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

// Plain JavaScript that any Node from version 20 on understands: `npm install` runs it, by whatever Node is there.
//
// Bundles the command line into `dist/`: `main.js` with all that `sync` loads, and a file for each part that is loaded when
// it is used. esbuild makes a file of all that the same parts share, and to find and link the thirty that `sync` would load
// takes Node a tenth of its start. So the second step makes one of them; in the place of each stands one that hands out what
// was in it, for the parts that are loaded later.

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'dist');
const COMMON = /** @type {const} */ ({
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node22.18',
  format: 'esm',
  logLevel: 'warning',
});

const EXTERNAL = ['@duckdb/*', 'parquetjs-lite'];
/** What is in `main.js`, with all that it imports. */
const MERGED = ['cli/main.ts', 'cli/commands/sync.ts', 'shared/lake/table/parquet.ts'];

const modules = mkdtempSync(join(tmpdir(), 'brand-reports-bundle-'));
try {
  const { metafile } = buildSync({
    ...COMMON,
    entryPoints: ['cli/main.ts'],
    outdir: modules,
    splitting: true,
    metafile: true,
    mainFields: ['module', 'main'],
    external: EXTERNAL,
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
  });
  mkdirSync(folder, { recursive: true });
  merge(metafile.outputs);
  // Last, because the launcher takes what is newer for the rest of a build that did not end.
  writeFileSync(join(folder, 'built.json'), JSON.stringify(metafile));
} finally {
  rmSync(modules, { recursive: true });
}

/** @param {import('esbuild').Metafile['outputs']} outputs of the first step */
function merge(outputs) {
  const merged = mergedFiles(outputs);
  const later = readdirSync(modules).filter((file) => !merged.includes(file));
  const shared = merged.filter((file) => file !== 'main.js');
  const contents = shared.map(
    (file) => `export { ${listOf(outputs, file, (name, own) => `${name} as ${own}`)} } from './${file}';`,
  );
  buildSync({
    ...COMMON,
    stdin: { contents: [...contents, "import './main.js';"].join('\n'), resolveDir: modules },
    external: [...EXTERNAL, ...later.map((file) => `./${file}`)],
    outfile: join(folder, 'main.js'),
  });
  for (const file of shared) {
    const list = listOf(outputs, file, (name, own) => `${own} as ${name}`);
    writeFileSync(join(folder, file), `export { ${list} } from './main.js';\n`);
  }
  for (const file of later) copyFileSync(join(modules, file), join(folder, file));
}

/**
 * The exports of a file. In `main.js` each has a name of its own, which says what is in the file: a program that runs while
 * another one is built finds what it was built with, or fails.
 * @param {import('esbuild').Metafile['outputs']} outputs
 * @param {string} file
 * @param {(name: string, own: string) => string} write
 */
function listOf(outputs, file, write) {
  const prefix = basename(file, '.js').replaceAll(/\W/g, '_');
  const names = outputOf(outputs, file)?.exports ?? [];
  return names.map((name) => write(name, `${prefix}_${name}`)).join(', ');
}

/** @param {import('esbuild').Metafile['outputs']} outputs */
function mergedFiles(outputs) {
  const merged = Object.entries(outputs)
    .filter(([, { entryPoint }]) => entryPoint !== undefined && MERGED.includes(entryPoint))
    .map(([path]) => basename(path));
  // The list grows while it is walked.
  for (const file of merged)
    for (const { kind, path, external } of outputOf(outputs, file)?.imports ?? [])
      if (kind === 'import-statement' && !external && !merged.includes(basename(path)))
        merged.push(basename(path));
  return merged;
}

/** @param {import('esbuild').Metafile['outputs']} outputs @param {string} file */
function outputOf(outputs, file) {
  return Object.entries(outputs).find(([path]) => basename(path) === file)?.[1];
}

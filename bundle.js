import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

// Plain JavaScript that any Node from version 20 on understands: `npm install` runs it, by whatever Node is there.

/** @typedef {import('esbuild').BuildOptions} BuildOptions */
/** @typedef {import('esbuild').Metafile} Metafile */

/** @type {BuildOptions} */
const COMMON = {
  absWorkingDir: fileURLToPath(new URL('.', import.meta.url)),
  platform: 'node',
  logLevel: 'warning',
};
/** @type {BuildOptions} */
const COMMON_JS = {
  ...COMMON,
  format: 'cjs',
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': '__filename' },
};

/**
 * Bundles a program into `folder`: `main.js` with all that a start loads, and a file for each part that is loaded when it
 * is used, because to read the text of code takes Node longer than to run what a start runs of it. esbuild splits ES
 * modules only, and makes a file of all that the same parts share. So the second step makes one of those that a start
 * loads, because to find and link thirty takes a tenth of a start; in the place of each stands one that hands out what was
 * in it, for the parts that are loaded later. It makes all of them CommonJS: an ES module that imports `node:http` or
 * `node:fs` makes Node load all that these can do, `fetch` included, and the launcher can keep only CommonJS compiled.
 * @param {Pick<BuildOptions, 'entryPoints' | 'stdin'>} entry one
 * @param {string} folder
 * @param {Pick<BuildOptions, 'target' | 'minify' | 'define' | 'external'> & { atStart?: readonly string[] }} options
 *   `atStart`: sources that a start loads too, although they are imported dynamically
 * @returns what is in each file of the first step
 */
export function bundle(entry, folder, { target, minify, define, external = [], atStart = [] }) {
  const modules = mkdtempSync(join(tmpdir(), 'brand-reports-bundle-'));
  mkdirSync(folder, { recursive: true });
  // A program that runs meanwhile reads whole files only.
  const made = mkdtempSync(join(folder, 'new-'));
  try {
    const { metafile } = buildSync({
      ...{ ...COMMON, ...entry, target, minify, define, external, outdir: modules, entryNames: 'main' },
      ...{ bundle: true, format: 'esm', splitting: true, metafile: true },
      // Otherwise esbuild takes the SDK's CommonJS builds, which are twice as large.
      mainFields: ['module', 'main'],
    });
    const merged = loadedAtStart(metafile, atStart).map((path) => basename(path));
    const later = readdirSync(modules).filter((file) => !merged.includes(file));
    const shared = merged.filter((file) => file !== 'main.js');
    const contents = [
      ...shared.map((file) => `export * as ${exportOf(file)} from './${file}';`),
      "export * from './main.js';",
    ];
    const options = { ...COMMON_JS, target, minify };
    buildSync({
      ...{ ...options, bundle: true, outfile: join(made, 'main.js') },
      stdin: { contents: contents.join('\n'), resolveDir: modules },
      external: [...external, ...later.map((file) => `./${file}`)],
    });
    buildSync({ ...options, entryPoints: later.map((file) => join(modules, file)), outdir: made });
    for (const file of shared)
      writeFileSync(join(made, file), `module.exports=require('./main.js').${exportOf(file)};`);
    for (const file of readdirSync(made)) renameSync(join(made, file), join(folder, file));
    return metafile;
  } finally {
    for (const each of [modules, made]) rmSync(each, { recursive: true });
  }
}

/**
 * As what `main.js` hands out what was in a file. It has the hash that the file's name has: a program that runs while another
 * one is built finds what it was built with, or fails.
 * @param {string} file
 */
function exportOf(file) {
  return basename(file, '.js').replaceAll(/\W/g, '_');
}

/**
 * The paths of the files of the first step that a start loads: the entry, `atStart` and what they import statically.
 * @param {Metafile} metafile
 * @param {readonly string[]} atStart
 */
export function loadedAtStart({ outputs }, atStart = []) {
  const loaded = Object.entries(outputs)
    .filter(([path, { entryPoint = '' }]) => basename(path) === 'main.js' || atStart.includes(entryPoint))
    .map(([path]) => path);
  // The list grows while it is walked.
  for (const path of loaded)
    for (const { kind, path: imported, external } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && !external && !loaded.includes(imported)) loaded.push(imported);
  return loaded;
}

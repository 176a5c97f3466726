import { createRequire } from 'node:module';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Esbuild from 'esbuild';
import type { BuildOptions, Metafile } from 'esbuild';

const COMMON: BuildOptions = {
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  platform: 'node',
  target: 'node24',
  minify: true,
  logLevel: 'warning',
};
/** An ES module that imports `node:http` makes Node load `fetch` too, which takes 30 ms of CPU: `require` does not. */
const COMMON_JS: BuildOptions = { ...COMMON, format: 'cjs', supported: { 'dynamic-import': false } };

/**
 * Bundles a function into `folder`: `main.js` contains the code that a start loads, and each part that is loaded later
 * has its own file. The split saves time: Node reads code more slowly than it runs the few functions that a start
 * needs. esbuild splits only ES modules, and puts code that several parts share into separate files. So a second
 * step joins the files that a start loads to `main.js`. It replaces each of these files by a file that hands its
 * exports to later parts, and makes all files CommonJS.
 * @returns the contents of each file of the first step
 */
export function bundleFunction(entry: Pick<BuildOptions, 'entryPoints' | 'stdin'>, folder: string): Metafile {
  // Loaded only for bundling: a package contains its bundles and has no esbuild.
  const { buildSync }: typeof Esbuild = createRequire(import.meta.url)('esbuild');
  const modules = mkdtempSync(join(tmpdir(), 'brand-reports-bundle-'));
  try {
    const { metafile } = buildSync({
      ...{ ...COMMON, ...entry, outdir: modules, entryNames: 'main' },
      ...{ bundle: true, format: 'esm', splitting: true, metafile: true },
      // Without these fields esbuild takes the SDK's CommonJS builds, which are twice as large.
      mainFields: ['module', 'main'],
    });
    const atStart = loadedAtStart(metafile).map((path) => basename(path));
    const later = readdirSync(modules).filter((file) => !atStart.includes(file));
    const shared = atStart.filter((file) => file !== 'main.js');
    const contents = [
      "export * from './main.js';",
      ...shared.map((file, index) => `export * as shared${index} from './${file}';`),
    ];
    buildSync({
      ...{ ...COMMON_JS, bundle: true, outfile: join(folder, 'main.js') },
      stdin: { contents: contents.join('\n'), resolveDir: modules },
      external: later.map((file) => `./${file}`),
    });
    buildSync({ ...COMMON_JS, entryPoints: later.map((file) => join(modules, file)), outdir: folder });
    for (const [index, file] of shared.entries())
      writeFileSync(join(folder, file), `module.exports=require('./main.js').shared${index};`);
    return metafile;
  } finally {
    rmSync(modules, { recursive: true });
  }
}

/** The paths of the first step's files that a start loads: the entry and, recursively, its static imports. */
export function loadedAtStart({ outputs }: Metafile): string[] {
  const loaded = Object.keys(outputs).filter((path) => basename(path) === 'main.js');
  // The list grows while it is walked.
  for (const path of loaded)
    for (const { kind, path: imported, external } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && !external && !loaded.includes(imported)) loaded.push(imported);
  return loaded;
}

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type * as Esbuild from 'esbuild';
import type { BuildOptions, Metafile } from 'esbuild';

/**
 * Bundles a function into one file, `main.js`. Modules that the function imports later run later, but Node reads them at
 * the start.
 * @returns the contents of the file
 */
export function bundleFunction(entry: Pick<BuildOptions, 'entryPoints' | 'stdin'>, folder: string): Metafile {
  // Loaded only for bundling: a package contains its bundles and has no esbuild.
  const { buildSync }: typeof Esbuild = createRequire(import.meta.url)('esbuild');
  const { metafile } = buildSync({
    ...{ ...entry, outdir: folder, entryNames: 'main', bundle: true, minify: true, metafile: true },
    absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
    // An ES module that imports `node:http` makes Node load `fetch` too, which takes 30 ms of CPU: `require` does not.
    ...{ format: 'cjs', supported: { 'dynamic-import': false } },
    ...{ platform: 'node', target: 'node24', logLevel: 'warning' },
    // Without these fields esbuild takes the SDK's CommonJS builds, which are twice as large.
    mainFields: ['module', 'main'],
  });
  return metafile;
}

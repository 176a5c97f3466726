import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuildOptions, type Metafile, buildSync } from 'esbuild';

const COMMON = { platform: 'node', target: 'node24', minify: true, logLevel: 'warning' } as const;

/**
 * Bundles a function into `folder`: `index.js`, and a file for each part that is loaded when it is used, because to read
 * the text of code takes Node longer than to run what a start runs of it. esbuild splits ES modules only. The second step
 * makes them CommonJS, because an ES module that imports `node:http` or `node:fs` makes Node load all that these can do,
 * `fetch` included: a fifth of the time of a cold start. Names stay for the stack traces.
 * @param define the text of expressions, and what stands in their place
 * @returns what is in each file
 */
export function bundle(
  entry: Pick<BuildOptions, 'entryPoints' | 'stdin'>,
  define: Record<string, string>,
  folder: string,
): Metafile {
  const modules = mkdtempSync(join(tmpdir(), 'brand-reports-bundle-'));
  try {
    const { metafile } = buildSync({
      ...{ ...COMMON, ...entry, define, outdir: modules, entryNames: 'index' },
      ...{ bundle: true, format: 'esm', splitting: true, keepNames: true },
      metafile: true,
      // Otherwise esbuild takes the SDK's CommonJS builds, which are twice as large.
      mainFields: ['module', 'main'],
    });
    buildSync({
      ...{ ...COMMON, outdir: folder, format: 'cjs', supported: { 'dynamic-import': false } },
      entryPoints: readdirSync(modules).map((file) => join(modules, file)),
    });
    return metafile;
  } finally {
    rmSync(modules, { recursive: true });
  }
}

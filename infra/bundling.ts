import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type BuildOptions, type Metafile, buildSync } from 'esbuild';

const COMMON = { platform: 'node', target: 'node24', minify: true, logLevel: 'warning' } as const;
const COMMON_JS = { ...COMMON, format: 'cjs', supported: { 'dynamic-import': false } } as const;

/**
 * Bundles a function into `folder`: `index.js` with all that a start loads, and a file for each part that is loaded when
 * it is used, because to read the text of code takes Node longer than to run what a start runs of it. esbuild splits ES
 * modules only. The second step makes them CommonJS, because an ES module that imports `node:http` or `node:fs` makes Node
 * load all that these can do, `fetch` included: a fifth of the time of a cold start.
 * @param define the text of expressions, and what stands in their place
 * @returns what is in each file of the first step
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
      ...{ bundle: true, format: 'esm', splitting: true, metafile: true },
      // Otherwise esbuild takes the SDK's CommonJS builds, which are twice as large.
      mainFields: ['module', 'main'],
    });
    asCommonJs(
      modules,
      loadedAtStart(metafile).map((path) => basename(path)),
      folder,
    );
    return metafile;
  } finally {
    rmSync(modules, { recursive: true });
  }
}

/** The paths of the entry and of what it imports statically, the entry first. */
export function loadedAtStart({ outputs }: Metafile): string[] {
  const loaded = Object.keys(outputs).filter((path) => basename(path) === 'index.js');
  // The list grows while it is walked.
  for (const path of loaded)
    for (const { kind, path: imported, external } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && !external && !loaded.includes(imported)) loaded.push(imported);
  return loaded;
}

/** @param atStart the files that become one; in the place of each stands one that hands out its part, for those loaded later */
function asCommonJs(modules: string, [entry, ...shared]: readonly string[], folder: string): void {
  const later = readdirSync(modules).filter((file) => file !== entry && !shared.includes(file));
  const contents = [
    `export * from './${entry}';`,
    ...shared.map((file, place) => `export * as shared${place} from './${file}';`),
  ].join('\n');
  const paths = later.map((file) => join(modules, file));
  // Beside the others first, because it names them by their place.
  const start = join(modules, 'start.js');
  const stdin = { contents, resolveDir: modules };
  buildSync({ ...COMMON_JS, bundle: true, stdin, external: paths, outfile: start });
  buildSync({ ...COMMON_JS, entryPoints: paths, outdir: folder });
  mkdirSync(folder, { recursive: true });
  copyFileSync(start, join(folder, 'index.js'));
  for (const [place, file] of shared.entries())
    writeFileSync(join(folder, file), `module.exports=require('./index.js').shared${place};`);
}

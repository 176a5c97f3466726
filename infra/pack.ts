/* Builds the package `cdk/`, for apps with neither TypeScript nor esbuild. `npm pack ./cdk` runs it (`prepack`). */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { bundleFunction } from './bundle-function.ts';

const inRepository = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

for (const folder of ['dist', 'functions'])
  rmSync(inRepository(`cdk/${folder}`), { recursive: true, force: true });
for (const entry of globSync(inRepository('functions/*.lambda.ts')))
  bundleFunction({ entryPoints: [entry] }, inRepository(`cdk/functions/${basename(entry, '.lambda.ts')}`));
buildSync({
  entryPoints: [inRepository('infra/brand-reports.ts')],
  outdir: inRepository('cdk/dist'),
  ...{ bundle: true, platform: 'node', format: 'esm', target: 'node22.18', logLevel: 'warning' },
  external: ['aws-cdk-lib', 'constructs'],
  mainFields: ['module', 'main'],
});
// The compiler writes a file for each module, but the types of the construct refer to no other file.
const types = mkdtempSync(join(tmpdir(), 'brand-reports-types-'));
try {
  const project = inRepository('infra/tsconfig.pack.json');
  execFileSync('tsc', ['--project', project, '--outDir', types], { stdio: 'inherit' });
  copyFileSync(join(types, 'infra/brand-reports.d.ts'), inRepository('cdk/dist/brand-reports.d.ts'));
} finally {
  rmSync(types, { recursive: true });
}

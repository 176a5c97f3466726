import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const execute = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));
/** With it a Node is like one that cannot run TypeScript. */
const LIKE_AN_OLDER_NODE = '--no-experimental-strip-types';

/** Runs a program as an older Node would. */
async function run(file: string, args: readonly string[], env: Record<string, string> = {}) {
  const { NODE_OPTIONS: _options, ...inherited } = process.env;
  const command = [LIKE_AN_OLDER_NODE, file, ...args];
  return await execute(process.execPath, command, { cwd: repository, env: { ...inherited, ...env } }).catch(
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

describe.each([
  ['the command line', 'cli/brand-reports.js', ['--version']],
  ['the app of cdk.json', 'infra/app.js', []],
])('%s under a Node that is too old', (_name, file, args) => {
  it('runs by the Node that the installation brought along, where there is one', async () => {
    const out = await temporaryFolder();
    const ran = await run(join(repository, file), args, { CDK_OUTDIR: out.path });
    await out.remove();
    expect(ran).toMatchObject({ stdout: expect.any(String) });
    expect(ran).not.toHaveProperty('code');
  });

  it('says which Node it needs and how to get it, where there is none', async () => {
    const elsewhere = await temporaryFolder();
    const [folder = ''] = file.split('/');
    await mkdir(join(elsewhere.path, folder));
    for (const each of ['package.json', 'launch.js', file])
      await cp(join(repository, each), join(elsewhere.path, each));
    const ran = await run(join(elsewhere.path, file), args);
    await elsewhere.remove();
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^brand-reports needs Node 22\.18 or newer, and this is v\d.*npm ci/);
  });
});

import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const run = (...args: string[]) =>
  promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_OPTIONS: '' } });

describe('the bundle of the command line', () => {
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'brand-reports-bundle-test-'));
    for (const name of ['cli', 'sample', 'shared', 'package.json', 'launch.js', 'run-bundle.js', 'bundle.js'])
      await cp(join(root, name), join(folder, name), { recursive: true });
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await run(join(folder, 'cli/build.js'));
  }, 60_000);

  afterAll(() => rm(folder, { recursive: true }));

  it('has all that sync loads in one file', async () => {
    const main = await readFile(join(folder, 'dist/main.js'), 'utf8');
    expect(main).toContain('writeColumnChunk');
    // What is loaded later is required in a function.
    expect(main).not.toMatch(/^(var|const|let) .* = require\("\.\//m);
  });

  it('ends with the file by which the launcher tells that it is whole', async () => {
    const files = await readdir(join(folder, 'dist'));
    const times = await Promise.all(
      files.map(async (file) => (await stat(join(folder, 'dist', file))).mtimeMs),
    );
    const built = await stat(join(folder, 'dist/built.json'));
    expect(built.mtimeMs).toBe(Math.max(...times));
  });

  it('hands out what later parts need: each of its files can be loaded', async () => {
    const files = (await readdir(join(folder, 'dist'))).filter((file) => file.endsWith('.js'));
    expect(files.length).toBeGreaterThan(50);
    const urls = files.map((file) => pathToFileURL(join(folder, 'dist', file)).href);
    const script = `process.argv = [process.execPath, 'brand-reports', '--version'];
      for (const url of ${JSON.stringify(urls)}) await import(url);`;
    const { stdout } = await run(
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '--eval',
      script,
    );
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('runs each command', async () => {
    const { stdout } = await run(join(folder, 'cli/brand-reports.js'), '--help');
    const commands = [...stdout.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map(([, name = '']) => name);
    expect(commands.length).toBeGreaterThan(9);
    for (const name of commands) {
      const help = await run(join(folder, 'cli/brand-reports.js'), name, '--help');
      expect(help.stdout).toContain(`brand-reports ${name}`);
    }
  }, 60_000);
});

import { execFile } from 'node:child_process';
import {
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

const launcher = join(import.meta.dirname, '../../cli/brand-reports.js');
const BUILT = new Date('2026-03-01T00:00:00Z');
const BEFORE = new Date('2026-02-28T23:00:00Z');
const LATER = new Date('2026-03-01T01:00:00Z');
const SOURCES = [
  'package.json',
  'cli/main.ts',
  'cli/brand-reports.js',
  'shared/pages/first.ts',
  'sample/brand.ts',
];
const PARTS = ['dist/main.js', 'dist/chunk.js', 'dist/built.json'];
const FOLDERS = ['cli', 'shared/pages', 'shared', 'sample'];

describe('what the launcher starts', () => {
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'brand-reports-launcher-'));
    for (const name of [...FOLDERS, 'dist']) await mkdir(join(folder, name), { recursive: true });
    for (const name of SOURCES) await writeFile(join(folder, name), '{}');
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await cp(launcher, join(folder, 'cli/brand-reports.js'));
    for (const name of ['launch.js', 'run-bundle.js'])
      await cp(join(launcher, '../..', name), join(folder, name));
    await writeFile(join(folder, 'cli/main.ts'), "console.log('sources')");
    for (const name of PARTS) await writeFile(join(folder, name), "console.log('bundle')");
    // As Emacs marks a file that is being edited.
    await symlink('somebody@machine.1234', join(folder, 'cli/.#main.ts'));
  });

  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ['the bundle, if no source is newer', undefined, 'bundle'],
    ['the sources after one was changed', 'shared/pages/first.ts', 'sources'],
    ['the sources after one was removed', 'shared/pages', 'sources'],
    ['the sources after a package was replaced', 'package.json', 'sources'],
    ['the sources after a build that ended in its program', 'dist/main.js', 'sources'],
    ['the sources after a build that ended in a part of it', 'dist/chunk.js', 'sources'],
  ])('is %s', async (_name, changed, started) => {
    for (const name of [...SOURCES, ...FOLDERS]) await utimes(join(folder, name), BEFORE, BEFORE);
    for (const name of PARTS) await utimes(join(folder, name), BUILT, BUILT);
    if (changed !== undefined) await utimes(join(folder, changed), LATER, LATER);
    expect(await launched(folder)).toBe(`${started}\n`);
  });
});

describe('what was compiled in a run of the bundle', () => {
  let folder = '';
  const cache = () => join(folder, 'cache/brand-reports/compiled');

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'brand-reports-launcher-'));
    for (const name of ['cli', 'dist', 'shared', 'sample']) await mkdir(join(folder, name));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await cp(launcher, join(folder, 'cli/brand-reports.js'));
    for (const name of ['launch.js', 'run-bundle.js'])
      await cp(join(launcher, '../..', name), join(folder, name));
    await build('first');
  });

  afterEach(() => rm(folder, { recursive: true }));

  it('is kept for the next run, and not written again by that', async () => {
    await launched(folder);
    const [[, kept] = []] = await keptFiles();
    expect(await launched(folder)).toBe('first\n');
    expect(await keptFiles()).toEqual([[expect.any(String), kept]]);
  });

  it('is kept for each command, because each calls other functions', async () => {
    for (const command of ['sync', 'status', 'sync']) await launched(folder, command);
    expect(await keptFiles()).toHaveLength(2);
  });

  it('is not run in the place of another program, although that is as long', async () => {
    await launched(folder);
    await build('later');
    expect(await launched(folder)).toBe('later\n');
    expect(await launched(folder)).toBe('later\n');
  });

  it('is kept again by a run that takes longer, because that calls more functions', async () => {
    await launched(folder, 'sync');
    const before = await keptFiles();
    await launched(folder, 'sync', '--long');
    expect(await keptFiles()).not.toEqual(before);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['three bytes', Buffer.alloc(3)],
    ['what is no code of V8', Buffer.from('not what V8 has compiled, but something else')],
  ])('is made again where %s stands in its place', async (_name, damage) => {
    await launched(folder);
    const [[file, kept] = ['', 0]] = await keptFiles();
    await writeFile(file, damage);
    expect(await launched(folder)).toBe('first\n');
    expect((await readFile(file)).length).toBeGreaterThan(damage.length);
    expect(kept).toBeDefined();
  });

  it('is made again where a bit of it is another', async () => {
    await launched(folder);
    const [[file] = ['']] = await keptFiles();
    const damaged = await readFile(file);
    damaged[200] = (damaged[200] ?? 0) ^ 1;
    await writeFile(file, damaged);
    expect(await launched(folder)).toBe('first\n');
    expect(damaged.equals(await readFile(file))).toBe(false);
  });

  it('is made in vain, run after run, where a folder stands in its place', async () => {
    await launched(folder);
    const [[file] = ['']] = await keptFiles();
    await rm(file);
    await mkdir(file);
    expect(await launched(folder)).toBe('first\n');
    const left = (await readdir(dirname(file))).filter((name) => name.includes('.functions'));
    expect(left).toEqual([basename(file)]);
  });

  it('is not looked for in the working directory where the user has no folder', async () => {
    for (const env of [{ XDG_CACHE_HOME: '', HOME: '' }, { XDG_CACHE_HOME: 'cache' }])
      expect(await launchedWith({ HOME: '', ...env }, folder)).toBe('first\n');
    expect(await readdir(folder)).not.toContain('cache');
    expect(await readdir(folder)).not.toContain('.cache');
    expect(await readdir(folder)).not.toContain('brand-reports');
  });

  it('is of one program where the bundle lies behind a link', async () => {
    await rename(join(folder, 'dist'), join(folder, 'elsewhere'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'dist'));
    await writeFile(join(folder, 'elsewhere/package.json'), '{ "type": "commonjs" }');
    await writeFile(join(folder, 'elsewhere/later.js'), "require('./main.js');");
    await writeFile(join(folder, 'elsewhere/main.js'), "console.log('main'); require('./later.js');");
    await writeFile(join(folder, 'elsewhere/built.json'), '{}');
    expect(await launched(folder)).toBe('main\n');
  });

  it('is not kept of a run that failed, because most of it is missing', async () => {
    await build('fails');
    await expect(launched(folder)).rejects.toMatchObject({ code: 1 });
    expect(await keptFiles()).toEqual([]);
  });

  it('is not kept where no folder can be made for it, and the run ends as it would', async () => {
    await writeFile(join(folder, 'cache'), 'in the place of the folder');
    expect(await launched(folder)).toBe('first\n');
  });

  /** Five letters, so that each program is as long as the others. */
  async function build(word: string) {
    // As the program does: under other flags V8 would not take what was compiled.
    const heap =
      "for (const flag of ['--heap-growing-percent=300', '--semi-space-growth-factor=1'])\n" +
      "  require('node:v8').setFlagsFromString(flag);";
    const say = `function say() { console.log('${word}'); if ('${word}' === 'fails') process.exitCode = 1; }`;
    const take = "while (process.argv.includes('--long') && process.cpuUsage().user < 3e5);";
    await writeFile(join(folder, 'dist/main.js'), `${heap}\n${say}\nsay();\n${take}`);
    await writeFile(join(folder, 'dist/built.json'), '{}');
  }

  /** Its path, and when it was written. */
  async function keptFiles(): Promise<[string, number][]> {
    const names = await readdir(cache(), { recursive: true });
    const files = names.filter((name) => name.endsWith('.functions')).map((name) => join(cache(), name));
    return Promise.all(files.map(async (file) => [file, (await stat(file)).mtimeMs]));
  }
});

function launched(folder: string, ...args: string[]): Promise<string> {
  return launchedWith({ XDG_CACHE_HOME: join(folder, 'cache') }, folder, ...args);
}

async function launchedWith(env: Record<string, string>, folder: string, ...args: string[]): Promise<string> {
  const command = [join(folder, 'cli/brand-reports.js'), ...args];
  const options = { cwd: folder, env: { ...process.env, NODE_OPTIONS: '', ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, command, options);
  return stdout;
}

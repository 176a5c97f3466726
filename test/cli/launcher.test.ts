import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

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
    await cp(join(launcher, '../../launch.js'), join(folder, 'launch.js'));
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
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'cli/brand-reports.js')], {
      env: { ...process.env, NODE_OPTIONS: '', XDG_CACHE_HOME: join(folder, 'cache') },
    });
    expect(stdout).toBe(`${started}\n`);
  });
});

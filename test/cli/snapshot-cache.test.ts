import { chmod, lstat, mkdir, readFile, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type SnapshotFiles, snapshotFiles } from '../../cli/snapshot-cache.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

const KEY = 'snapshots/orders/brand=acme/dt=2026-03-01/v1/part-0000.parquet';
const DAY_MS = 86_400_000;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let cache: string;
let said: string;
let environment: NodeJS.ProcessEnv;
const umask = process.umask();

beforeEach(async () => {
  environment = process.env;
  folder = await temporaryFolder();
  process.env = { ...environment, HOME: folder.path, XDG_CACHE_HOME: join(folder.path, 'cache') };
  cache = join(folder.path, 'cache', 'brand-reports');
  said = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  process.env = environment;
  process.umask(umask);
  await folder.remove();
});

async function bucket(...keys: string[]) {
  const store = memoryStore();
  for (const key of keys) await store.put(key, Buffer.from(`content of ${key}`), { ifAbsent: true });
  return store;
}

async function modesIn(top: string): Promise<number[]> {
  const names = await readdir(top, { recursive: true });
  const modes = await Promise.all(names.map(async (name) => (await lstat(join(top, name))).mode));
  return [...new Set(modes)].sort((a, b) => a - b);
}

const setAge = (path: string, days: number) => {
  const then = new Date(Date.now() - days * DAY_MS);
  return utimes(path, then, then);
};

async function copied(files: SnapshotFiles, ...keys: string[]): Promise<string[]> {
  const paths = await files.pathsOf(keys);
  for (const [index, path] of paths.entries())
    expect(await readFile(path, 'utf8')).toBe(`content of ${keys[index]}`);
  return paths;
}

describe('copies of a lake in S3', () => {
  it.each([0, 0o022, 0o077])('are for their user alone, with the umask %i', async (mask) => {
    process.umask(mask);
    const [path = ''] = await copied(snapshotFiles(await bucket(KEY)), KEY);
    expect(path.startsWith(`${cache}/`)).toBe(true);
    expect(await modesIn(join(folder.path, 'cache'))).toEqual([0o040700, 0o100600]);
    expect(said).toBe('');
  });

  it.each([0o770, 0o702, 0o777])('are refused if others may write: mode %i', async (mode) => {
    await mkdir(cache, { recursive: true });
    await chmod(cache, mode);
    const store = await bucket(KEY);
    const message = `Remove them: rm -r ${cache}.`;
    expect(() => snapshotFiles(store)).toThrow(
      expect.objectContaining({
        kind: 'config',
        code: 'unsafe_cache',
        message: expect.stringContaining(message),
      }),
    );
  });

  it.each([0o777, 0o775])('are judged by the folder of the cache as well: mode %i', async (mode) => {
    await mkdir(cache, { recursive: true, mode: 0o700 });
    await chmod(join(cache, '..'), mode);
    const store = await bucket(KEY);
    if (mode === 0o777)
      expect(() => snapshotFiles(store)).toThrow(
        expect.objectContaining({
          code: 'unsafe_cache',
          message: expect.stringMatching(/others may replace .* set XDG_CACHE_HOME .* chmod o-w \S+cache$/),
        }),
      );
    else await copied(snapshotFiles(store), KEY);
    expect(said).toMatch(mode === 0o777 ? /^$/ : /^warning: a group may replace .* chmod g-w \S+cache\n$/);
  });

  it('are refused if the cache is a link to a folder that others may replace', async () => {
    const open = join(folder.path, 'open');
    await mkdir(join(open, 'mine'), { recursive: true, mode: 0o700 });
    await chmod(open, 0o777);
    await mkdir(join(cache, '..'), { mode: 0o700 });
    await symlink(join(open, 'mine'), cache);
    const store = await bucket(KEY);
    expect(() => snapshotFiles(store)).toThrow(`because the mode of ${open} is 777`);
  });

  it('are refused in a folder of another user', async () => {
    await mkdir(cache, { recursive: true, mode: 0o700 });
    const { uid } = await stat(cache);
    const store = await bucket(KEY);
    jest.spyOn(process, 'getuid').mockReturnValue(uid + 1);
    if (uid !== 0) expect(() => snapshotFiles(store)).toThrow('Other users may change');
  });

  it.each(['cache', './cache', ''])(
    'are in the home folder if XDG_CACHE_HOME is not absolute: "%s"',
    async (named) => {
      process.env.XDG_CACHE_HOME = named;
      const [path = ''] = await copied(snapshotFiles(await bucket(KEY)), KEY);
      expect(path.startsWith(join(folder.path, '.cache', 'brand-reports'))).toBe(true);
    },
  );
});

describe('copies that no query has used for 30 days', () => {
  const [used, unused] = ['2026-03-02', '2026-03-03'].map((day) => KEY.replace('2026-03-01', day));
  let store: Awaited<ReturnType<typeof bucket>>;
  let paths: string[];

  beforeEach(async () => {
    store = await bucket(KEY, used ?? '', unused ?? '');
    paths = await copied(snapshotFiles(store), KEY, used ?? '', unused ?? '');
  });

  const exists = (path = '') =>
    stat(path).then(
      () => true,
      () => false,
    );

  it('are removed, and the others stay', async () => {
    await Promise.all(paths.map((path) => setAge(path, 31)));
    await copied(snapshotFiles(store), used ?? '');
    await setAge(paths[0] ?? '', 29);
    await setAge(cache, 2);
    snapshotFiles(store);
    expect(await Promise.all(paths.map(exists))).toEqual([true, true, false]);
    await copied(snapshotFiles(store), unused ?? '');
  });

  it('are removed without following links', async () => {
    const outside = join(folder.path, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'kept'), '');
    await setAge(join(outside, 'kept'), 100);
    await symlink(outside, join(cache, 'link'));
    await setAge(cache, 2);
    snapshotFiles(store);
    expect(await exists(join(outside, 'kept'))).toBe(true);
  });

  it('R13: are removed by their names: a checkout of this project in that folder stays', async () => {
    const [copy = ''] = paths;
    const others = [
      join(cache, 'README.md'),
      join(cache, 'test/part-0000.parquet'),
      join(copy, '../notes.txt'),
    ];
    await mkdir(join(cache, 'test'));
    for (const path of others) await writeFile(path, '');
    for (const path of [...others, copy]) await setAge(path, 100);
    await setAge(cache, 2);
    snapshotFiles(store);
    expect(await Promise.all([...others, copy].map(exists))).toEqual([true, true, true, false]);
  });
});

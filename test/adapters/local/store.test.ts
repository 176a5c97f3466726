import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { diskError } from '../../../shared/adapters/local/disk-errors.ts';
import { createLocalRunRegistry, tryLock } from '../../../shared/adapters/local/lock.ts';
import { openLocalStore } from '../../../shared/adapters/local/store.ts';
import { objectStoreContract } from '../../contracts/object-store.ts';
import type { ObjectStore, PutOutcome } from '../../../shared/ports.ts';
import { temporaryFolder } from '../../fakes/temporary-folder.ts';

const PROCESS = fileURLToPath(new URL('../../fakes/lake-process.ts', import.meta.url));

objectStoreContract('a folder', async () => {
  const folder = await temporaryFolder();
  return { open: () => openLocalStore(join(folder.path, 'lake')), close: () => folder.remove() };
});

const started: ChildProcess[] = [];

function startProcess(...args: string[]) {
  const child = spawn(process.execPath, [PROCESS, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  return child;
}

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

describe('a lake folder', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let lake: string;

  beforeEach(async () => {
    folder = await temporaryFolder();
    lake = join(folder.path, 'lake');
  });
  afterEach(() => folder.remove());

  it('leaves out names that are not keys', async () => {
    const store = openLocalStore(lake);
    await store.put('raw/a/1', new Uint8Array(1), { ifAbsent: true });
    await writeFile(join(lake, 'raw', 'a', 'x\\y'), '');
    expect(await Array.fromAsync(store.list('raw/'), ({ key }) => key)).toEqual(['raw/a/1']);
  });

  it('I5: loses no write when processes race', async () => {
    const processes = [1, 2, 3].map(() => startProcess('count', lake, '40'));
    await Promise.all(processes.map((each) => once(each, 'exit')));
    expect(await readFile(join(lake, 'counter'), 'utf8')).toBe('120');
    expect(await readdir(join(lake, '.tmp'))).toEqual([]);
  });

  it.each<[string, (lake: string) => Promise<unknown>]>([
    ['an object', (at) => openLocalStore(at).put('key', new Uint8Array(1), { ifAbsent: true })],
    ['a streamed object', async (at) => openLocalStore(at).create('a/key').write(new Uint8Array(1))],
    ['a run', (at) => createLocalRunRegistry(at).register('run')],
    ['a removal', (at) => openLocalStore(at).delete(['key'])],
  ])('is created for its user alone, by %s', async (_name, write) => {
    const umask = process.umask(0);
    try {
      await write(lake);
      expect((await stat(lake)).mode & 0o777).toBe(0o700);
    } finally {
      process.umask(umask);
    }
  });

  it('keeps its mode if it exists, and its folders have the usual mode', async () => {
    await mkdir(lake);
    await chmod(lake, 0o755);
    await openLocalStore(lake).put('a/key', new Uint8Array(1), { ifAbsent: true });
    expect((await stat(lake)).mode & 0o777).toBe(0o755);
    expect((await stat(join(lake, 'a'))).mode & 0o777).toBe(0o777 & ~process.umask());
  });

  it.each([0, 0o022, 0o077])(
    'has read-only snapshots with umask %o, which can be replaced and deleted',
    async (mask) => {
      const umask = process.umask(mask);
      try {
        const store = openLocalStore(lake);
        const keys = ['snapshots/t/put', 'snapshots/t/stream', 'ledger/a.json'];
        const modes = () => Promise.all(keys.map(async (key) => (await stat(join(lake, key))).mode & 0o777));
        for (const bytes of ['one', 'two']) {
          for (const key of ['snapshots/t/put', 'ledger/a.json']) {
            const { etag } = (await store.get(key)) ?? {};
            await store.put(
              key,
              Buffer.from(bytes),
              etag === undefined ? { ifAbsent: true } : { ifMatch: etag },
            );
          }
          const writer = store.create('snapshots/t/stream');
          await writer.write(Buffer.from(bytes));
          await writer.finish();
          expect(await modes()).toEqual([0o444 & ~mask, 0o444 & ~mask, 0o666 & ~mask]);
          expect(Buffer.from((await store.get('snapshots/t/put'))?.body ?? []).toString()).toBe(bytes);
        }
        await store.delete(keys);
        expect(await Array.fromAsync(store.list(''))).toEqual([]);
      } finally {
        process.umask(umask);
      }
    },
  );

  it('is not created by reading', async () => {
    const store = openLocalStore(lake);
    await store.get('key');
    await Array.fromAsync(store.list(''));
    await expect(access(lake)).rejects.toThrow('ENOENT');
  });

  it('leaves no temporary file after a conflict or an abort', async () => {
    const store = openLocalStore(lake);
    await store.put('key', Buffer.from('one'), { ifAbsent: true });
    await store.put('key', Buffer.from('two'), { ifAbsent: true });
    const writer = store.create('other');
    await writer.write(Buffer.from('one'));
    expect(await readdir(join(lake, '.tmp'))).toHaveLength(1);
    await writer.abort();
    expect(await readdir(join(lake, '.tmp'))).toEqual([]);
  });

  it('removes folders that became empty, and no other folders', async () => {
    const store = openLocalStore(lake);
    for (const key of ['a/b/c/d', 'a/e']) await store.put(key, Buffer.from(''), { ifAbsent: true });
    await store.delete(['a/b/c/d']);
    expect(await readdir(join(lake, 'a'))).toEqual(['e']);
  });

  it('I5: lets one of many writers create an object, even if others keep removing its empty folder', async () => {
    const stores = Array.from({ length: 8 }, () => openLocalStore(lake));
    for (let round = 0; round < 20; round += 1) {
      const created = await Promise.all(
        stores.map((store, index) => store.put(`a/b/${round}`, Buffer.from(`${index}`), { ifAbsent: true })),
      );
      expect(created.filter((outcome) => outcome !== 'conflict')).toHaveLength(1);
      await Promise.all(stores.map((store) => store.delete([`a/b/${round}`])));
    }
    expect(await readdir(join(lake, '.tmp'))).toEqual([]);
  });

  it('I5: locks the current folder after the folder was removed and created', async () => {
    const store = openLocalStore(lake);
    await store.put('a', Buffer.from('1'), { ifAbsent: true });
    await changeOf(store, 'a');
    await rm(lake, { recursive: true });
    await store.put('a', Buffer.from('2'), { ifAbsent: true });
    const other = tryLock(lake, join(lake, '.lock'));
    const writing = changeOf(store, 'a');
    const first = await Promise.race([writing, sleep(100, 'locked')]);
    other?.();
    expect(first).toBe('locked');
    expect(await writing).toHaveProperty('etag');
  });

  it('explains why a folder cannot be a lake', async () => {
    await writeFile(lake, 'a file');
    await expect(openLocalStore(lake).put('key', Buffer.from(''), { ifAbsent: true })).rejects.toMatchObject({
      kind: 'config',
      code: 'lake_unusable',
      message: expect.stringContaining(lake),
    });
  });

  it('reports that its lock is damaged', async () => {
    const store = openLocalStore(lake);
    await store.put('key', Buffer.from(''), { ifAbsent: true });
    await writeFile(join(lake, '.lock'), 'not a database'.repeat(1000));
    await expect(changeOf(store, 'key')).rejects.toMatchObject({
      kind: 'config',
      code: 'lake_unlockable',
      message: expect.stringContaining(join(lake, '.lock')),
    });
  });

  it.each([
    ['ENOSPC', 'config', 'disk_full'],
    ['EDQUOT', 'config', 'disk_full'],
    ['EACCES', 'config', 'lake_not_writable'],
    ['EROFS', 'config', 'lake_not_writable'],
    ['EXDEV', 'config', 'lake_unusable'],
    ['EMFILE', 'config', 'too_many_open_files'],
    ['EIO', 'transient', 'disk_failed'],
  ])('reports who has to act on %s', (code, kind, ourCode) => {
    const error = diskError(Object.assign(new Error(`${code}: no luck, write`), { code }), '/lake');
    expect(error).toMatchObject({ kind, code: ourCode, message: expect.stringContaining('/lake') });
  });

  it('leaves errors of the program unchanged', () => {
    const error = new TypeError('ours');
    expect(diskError(error, '/lake')).toBe(error);
  });
});

async function changeOf(store: ObjectStore, key: string): Promise<PutOutcome> {
  const { etag = '' } = (await store.get(key)) ?? {};
  return store.put(key, Buffer.from('changed'), { ifMatch: etag });
}

describe('a disk that fails', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => folder.remove());

  /** The codes of a new run on the folder: of its registration, and of a write. */
  function codesUnder(shell: string[], script: string, what = ''): unknown {
    const [program = '', ...options] = shell;
    const command = `${script} "$@"`;
    const started = spawnSync(
      program,
      [...options, '-c', command, 'sh', process.execPath, PROCESS, 'fail', folder.path, what],
      { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' } },
    );
    return JSON.parse(started.stdout || JSON.stringify(started.stderr));
  }

  it('is named if no more files can be opened', () => {
    const codes = codesUnder(['sh'], 'ulimit -n 64 &&', 'files');
    expect(codes).toEqual(['config too_many_open_files', 'config too_many_open_files']);
  });

  // Only if this user may mount a file system.
  const mounting = ['unshare', '-rm', 'sh'];
  const [unshare = '', ...rest] = mounting;
  const canMount = spawnSync(unshare, [...rest, '-c', 'mount -t tmpfs none /mnt']).status === 0;
  const mount = (options: string) => `mount -t tmpfs -o ${options} none "$4"`;
  (canMount ? it.each : it.skip.each)([
    ['is full', `${mount('size=64k')} && ! head -c 99999 /dev/zero > "$4/fill" 2> /dev/null`, 'disk_full'],
    ['has no inode left', mount('nr_inodes=1'), 'disk_full'],
    ['is read-only', mount('ro,size=64k'), 'lake_not_writable'],
  ])('is named if it %s', (_name, script, code) => {
    expect(codesUnder(mounting, `${script} &&`)).toEqual([`config ${code}`, `config ${code}`]);
  });
});

describe('the runs on a lake folder', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;

  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => folder.remove());

  it('report an unknown run as dead, and create no file', async () => {
    expect(await createLocalRunRegistry(folder.path).isDead('r1')).toBe(true);
    expect(await readdir(folder.path)).toEqual([]);
  });

  it('report a run of this process as alive until it ends, and leave no trace', async () => {
    const leave = await createLocalRunRegistry(folder.path).register('r1');
    expect(await createLocalRunRegistry(folder.path).isDead('r1')).toBe(false);
    await leave();
    expect(await createLocalRunRegistry(folder.path).isDead('r1')).toBe(true);
    expect(await readdir(join(folder.path, '.runs'))).toEqual([]);
  });

  it('I5: report a run of another process as alive until it is killed, and as dead right after', async () => {
    const runs = createLocalRunRegistry(folder.path);
    const run = startProcess('live', folder.path, 'r1');
    await once(run.stdout, 'data');
    expect(await runs.isDead('r1')).toBe(false);
    expect(await runs.isDead('r1')).toBe(false);
    run.kill('SIGKILL');
    await once(run, 'exit');
    expect(await runs.isDead('r1')).toBe(true);
    expect(await readdir(join(folder.path, '.runs'))).toEqual([]);
  });
});

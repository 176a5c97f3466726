/**
 * A lake in a folder of a local disk, shared by any number of processes. Written in place, a file would be incomplete
 * after a crash, and two runs would overwrite each other. So every object is first a temporary file on the same disk,
 * synced, and then renamed (I4), and a conditional write compares and renames under the lake's lock (I5). Whoever
 * reads sees the old file or the new one (I3).
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DAY_MS } from '../../days.ts';
import type {
  ListedObject,
  ObjectStore,
  ObjectWriter,
  Precondition,
  PutOutcome,
  StoredObject,
} from '../../ports.ts';
import { errorCode, isMissing, onDisk } from './disk-errors.ts';
import { checkedKey, checkedPrefix, compareKeys } from '../keys.ts';
import { underLakeLock } from './lock.ts';
import { objectNotFound } from '../object-not-found.ts';

/** A live writer touches its temporary file far more often. */
const MAX_TEMPORARY_AGE_MS = DAY_MS;

/** Creates nothing on the disk before the first write. */
export function openLocalStore(folder: string): ObjectStore {
  const root = resolve(folder);
  const pathOf = (key: string) => join(root, checkedKey(key));
  const temporaries = new Temporaries(join(root, '.tmp'));
  return {
    url: root,
    localFolder: root,
    get: (key) => onDisk(root, () => read(pathOf(key))),
    range: (key, start, end) => onDisk(root, () => readRange(pathOf(key), start, end)),
    put: (key, body, precondition) =>
      onDisk(root, () => put(root, temporaries, pathOf(key), body, precondition)),
    create: (key) => create(root, temporaries, pathOf(key)),
    list: (prefix) => walk(root, '', checkedPrefix(prefix)),
    delete: async (keys) => {
      for (const path of keys.map(pathOf)) await onDisk(root, () => remove(root, path));
    },
  };
}

/** Files that no reader sees yet, on the lake's own disk. */
class Temporaries {
  readonly #folder: string;
  #cleaned = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async open(): Promise<Temporary> {
    await mkdir(this.#folder, { recursive: true });
    if (!this.#cleaned) await this.#removeLeftovers();
    const path = join(this.#folder, randomUUID());
    return { path, handle: await open(path, 'wx') };
  }

  /** Removes the files of dead writers. */
  async #removeLeftovers(): Promise<void> {
    this.#cleaned = true;
    const oldest = Date.now() - MAX_TEMPORARY_AGE_MS;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const found = await unlessMissing(stat(path));
      if (found !== undefined && found.mtimeMs < oldest) await rm(path, { force: true });
    }
  }
}

interface Temporary {
  path: string;
  handle: FileHandle;
}

async function put(
  root: string,
  temporaries: Temporaries,
  path: string,
  body: Uint8Array,
  precondition: Precondition,
): Promise<PutOutcome> {
  const temporary = await temporaries.open();
  try {
    await temporary.handle.writeFile(body);
    const placed = await place(root, temporary, path, () => isMet(precondition, path));
    return placed ? { etag: etagOf(body) } : 'conflict';
  } finally {
    await discard(temporary);
  }
}

function create(root: string, temporaries: Temporaries, path: string): ObjectWriter {
  let opened: Promise<Temporary> | undefined;
  const temporary = () => {
    opened ??= temporaries.open();
    return opened;
  };
  return {
    write: (bytes) => onDisk(root, async () => (await temporary()).handle.writeFile(bytes)),
    finish: () =>
      onDisk(root, async () => {
        await place(root, await temporary(), path, () => true);
      }),
    abort: () =>
      onDisk(root, async () => {
        const left = await opened?.catch(() => undefined);
        if (left !== undefined) await discard(left);
      }),
  };
}

/** I4, I5: makes the temporary file durable and, if `may` still allows it, renames it to `path`. @returns whether it did */
async function place(root: string, temporary: Temporary, path: string, may: () => boolean): Promise<boolean> {
  await temporary.handle.sync();
  await temporary.handle.close();
  const folders = await underLakeLock(root, () => {
    if (!may()) return undefined;
    const made = mkdirSync(dirname(path), { recursive: true });
    renameSync(temporary.path, path);
    return foldersFrom(dirname(path), made === undefined ? dirname(path) : dirname(made));
  });
  for (const folder of folders ?? []) await syncFolder(folder);
  return folders !== undefined;
}

function foldersFrom(inner: string, outer: string): string[] {
  return inner === outer ? [inner] : [inner, ...foldersFrom(dirname(inner), outer)];
}

/** Without this a rename or a new folder would not survive a power cut. */
async function syncFolder(path: string): Promise<void> {
  const folder = await unlessMissing(open(path, 'r'));
  if (folder === undefined) return;
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function discard({ handle, path }: Temporary): Promise<void> {
  await handle.close();
  await rm(path, { force: true });
}

function isMet(precondition: Precondition, path: string): boolean {
  const current = currentEtag(path);
  return 'ifMatch' in precondition ? current === precondition.ifMatch : current === undefined;
}

function currentEtag(path: string): string | undefined {
  try {
    return etagOf(readFileSync(path));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function etagOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

async function read(path: string): Promise<StoredObject | undefined> {
  try {
    const body = await readFile(path);
    return { body, etag: etagOf(body) };
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(errorCode(error))) return undefined;
    throw error;
  }
}

async function readRange(path: string, start: number, end: number): Promise<Uint8Array> {
  const file = await unlessMissing(open(path, 'r'));
  if (file === undefined) throw objectNotFound(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function* walk(root: string, folder: string, prefix: string): AsyncGenerator<ListedObject> {
  for (const key of await onDisk(root, () => entries(root, folder))) {
    if (key.endsWith('/')) {
      if (key.startsWith(prefix) || prefix.startsWith(key)) yield* walk(root, key, prefix);
    } else if (key.startsWith(prefix)) {
      const found = await onDisk(root, () => unlessMissing(stat(join(root, key))));
      if (found !== undefined) yield { key, bytes: found.size, modifiedAt: found.mtime };
    }
  }
}

/** The names in the folder, in the order of the keys below it: the `/` behind a folder's name counts. */
async function entries(root: string, folder: string): Promise<string[]> {
  const found = (await unlessMissing(readdir(join(root, folder), { withFileTypes: true }))) ?? [];
  return found
    .filter((entry) => !entry.name.startsWith('.'))
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .sort(compareKeys);
}

/** Removes the file and the folders that are empty without it, so that old snapshots leave no trace. */
async function remove(root: string, path: string): Promise<void> {
  await underLakeLock(root, () => {
    rmSync(path, { force: true });
    let folder = dirname(path);
    while (folder !== root && removedEmpty(folder)) folder = dirname(folder);
  });
}

function removedEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (isMissing(error)) return true;
    if (['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) return false;
    throw error;
  }
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

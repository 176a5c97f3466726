/**
 * The local store keeps a lake in a folder of a local disk, shared by any number of processes. If files were written in
 * place, a crash would leave incomplete files, and two runs would overwrite each other. So every object is first a temporary
 * file on the same disk, which is synced and then renamed (I4). A conditional write compares and renames under the lake's
 * lock (I5). A reader sees either the old or the new file (I3). Raw records are not synced: after a power cut the day is
 * read again. Small files are written and read synchronously, because starting a thread takes many times as long.
 */
import { hash, randomUUID } from 'node:crypto';
import {
  type Dirent,
  closeSync,
  fsync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFile,
  writeFileSync,
} from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DAY_MS } from '../../days.ts';
import { RAW_PREFIX } from '../../lake/paths.ts';
import type {
  ListedObject,
  ObjectStore,
  ObjectWriter,
  Precondition,
  PutOutcome,
  StoredObject,
} from '../../ports.ts';
import { errorCode, isMissing, onDisk, unlessMissing } from './disk-errors.ts';
import { checkedKey, checkedPrefix, compareKeys, isPlain } from '../keys.ts';
import { makeLakeFolder } from './lake-folder.ts';
import { underLakeLock } from './lock.ts';
import { forgetPrevious, keepPrevious, previousFolder } from './previous.ts';
import { objectNotFound } from '../object-not-found.ts';

/** A live writer changes its temporary file far more often. */
const MAX_TEMPORARY_AGE_MS = DAY_MS;
/** Reading or writing this many bytes takes less time than starting a thread. */
const SMALL_BYTES = 2 ** 17;

const syncFile = promisify(fsync);
const writeAll: (descriptor: number, bytes: Uint8Array) => Promise<void> = promisify(writeFile);

/** Opens a store in a folder; nothing is created on the disk before the first write. */
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
      onDisk(root, () => put({ root, key, path: pathOf(key) }, temporaries, body, precondition)),
    create: (key) => create({ root, key, path: pathOf(key) }, temporaries),
    list: (prefix) => walk(root, '', checkedPrefix(prefix)),
    delete: async (keys) => {
      for (const key of keys) await onDisk(root, () => remove({ root, key, path: pathOf(key) }));
    },
    noncurrent: {
      async *list(prefix) {
        for await (const found of walk(previousFolder(root), '', checkedPrefix(prefix)))
          yield { ...found, version: 'previous' };
      },
      get: async ({ key }) =>
        (await onDisk(root, () => read(join(previousFolder(root), checkedKey(key)))))?.body,
      delete: async (versions) => {
        for (const { key } of versions)
          await onDisk(root, () => underLakeLock(root, () => forgetPrevious(root, checkedKey(key))));
      },
    },
  };
}

/** The place of an object. */
interface Place {
  root: string;
  key: string;
  path: string;
}

/** Files that no reader sees yet, on the lake's own disk. */
class Temporaries {
  readonly #folder: string;
  #isReady = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  open(): Temporary {
    if (!this.#isReady) this.#prepare();
    const path = join(this.#folder, randomUUID());
    const opened = unlessMissing(() => new Temporary(path));
    if (opened) return opened;
    // Somebody has removed the folder in the meantime.
    this.#prepare();
    return new Temporary(path);
  }

  /** Removes the files of dead writers. */
  #prepare(): void {
    makeLakeFolder(dirname(this.#folder));
    mkdirSync(this.#folder, { recursive: true });
    this.#isReady = true;
    const oldest = Date.now() - MAX_TEMPORARY_AGE_MS;
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      if (found !== undefined && found.mtimeMs < oldest) rmSync(path, { force: true });
    }
  }
}

/** A temporary file, open from its creation until it is closed or discarded. */
class Temporary {
  readonly path: string;
  #descriptor: number | undefined;

  constructor(path: string) {
    this.path = path;
    this.#descriptor = openSync(path, 'wx');
  }

  get #open(): number {
    if (this.#descriptor === undefined) throw new Error(`${this.path} is closed`);
    return this.#descriptor;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.length <= SMALL_BYTES) writeFileSync(this.#open, bytes);
    else await writeAll(this.#open, bytes);
  }

  sync(): Promise<void> {
    return syncFile(this.#open);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  discard(): void {
    this.close();
    rmSync(this.path, { force: true });
  }
}

async function put(
  place: Place,
  temporaries: Temporaries,
  body: Uint8Array,
  precondition: Precondition,
): Promise<PutOutcome> {
  const temporary = temporaries.open();
  let placed = false;
  try {
    await temporary.write(body);
    placed = await moveTo(place, temporary, precondition);
  } finally {
    if (!placed) temporary.discard();
  }
  return placed ? { etag: etagOf(body) } : 'conflict';
}

function create(place: Place, temporaries: Temporaries): ObjectWriter {
  let opened: Temporary | undefined;
  const temporary = () => (opened ??= temporaries.open());
  return {
    write: (bytes) => onDisk(place.root, () => temporary().write(bytes)),
    finish: () =>
      onDisk(place.root, async () => {
        await moveTo(place, temporary());
      }),
    abort: () => onDisk(place.root, () => opened?.discard()),
  };
}

/**
 * I4: makes the temporary file durable and, if the precondition holds, moves it to its place.
 * @returns whether it was moved
 */
async function moveTo(place: Place, temporary: Temporary, precondition?: Precondition): Promise<boolean> {
  const isRaw = place.key.startsWith(RAW_PREFIX);
  if (!isRaw) await temporary.sync();
  temporary.close();
  const changed = await replace(place, temporary, precondition);
  if (changed && !isRaw) await Promise.all(changed.map(syncFolder));
  return changed !== undefined;
}

/**
 * I5: comparing versions takes the lake's lock. Whether a file exists is checked by the disk itself, in a tenth of the time.
 * @returns the folders whose entries have changed; `undefined` if the precondition does not hold
 */
async function replace(
  { root, key, path }: Place,
  temporary: Temporary,
  precondition: Precondition | undefined,
): Promise<string[] | undefined> {
  const rename = () => inFolder(dirname(path), () => renameSync(temporary.path, path));
  if (!precondition) return rename();
  if ('ifMatch' in precondition)
    return underLakeLock(root, () => {
      const held = unlessMissing(() => readFileSync(path));
      if (!held || etagOf(held) !== precondition.ifMatch) return undefined;
      keepPrevious(root, key);
      return rename();
    });
  let isAbsent = true;
  const changed = inFolder(dirname(path), () => {
    isAbsent = linkIfAbsent(temporary.path, path);
  });
  if (!isAbsent) return undefined;
  temporary.discard();
  return changed;
}

function linkIfAbsent(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    return false;
  }
}

/** Another process may remove an empty folder at any moment. */
const FOLDER_TRIES = 5;

/** Acts in a folder, and creates the folder if it is missing. @returns the folders whose entries have changed */
function inFolder(folder: string, act: () => void): string[] {
  let outermost = folder;
  for (let tries = 1; ; tries += 1) {
    try {
      act();
      return foldersFrom(folder, outermost);
    } catch (error) {
      if (!isMissing(error) || tries === FOLDER_TRIES) throw error;
      const made = mkdirSync(folder, { recursive: true });
      if (made !== undefined && dirname(made).length < outermost.length) outermost = dirname(made);
    }
  }
}

function foldersFrom(inner: string, outer: string): string[] {
  return inner === outer ? [inner] : [inner, ...foldersFrom(dirname(inner), outer)];
}

/** Without this a rename or a new folder would not survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const folder = unlessMissing(() => openSync(path, 'r'));
  if (folder === undefined) return;
  try {
    await syncFile(folder);
  } finally {
    closeSync(folder);
  }
}

function etagOf(body: Uint8Array): string {
  return hash('sha256', body, 'hex');
}

async function read(path: string): Promise<StoredObject | undefined> {
  try {
    const isSmall = statSync(path).size <= SMALL_BYTES;
    const body = isSmall ? readFileSync(path) : await readFile(path);
    return { body, etag: etagOf(body) };
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(errorCode(error))) return undefined;
    throw error;
  }
}

async function readRange(path: string, start: number, end: number): Promise<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw isMissing(error) ? objectNotFound(path) : error;
  });
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
      const found = await onDisk(root, () => statSync(join(root, key), { throwIfNoEntry: false }));
      if (found !== undefined) yield { key, bytes: found.size, modifiedAt: found.mtime };
    }
  }
}

/** The names in the folder, in the order of the keys below it: the `/` after a folder's name counts. */
function entries(root: string, folder: string): string[] {
  const found = unlessMissing(() => readdirSync(join(root, folder), { withFileTypes: true })) ?? [];
  return found
    .filter(({ name }) => isPlain(name))
    .map((entry) => `${folder}${entry.name}${isFolder(root, folder, entry) ? '/' : ''}`)
    .sort(compareKeys);
}

/**
 * A symbolic link to a folder on another disk counts as a folder; otherwise its files would be neither copied nor
 * erased. A link to one of its own parent folders does not count, because listing it would never end.
 */
function isFolder(root: string, folder: string, entry: Dirent): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  const path = join(root, folder, entry.name);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return false;
  const target = `${realpathSync(path)}/`;
  const above = folder.split('/').map((_name, index, names) => join(root, ...names.slice(0, index)));
  return !above.some((each) => `${realpathSync(each)}/`.startsWith(target));
}

/** Removes the file and every folder that becomes empty, so that old snapshots leave no trace. */
async function remove({ root, key, path }: Place): Promise<void> {
  await underLakeLock(root, () => {
    rmSync(path, { force: true });
    forgetPrevious(root, key);
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
    // ENOTDIR: a symbolic link to a folder.
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error))) return false;
    throw error;
  }
}

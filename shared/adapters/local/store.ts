/**
 * The local store keeps a lake in a folder of a local disk, shared by any number of processes. If files were written in
 * place, a crash would leave incomplete files, and two runs would overwrite each other. So every object is first a temporary
 * file on the same disk, which is synced and then renamed (I4). A conditional write compares and renames under the lake's
 * lock (I5). A reader sees either the old or the new file (I3). Raw records are not synced: after a power cut the day is
 * read again. Small files are written and read synchronously, because starting a thread takes many times as long.
 */
import { hash, randomUUID } from 'node:crypto';
import {
  closeSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFile,
  writeFileSync,
} from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { DAY_MS } from '../../base/days.ts';
import { RAW_PREFIX, SNAPSHOTS_PREFIX } from '../../lake/paths.ts';
import type {
  ListedObject,
  ObjectStore,
  ObjectWriter,
  Precondition,
  PutOutcome,
  StoredObject,
} from '../../ports.ts';
import { checkedKey, checkedPrefix, compareKeys, isPlain } from '../keys.ts';
import { objectNotFound } from '../lake-errors.ts';
import { errorCode, isMissing, onDisk, unlessMissing } from './disk-errors.ts';
import {
  READ,
  linkInLake,
  makeLakeFolder,
  refuseLinksIn,
  removeFile,
  removeInLake,
  statInLake,
} from './lake-folder.ts';
import { underLakeLock } from './lock.ts';

/** A live writer changes its temporary file far more often. */
const MAX_TEMPORARY_AGE_MS = DAY_MS;
/** Reading or writing this many bytes takes less time than starting a thread. */
const SMALL_BYTES = 2 ** 17;

const syncFile = promisify(fsync);
const writeAll: (descriptor: number, bytes: Uint8Array) => Promise<void> = promisify(writeFile);

/** Nothing is created on the disk before the first write. Every operation refuses a lake with a link (`lake-folder.ts`). */
export function openLocalStore(folder: string): ObjectStore {
  const root = resolve(folder);
  let isChecked = false;
  // A link that nothing would follow now is named now too, and not by a later command.
  const onLake = <T>(act: () => T | Promise<T>) =>
    onDisk(root, () => {
      if (!isChecked) unlessMissing(() => refuseLinksIn(root));
      isChecked = true;
      return act();
    });
  const placeOf = (key: string) => ({ root, key, path: join(root, checkedKey(key)) });
  const previousPlaceOf = (key: string) => ({ root, key, path: join(previousFolder(root), checkedKey(key)) });
  const openTemporary = temporariesOf(root);
  return {
    url: root,
    localFolder: root,
    get: (key) => onLake(() => read(placeOf(key))),
    range: (key, start, end) => onLake(() => readRange(placeOf(key), start, end)),
    put: (key, body, precondition) => onLake(() => put(placeOf(key), openTemporary, body, precondition)),
    create: (key) => create(placeOf(key), openTemporary, onLake),
    list: (prefix) => walk(root, '', checkedPrefix(prefix), onLake),
    delete: async (keys) => {
      for (const place of keys.map(placeOf)) await onLake(() => remove(place));
    },
    noncurrent: {
      async *list(prefix) {
        for await (const found of walk(previousFolder(root), '', checkedPrefix(prefix), onLake))
          yield { ...found, version: 'previous' };
      },
      get: async ({ key }) => (await onLake(() => read(previousPlaceOf(key))))?.body,
      delete: async (versions) => {
        for (const { key } of versions)
          await onLake(() => underLakeLock(root, () => forgetPrevious(root, checkedKey(key))));
      },
    },
  };
}

type OnLake = <T>(act: () => T | Promise<T>) => Promise<T>;

interface Place {
  root: string;
  key: string;
  path: string;
}

/** The names of temporary files: of objects, and of the database file with its log (`cli/open-database.ts`). */
const TEMPORARY_NAME =
  /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{8}t\d{6}-[0-9a-f]{12}\.duckdb(\.wal)?)$/;

/** The path of a temporary file. Creates its folder, which somebody may remove at any moment. */
export function temporaryPath(root: string, name: string): string {
  const folder = join(root, '.tmp');
  if (!statInLake(root, folder)) {
    makeLakeFolder(root);
    mkdirSync(folder, { recursive: true });
  }
  return join(folder, name);
}

/** Opens a temporary file on the lake's own disk, which no reader sees yet, for the object with this key. */
type OpenTemporary = (key: string) => Temporary;

/** The file of a snapshot is read-only: a catalog links to it, so a program that wrote there would change history. */
function temporariesOf(root: string): OpenTemporary {
  let isReady = false;
  return (key) => {
    if (!isReady) removeDeadTemporaries(root);
    isReady = true;
    return new Temporary(temporaryPath(root, randomUUID()), key.startsWith(SNAPSHOTS_PREFIX) ? 0o444 : 0o666);
  };
}

/** Removes the files of dead writers. Another user's files are left to that user, and other names to their owners. */
function removeDeadTemporaries(root: string): void {
  makeLakeFolder(root);
  const oldest = Date.now() - MAX_TEMPORARY_AGE_MS;
  for (const name of readdirSync(temporaryPath(root, ''))) {
    if (!TEMPORARY_NAME.test(name)) continue;
    const path = temporaryPath(root, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isFile() && found.uid === process.getuid?.() && found.mtimeMs < oldest) removeFile(path);
  }
}

class Temporary {
  readonly path: string;
  #descriptor: number | undefined;

  constructor(path: string, mode: number) {
    this.path = path;
    this.#descriptor = openSync(path, 'wx', mode);
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
    removeFile(this.path);
  }
}

async function put(
  place: Place,
  openTemporary: OpenTemporary,
  body: Uint8Array,
  precondition: Precondition,
): Promise<PutOutcome> {
  const temporary = openTemporary(place.key);
  let placed = false;
  try {
    await temporary.write(body);
    placed = await moveTo(place, temporary, precondition);
  } finally {
    if (!placed) temporary.discard();
  }
  return placed ? { etag: etagOf(body) } : 'conflict';
}

function create(place: Place, openTemporary: OpenTemporary, onLake: OnLake): ObjectWriter {
  let opened: Temporary | undefined;
  const temporary = () => (opened ??= openTemporary(place.key));
  return {
    write: (bytes) => onLake(() => temporary().write(bytes)),
    finish: () =>
      onLake(async () => {
        await moveTo(place, temporary());
      }),
    abort: () => onDisk(place.root, () => opened?.discard()),
  };
}

/** I4: makes the temporary file durable and, if the precondition holds, moves it. @returns whether it was moved */
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
  const rename = () => inFolder(root, dirname(path), () => renameSync(temporary.path, path));
  if (!precondition) return rename();
  if ('ifMatch' in precondition)
    return underLakeLock(root, () => {
      const held =
        statInLake(root, path)?.isFile() && unlessMissing(() => readFileSync(path, { flag: READ }));
      if (!held || etagOf(held) !== precondition.ifMatch) return undefined;
      keepPrevious(root, key);
      return rename();
    });
  let isAbsent = true;
  const changed = inFolder(root, dirname(path), () => {
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
function inFolder(root: string, folder: string, act: () => void): string[] {
  let outermost = folder;
  for (let tries = 1; ; tries += 1) {
    try {
      statInLake(root, folder);
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

async function read({ root, path }: Place): Promise<StoredObject | undefined> {
  const found = statInLake(root, path);
  if (!found?.isFile()) return undefined;
  try {
    const options = { flag: READ };
    const body = found.size <= SMALL_BYTES ? readFileSync(path, options) : await readFile(path, options);
    return { body, etag: etagOf(body) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function readRange({ root, path }: Place, start: number, end: number): Promise<Uint8Array> {
  statInLake(root, path);
  const file = await open(path, READ).catch((error: unknown) => {
    throw isMissing(error) ? objectNotFound(path) : error;
  });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function* walk(
  root: string,
  folder: string,
  prefix: string,
  onLake: OnLake,
): AsyncGenerator<ListedObject> {
  for (const key of await onLake(() => entries(root, folder, prefix))) {
    if (key.endsWith('/')) {
      if (key.startsWith(prefix) || prefix.startsWith(key)) yield* walk(root, key, prefix, onLake);
    } else if (key.startsWith(prefix)) {
      const found = await onLake(() => lstatSync(join(root, key), { throwIfNoEntry: false }));
      if (found !== undefined) yield { key, bytes: found.size, modifiedAt: found.mtime };
    }
  }
}

/** The names in the folder, in the order of the keys below it: the `/` after a folder's name counts. */
function entries(root: string, folder: string, prefix: string): string[] {
  const path = join(root, folder);
  const found = unlessMissing(() => readdirSync(path, { withFileTypes: true })) ?? [];
  return found
    .filter(({ name }) => isPlain(name))
    .map((entry) => {
      const key = `${folder}${entry.name}`;
      if (entry.isSymbolicLink() && (key.startsWith(prefix) || prefix.startsWith(`${key}/`)))
        throw linkInLake(root, join(path, entry.name));
      return entry.isDirectory() ? `${key}/` : key;
    })
    .sort(compareKeys);
}

async function remove({ root, key, path }: Place): Promise<void> {
  await underLakeLock(root, () => {
    forgetPrevious(root, key);
    removeInLake(root, path);
  });
}

/**
 * A folder keeps the bytes that a conditional write replaces, as a hard link `.previous/<key>`. If the process dies before
 * the new file is in its place, the link and the current file are one file, and the next write replaces the link (I4).
 * Both functions run while the lake is locked.
 */

/** Below it, keys are paths as they are in the lake. No list of keys shows it, because its name begins with a dot. */
function previousFolder(root: string): string {
  return join(root, '.previous');
}

/** Keeps the object's current bytes, and forgets the bytes that were kept before. */
function keepPrevious(root: string, key: string): void {
  const kept = join(previousFolder(root), key);
  inFolder(root, dirname(kept), () => {
    rmSync(kept, { force: true });
    linkSync(join(root, key), kept);
  });
}

function forgetPrevious(root: string, key: string): void {
  removeInLake(root, join(previousFolder(root), key));
}

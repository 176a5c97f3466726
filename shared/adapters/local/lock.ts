import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { BrandReportsError } from '../../base/errors.ts';
import type { RunRegistry } from '../../ports.ts';
import { fieldOf, textOf } from '../error-fields.ts';
import { checkedKey } from '../keys.ts';
import { sleepWithJitter } from '../system-clock.ts';
import { diskError, onDisk } from './disk-errors.ts';
import { makeLakeFolder, removeFile, statInLake } from './lake-folder.ts';

const SQLITE_BUSY = 5;
/** More bytes than SQLite writes. */
const PROBE_BYTES = 64 * 2 ** 10;
const LOCK_RETRY = { maxAttempts: 1000, baseMs: 1, capMs: 50 };

/**
 * Takes the lock that a file of the lake represents; the file itself stays empty. The kernel releases the lock when its
 * process ends, however it ends. Only SQLite may open the file: POSIX releases a process's locks as soon as the process
 * closes any descriptor of the file.
 * @returns the release; `undefined` while this or another process holds the lock
 * @throws BrandReportsError `config` if the file or the disk cannot be locked, or a link is in the way
 */
export function tryLock(root: string, path: string): (() => void) | undefined {
  try {
    // A planted hard link to a database, with a planted journal, would make SQLite write into that database.
    const contents = statInLake(root, path)?.size ?? 0;
    if (contents > 0) throw unlockable(path, new Error(`it contains ${contents} bytes`));
    mkdirSync(dirname(path), { recursive: true });
    return begin(path);
  } catch (error) {
    throw lockError(error, path);
  }
}

/** I5: `change` is synchronous: the lock is held only for an instant. @throws BrandReportsError `transient` if it stays taken */
export async function underLakeLock<T>(folder: string, change: () => T): Promise<T> {
  const path = join(folder, '.lock');
  makeLakeFolder(folder);
  for (let retry = 0; retry < LOCK_RETRY.maxAttempts; retry++) {
    const release = tryLock(folder, path);
    if (release) {
      try {
        return change();
      } finally {
        release();
      }
    }
    await sleepWithJitter(retry, LOCK_RETRY);
  }
  throw new BrandReportsError(
    'transient',
    'lake_locked',
    `Another process keeps the lake ${folder} locked. A run holds the lock only for an instant. Find a process that is stopped or hangs, end it, and run again.`,
  );
}

function begin(path: string): (() => void) | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN IMMEDIATE');
    return () => database.close();
  } catch (error) {
    database.close();
    if (fieldOf(error, 'errcode') === SQLITE_BUSY) return undefined;
    throw error;
  }
}

/** SQLite reports a full disk like a file that is not a lock, so another file is written to the folder to see its error. */
function whyNotWritable(folder: string): unknown {
  const path = join(folder, `.probe-${randomUUID()}`);
  try {
    writeFileSync(path, new Uint8Array(PROBE_BYTES), { flag: 'wx', flush: true });
    return undefined;
  } catch (error) {
    return error;
  } finally {
    rmSync(path, { force: true });
  }
}

function lockError(error: unknown, path: string): unknown {
  const folder = dirname(path);
  if (fieldOf(error, 'errcode') === undefined) return diskError(error, folder);
  const cause = whyNotWritable(folder);
  if (cause !== undefined) return diskError(cause, folder);
  return unlockable(path, error);
}

function unlockable(path: string, error: unknown): BrandReportsError {
  return new BrandReportsError(
    'config',
    'lake_unlockable',
    `${path} cannot be locked: ${textOf(error, 'message')}. A lake folder must be writable and on a local disk; the file itself must be empty.`,
    { cause: error },
  );
}

/** The runs on a lake folder: each holds a lock on `.runs/<run>`, which the kernel releases when its process ends. */
export function createLocalRunRegistry(folder: string): RunRegistry {
  const root = resolve(folder);
  const fileOf = (run: string) => join(root, '.runs', checkedKey(run));
  return {
    register: (run) =>
      onDisk(root, () => {
        const file = fileOf(run);
        makeLakeFolder(root);
        const release = tryLock(root, file);
        return async () => {
          if (isLockFile(root, file)) removeFile(file);
          release?.();
        };
      }),
    isDead: (run) =>
      onDisk(root, () => {
        const file = fileOf(run);
        if (!statInLake(root, file)) return true;
        // A ledger names the run, and whoever may write it must not choose a file to remove.
        if (!isLockFile(root, file)) return false;
        const release = tryLock(root, file);
        if (release) removeFile(file);
        release?.();
        return release !== undefined;
      }),
  };
}

/** Nothing is ever written into the file of a lock. */
function isLockFile(root: string, file: string): boolean {
  const found = statInLake(root, file);
  return found?.isFile() === true && found.size === 0;
}

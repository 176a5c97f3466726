import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { BrandReportsError } from '../../errors.ts';
import { diskError } from './disk-errors.ts';
import { makeLakeFolder } from './lake-folder.ts';
import { sleepWithJitter } from '../sleep-with-jitter.ts';
import { fieldOf, textOf } from '../error-fields.ts';

const SQLITE_BUSY = 5;
/** More than SQLite writes. */
const PROBE_BYTES = 64 * 2 ** 10;
const LOCK_RETRY = { maxAttempts: 1000, baseMs: 1, capMs: 50 };

/** A lock that the kernel releases when its process ends, however it ends. */
export interface HeldLock {
  release(): void;
}

/**
 * Takes the lock that the file represents; the file itself stays empty. Only SQLite may open it: POSIX releases a
 * process's locks as soon as the process closes any descriptor of the file.
 * @returns `undefined` while it is held elsewhere, in this process or another
 * @throws BrandReportsError `config` where the file or the disk cannot be locked
 */
export function tryLock(path: string): HeldLock | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return begin(path);
  } catch (error) {
    throw lockError(error, path);
  }
}

/**
 * I5: runs `change` while no one else changes the lake folder. It is synchronous, so that the lock is held for an instant.
 * @throws BrandReportsError `transient` where the lock stays taken
 */
export async function underLakeLock<T>(folder: string, change: () => T): Promise<T> {
  const path = join(folder, '.lock');
  for (let retry = 0; retry < LOCK_RETRY.maxAttempts; retry++) {
    const lock = tryLakeLock(path);
    if (lock !== undefined) {
      try {
        return change();
      } finally {
        lock.release();
      }
    }
    await sleepWithJitter(retry, LOCK_RETRY);
  }
  throw new BrandReportsError(
    'transient',
    'lake_locked',
    `Another process keeps the lake ${folder} locked. A run holds the lock for an instant only: look for one that is stopped or hangs, end it, and run again.`,
  );
}

/** The lock that was taken last, released but open: opening it takes many times as long as a change. */
let kept: { path: string; file: string | undefined; database: DatabaseSync } | undefined;

/** The lake's lock; `undefined` while it is held elsewhere. */
function tryLakeLock(path: string): HeldLock | undefined {
  try {
    if (kept?.path !== path) keep(path);
    if (!kept || !beginOn(kept.database)) return undefined;
    // Another folder may have taken the place of the one that was removed: its lock is another file.
    const { database, file } = kept;
    if (file === undefined || file !== fileAt(path)) return keep(undefined);
    return { release: () => database.exec('ROLLBACK') };
  } catch (error) {
    keep(undefined);
    throw lockError(error, path);
  }
}

function keep(path: string | undefined): undefined {
  kept?.database.close();
  kept = undefined;
  if (path === undefined) return;
  makeLakeFolder(dirname(path));
  const database = new DatabaseSync(path, { timeout: 0 });
  kept = { path, file: fileAt(path), database };
  // Nothing is ever written into it, so no journal has to be looked for each time.
  database.exec('PRAGMA journal_mode = MEMORY');
}

/** Which file it is, whatever its name; it has no other's number while it is open. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

function begin(path: string): HeldLock | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    if (beginOn(database)) return { release: () => database.close() };
  } catch (error) {
    database.close();
    throw error;
  }
  database.close();
  return undefined;
}

/** @returns whether it is locked now; false while it is locked elsewhere */
function beginOn(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (fieldOf(error, 'errcode') === SQLITE_BUSY) return false;
    throw error;
  }
}

/** SQLite does not tell a full disk from a file that is no lock: what any other file meets in the folder does. */
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
  return new BrandReportsError(
    'config',
    'lake_unlockable',
    `${path} cannot be locked: ${textOf(error, 'message')}. A lake folder must be writable and on a local disk; the file itself must be empty.`,
    { cause: error },
  );
}

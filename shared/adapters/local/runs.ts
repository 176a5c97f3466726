import { join, resolve } from 'node:path';
import { BrandReportsError } from '../../errors.ts';
import type { RunRegistry } from '../../ports.ts';
import { onDisk } from './disk-errors.ts';
import { checkedKey } from '../keys.ts';
import { makeLakeFolder, removeFile, statInLake } from './lake-folder.ts';
import { tryLock } from './lock.ts';

/** The runs on a lake folder: each holds a lock on `.runs/<run>`, which the kernel releases when its process ends. */
export function createLocalRunRegistry(folder: string): RunRegistry {
  const root = resolve(folder);
  const fileOf = (run: string) => join(root, '.runs', checkedKey(run));
  return {
    register: (run) => onDisk(root, () => register(root, run, fileOf(run))),
    isDead: (run) => onDisk(root, () => isDead(root, fileOf(run))),
  };
}

function register(root: string, run: string, file: string): () => Promise<void> {
  makeLakeFolder(root);
  const lock = tryLock(root, file);
  if (lock === undefined) {
    throw new BrandReportsError('bug', 'run_twice', `The run ${run} is already registered`);
  }
  return async () => {
    if (isLockFile(root, file)) removeFile(file);
    lock.release();
  };
}

function isDead(root: string, file: string): boolean {
  if (!statInLake(root, file)) return true;
  // A ledger names the run, and whoever may write it must not choose a file to remove.
  if (!isLockFile(root, file)) return false;
  const lock = tryLock(root, file);
  if (lock === undefined) return false;
  removeFile(file);
  lock.release();
  return true;
}

/** Nothing is ever written into the file of a lock. */
function isLockFile(root: string, file: string): boolean {
  const found = statInLake(root, file);
  return found?.isFile() === true && found.size === 0;
}

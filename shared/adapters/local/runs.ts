import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BrandReportsError } from '../../errors.ts';
import type { RunRegistry } from '../../ports.ts';
import { onDisk } from './disk-errors.ts';
import { checkedKey } from '../keys.ts';
import { makeLakeFolder } from './lake-folder.ts';
import { tryLock } from './lock.ts';

/** The runs on a lake folder: each holds a lock on `.runs/<run>`, which the kernel releases when its process ends. */
export function createLocalRunRegistry(folder: string): RunRegistry {
  const root = resolve(folder);
  const fileOf = (run: string) => join(root, '.runs', checkedKey(run));
  return {
    register: (run) => onDisk(root, () => register(root, run, fileOf(run))),
    isDead: (run) => onDisk(root, () => isDead(fileOf(run))),
  };
}

function register(root: string, run: string, file: string): () => Promise<void> {
  makeLakeFolder(root);
  const lock = tryLock(file);
  if (lock === undefined) {
    throw new BrandReportsError('bug', 'run_twice', `The run ${run} is already registered`);
  }
  return async () => {
    rmSync(file, { force: true });
    lock.release();
  };
}

function isDead(file: string): boolean {
  if (!existsSync(file)) return true;
  const lock = tryLock(file);
  if (lock === undefined) return false;
  rmSync(file, { force: true });
  lock.release();
  return true;
}

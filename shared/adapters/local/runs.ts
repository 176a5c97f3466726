import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BrandReportsError } from '../../errors.ts';
import type { RunRegistry } from '../../ports.ts';
import { onDisk } from './disk-errors.ts';
import { checkedKey } from '../keys.ts';
import { tryLock } from './lock.ts';

/** The runs on a lake folder: each holds a lock on `.runs/<run>` that the kernel takes back when its process is gone. */
export function openLocalRuns(folder: string): RunRegistry {
  const root = resolve(folder);
  const fileOf = (run: string) => join(root, '.runs', checkedKey(run));
  return {
    register: (run) => onDisk(root, () => enter(run, fileOf(run))),
    isDead: (run) => onDisk(root, () => isGone(fileOf(run))),
  };
}

function enter(run: string, file: string): () => Promise<void> {
  const lock = tryLock(file);
  if (lock === undefined) {
    throw new BrandReportsError('bug', 'run_twice', `The run ${run} is under way already`);
  }
  return async () => {
    rmSync(file, { force: true });
    lock.release();
  };
}

function isGone(file: string): boolean {
  if (!existsSync(file)) return true;
  const lock = tryLock(file);
  if (lock === undefined) return false;
  rmSync(file, { force: true });
  lock.release();
  return true;
}

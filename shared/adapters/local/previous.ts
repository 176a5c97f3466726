/**
 * A folder keeps the bytes that a conditional write replaces, as a hard link `.previous/<key>`. If the process dies before
 * the new file is in its place, the link and the current file are one file, and the next write replaces the link (I4).
 * Both functions run while the lake is locked.
 */
import { linkSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isMissing } from './disk-errors.ts';
import { removeInLake, statInLake } from './lake-folder.ts';

/** No list of keys shows it, because its name begins with a dot. */
const FOLDER = '.previous';

/** The folder with the previous bytes of a lake; below it, keys are paths as they are in the lake. */
export function previousFolder(root: string): string {
  return join(root, FOLDER);
}

/** Keeps the object's current bytes, and forgets the bytes that were kept before. */
export function keepPrevious(root: string, key: string): void {
  const kept = join(previousFolder(root), key);
  statInLake(root, dirname(kept));
  rmSync(kept, { force: true });
  try {
    linkSync(join(root, key), kept);
  } catch (error) {
    if (!isMissing(error)) throw error;
    mkdirSync(dirname(kept), { recursive: true });
    linkSync(join(root, key), kept);
  }
}

export function forgetPrevious(root: string, key: string): void {
  removeInLake(root, join(previousFolder(root), key));
}

import { mkdirSync } from 'node:fs';

/**
 * Creates the folder of a lake if it does not exist, accessible to this user alone. An existing folder keeps its
 * mode. Folders inside get the usual mode, so that a single `chmod` shares a lake.
 */
export function makeLakeFolder(root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o700 });
}

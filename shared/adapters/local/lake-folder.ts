import { mkdirSync } from 'node:fs';

/**
 * Creates the folder of a lake if it does not exist, for this user alone. An existing folder keeps its mode and the folders
 * within have the usual mode, so that one `chmod` shares a lake.
 */
export function makeLakeFolder(root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o700 });
}

/**
 * A link inside a lake is never followed: whoever may plant one would choose which files of this user a run deletes or
 * replaces. The path of the lake itself may lead through links, because a person chooses it. Node cannot open a folder and
 * then act inside it, so a user who replaces a folder in the microseconds after its check wins that race.
 */
import { type Stats, constants, lstatSync, mkdirSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BrandReportsError, configError } from '../../base/errors.ts';
import { DOCUMENT_PREFIXES, LOCAL_CATALOG_FOLDER, OTHER_PREFIXES } from '../../lake/paths.ts';
import { shellWord } from '../../base/shell-word.ts';
import { mayChange } from '../others-may.ts';
import { errorCode, isMissing, unlessMissing } from './disk-errors.ts';

/** Opens an object: a link that takes its place after the check makes the open fail. */
export const READ = constants.O_RDONLY | constants.O_NOFOLLOW;

/**
 * Creates the folder of a lake if it does not exist, accessible to this user alone. An existing folder keeps its
 * mode. Folders inside get the usual mode, so that a single `chmod` shares a lake.
 * @throws BrandReportsError `config` if every user of the machine may write there
 */
export function makeLakeFolder(root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const intruders = mayChange(root);
  if (intruders?.who !== 'others') return;
  throw configError(
    'lake_open_to_all',
    `Other users may change the lake folder ${root}, because ${intruders.why}. Nothing was written. Next step: ${intruders.nextStep}`,
  );
}

const FOLDERS = new Set([...DOCUMENT_PREFIXES, ...OTHER_PREFIXES].map((prefix) => prefix.slice(0, -1)));
FOLDERS.add(LOCAL_CATALOG_FOLDER);

/** @throws BrandReportsError `config` if a folder of the lake, or a name of the store, which begins with `.`, is a link */
export function refuseLinksIn(root: string): void {
  const entries = readdirSync(root, { withFileTypes: true });
  const link = entries.find(
    (entry) => entry.isSymbolicLink() && (entry.name.startsWith('.') || FOLDERS.has(entry.name)),
  );
  if (link) throw linkInLake(root, join(root, link.name));
}

/** @returns `undefined` if it does not exist @throws BrandReportsError `config` if a part of the path is a link */
export function statInLake(root: string, path: string): Stats | undefined {
  let found: Stats | undefined;
  let part = root;
  for (const name of path.slice(root.endsWith('/') ? root.length : root.length + 1).split('/')) {
    if (found && !found.isDirectory()) return undefined;
    part += `/${name}`;
    found = lstatSync(part, { throwIfNoEntry: false });
    if (!found) return undefined;
    if (found.isSymbolicLink()) throw linkInLake(root, part);
  }
  return found;
}

/** Removes a file and every folder that becomes empty, so that old snapshots leave no trace. */
export function removeInLake(root: string, path: string): void {
  if (!statInLake(root, path)) return;
  removeFile(path);
  let folder = dirname(path);
  while (folder !== root && removedEmpty(folder)) folder = dirname(folder);
}

/** Removes a folder if it is empty. @returns whether it is gone */
export function removedEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (isMissing(error)) return true;
    if (['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) return false;
    throw error;
  }
}

/** Removes a file, never a folder, if it exists. */
export function removeFile(path: string): void {
  unlessMissing(() => unlinkSync(path));
}

export function linkInLake(root: string, link: string): BrandReportsError {
  return configError(
    'link_in_lake',
    `The lake folder ${root} contains a symbolic link, which is not followed: ${link}. ` +
      `Next step: remove the link: rm -- ${shellWord(link)}. To keep a lake on another disk, move the whole lake there, or mount the disk in the place of the link.`,
  );
}

import { type Dirent, chmodSync, linkSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { LOCAL_CATALOG_FOLDER, OBJECT_ID, partitionPath, snapshotKey } from '../../lake/paths.ts';
import type { Catalog, ValueRange } from '../../ports.ts';
import { errorCode, onDisk, unlessMissing } from './disk-errors.ts';
import { checkedKey, checkedPrefix } from '../keys.ts';
import { linkInLake, removeFile, removedEmpty, statInLake } from './lake-folder.ts';
import { underLakeLock } from './lock.ts';
import { objectNotFound } from '../lake-errors.ts';
import { syncFolder } from './store.ts';

const SUFFIX = '.parquet';

/**
 * The catalog of a lake folder has the current snapshots as hard links `current/<table>/<partition>/<snapshot
 * id>.parquet`, so that any tool that reads files can read them. I3: under the lake's lock, the new link is created
 * before the old link is removed.
 */
export function createLocalCatalog(folder: string): Catalog {
  const root = resolve(folder);
  const folderOf = (table: string, path: string) =>
    join(root, LOCAL_CATALOG_FOLDER, checkedPrefix(`${table}/${path}`));
  return {
    ensureTable: async () => {},
    // Files cannot represent a view: the command `query` creates the views.
    ensureView: async () => {},
    setSnapshot: (shape, partition, snapshot) =>
      onDisk(root, async () => {
        const object = join(root, checkedKey(snapshotKey(shape.name, partition, snapshot)));
        const links = folderOf(shape.name, partitionPath(partition));
        await underLakeLock(root, () => link(root, object, links, `${snapshot}${SUFFIX}`));
        await syncFolder(links);
      }),
    removePartition: (table, partition) =>
      onDisk(root, () =>
        underLakeLock(root, () => {
          const folder = folderOf(table, partitionPath(partition));
          removeLinks(root, folder, undefined);
          removedEmpty(folder);
        }),
      ),
    snapshotsByPartition: (table, leading, within) =>
      onDisk(root, async () => {
        const base = partitionPath(leading);
        const folder = folderOf(table, base);
        statInLake(root, folder);
        const found = linksIn(root, folder, within);
        const partitionOf = (link: string) => join(base, dirname(link));
        return new Map(
          Object.entries(Object.groupBy(found, partitionOf)).map(([path, links = []]) => [
            path,
            links.map(snapshotOf),
          ]),
        );
      }),
  };
}

function link(root: string, object: string, folder: string, name: string): void {
  const found = statInLake(root, object);
  if (!found?.isFile()) throw objectNotFound(object);
  try {
    // The file of a lake that was copied may be writable.
    if (found.mode & 0o222) chmodSync(object, found.mode & 0o444);
  } catch {
    // The file belongs to another user, or the disk has no modes.
  }
  statInLake(root, folder);
  mkdirSync(folder, { recursive: true });
  try {
    linkSync(object, join(folder, name));
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  removeLinks(root, folder, name);
}

/** Removes the links in a partition. Files of other names, and folders, are somebody else's. */
function removeLinks(root: string, folder: string, except: string | undefined): void {
  statInLake(root, folder);
  for (const entry of entriesIn(folder))
    if (isOurs(entry) && entry.name !== except) removeFile(join(folder, entry.name));
}

function isOurs(entry: Dirent): boolean {
  return entry.isFile() && entry.name.endsWith(SUFFIX) && OBJECT_ID.test(snapshotOf(entry.name));
}

/** The links in the folder and below it, by their paths in the folder. @param within the values of the next partition key */
function linksIn(root: string, folder: string, within?: ValueRange): string[] {
  return entriesIn(folder).flatMap((entry) => {
    const { name } = entry;
    if (within && !isWithin(name, within)) return [];
    const path = join(folder, name);
    if (entry.isSymbolicLink()) throw linkInLake(root, path);
    if (entry.isDirectory()) return linksIn(root, path).map((link) => join(name, link));
    return name.endsWith(SUFFIX) ? [name] : [];
  });
}

function isWithin(name: string, { from, to }: ValueRange): boolean {
  const value = name.slice(name.indexOf('=') + 1);
  return name.includes('=') && from <= value && value <= to;
}

function entriesIn(folder: string): Dirent[] {
  return unlessMissing(() => readdirSync(folder, { withFileTypes: true })) ?? [];
}

function snapshotOf(link: string): string {
  return basename(link, SUFFIX);
}

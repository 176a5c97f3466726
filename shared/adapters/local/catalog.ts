import { linkSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { LOCAL_CATALOG_FOLDER, partitionPath, snapshotKey, storedAt } from '../../lake/paths.ts';
import type { Catalog, ValueRange } from '../../ports.ts';
import { errorCode, isMissing, onDisk } from './disk-errors.ts';
import { checkedKey, checkedPrefix } from '../keys.ts';
import { underLakeLock } from './lock.ts';
import { objectNotFound } from '../object-not-found.ts';
import { syncFolder } from './store.ts';

const SUFFIX = '.parquet';

/**
 * The catalog of a lake folder has the current snapshots as hard links `lake/<table>/<partition>/<snapshot
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
        const object = join(root, checkedKey(snapshotKey(...storedAt(shape, partition), snapshot)));
        const links = folderOf(shape.name, partitionPath(partition));
        await underLakeLock(root, () => link(object, links, `${snapshot}${SUFFIX}`));
        await syncFolder(links);
      }),
    removePartition: (table, partition) =>
      onDisk(root, () => rm(folderOf(table, partitionPath(partition)), { recursive: true, force: true })),
    snapshotsByPartition: (table, leading, within) =>
      onDisk(root, async () => {
        const base = partitionPath(leading);
        const folder = folderOf(table, base);
        const found = within ? await linksWithin(folder, within) : await linksIn(folder, true);
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

function link(object: string, folder: string, name: string): void {
  mkdirSync(folder, { recursive: true });
  try {
    linkSync(object, join(folder, name));
  } catch (error) {
    if (isMissing(error)) throw objectNotFound(object);
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  for (const other of readdirSync(folder)) {
    if (other.endsWith(SUFFIX) && other !== name) rmSync(join(folder, other), { force: true });
  }
}

async function linksIn(folder: string, recursive = false): Promise<string[]> {
  return (await namesIn(folder, recursive)).filter((path) => path.endsWith(SUFFIX));
}

/** The links in the partitions of the folder whose value is in the range, by their paths in the folder. */
async function linksWithin(folder: string, { from, to }: ValueRange): Promise<string[]> {
  const links: string[] = [];
  for (const name of await namesIn(folder)) {
    const value = name.slice(name.indexOf('=') + 1);
    if (name.includes('=') && from <= value && value <= to)
      for (const link of await linksIn(join(folder, name), true)) links.push(join(name, link));
  }
  return links;
}

async function namesIn(folder: string, recursive = false): Promise<string[]> {
  try {
    return await readdir(folder, { recursive });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function snapshotOf(link: string): string {
  return basename(link, SUFFIX);
}

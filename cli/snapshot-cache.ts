import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { newId } from '../shared/adapters/new-id.ts';
import { forEachConcurrent } from '../shared/concurrency.ts';
import type { ObjectStore } from '../shared/ports.ts';

/** Snapshots as local files, which is what DuckDB can open. */
export interface SnapshotFiles {
  /** The folder that holds every path. */
  folder: string;
  /** @returns the paths, in the order of the keys; an object that is missing has no file there */
  pathsOf(keys: readonly string[]): Promise<string[]>;
}

const MAX_PARALLEL_DOWNLOADS = 8;

/** The files of a local lake themselves; those of a lake in S3 are downloaded once, since a snapshot never changes. */
export function snapshotFiles(store: ObjectStore): SnapshotFiles {
  const { localFolder } = store;
  if (localFolder !== undefined) {
    return { folder: localFolder, pathsOf: async (keys) => keys.map((key) => join(localFolder, key)) };
  }
  const folder = join(cacheFolder(), hash('sha256', store.url).slice(0, 16));
  return { folder, pathsOf: (keys) => download(store, keys, folder) };
}

function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'brand-reports');
}

async function download(store: ObjectStore, keys: readonly string[], folder: string): Promise<string[]> {
  const missing = keys.filter((key) => !existsSync(join(folder, key)));
  await forEachConcurrent(missing, MAX_PARALLEL_DOWNLOADS, (key) =>
    downloadOne(store, key, join(folder, key)),
  );
  return keys.map((key) => join(folder, key));
}

async function downloadOne(store: ObjectStore, key: string, path: string): Promise<void> {
  const object = await store.get(key);
  if (!object) return;
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${newId()}`;
  await writeFile(temporary, object.body);
  await rename(temporary, path);
}

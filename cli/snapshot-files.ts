import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { newId } from '../shared/adapters/new-id.ts';
import { objectNotFound } from '../shared/adapters/object-not-found.ts';
import type { ObjectStore } from '../shared/ports.ts';

/** Snapshots as files that DuckDB can open. */
export interface SnapshotFiles {
  /** All of them are below it. */
  folder: string;
  /** @returns the paths, in the order of the keys */
  bring(keys: readonly string[]): Promise<string[]>;
}

const AT_ONCE = 8;

/** Those of a lake folder where they are; those of a lake in S3 copied once, since a snapshot never changes. */
export function snapshotFiles(store: ObjectStore): SnapshotFiles {
  if (!store.url.startsWith('s3://')) {
    return { folder: store.url, bring: async (keys) => keys.map((key) => join(store.url, key)) };
  }
  const folder = join(cacheFolder(), hash('sha256', store.url).slice(0, 16));
  return { folder, bring: (keys) => copyAll(store, folder, keys) };
}

function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'brand-reports');
}

async function copyAll(store: ObjectStore, folder: string, keys: readonly string[]): Promise<string[]> {
  const missing = keys.filter((key) => !existsSync(join(folder, key)));
  const work = async () => {
    for (let key = missing.pop(); key !== undefined; key = missing.pop())
      await copy(store, key, join(folder, key));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return keys.map((key) => join(folder, key));
}

async function copy(store: ObjectStore, key: string, path: string): Promise<void> {
  const object = await store.get(key);
  if (!object) throw objectNotFound(`${store.url}/${key}`);
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${newId()}`;
  await writeFile(temporary, object.body);
  await rename(temporary, path);
}

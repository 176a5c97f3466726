/** A lake in S3 may be private, so its copies are for this user alone. A later query removes copies unused for 30 days. */
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { textOf } from '../shared/adapters/error-fields.ts';
import { statInLake } from '../shared/adapters/local/lake-folder.ts';
import { newId } from '../shared/adapters/system-clock.ts';
import { mayReplace, othersMay } from '../shared/adapters/others-may.ts';
import { forEachConcurrent } from '../shared/base/concurrency.ts';
import { DAY_MS } from '../shared/base/days.ts';
import { configError } from '../shared/base/errors.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { shellWord } from '../shared/base/shell-word.ts';
import { note } from './output.ts';

export interface SnapshotFiles {
  folder: string;
  isCopied: boolean;
  /** @returns the paths, in the order of the keys; an object that is missing has no file there */
  pathsOf(keys: readonly string[]): Promise<string[]>;
}

const MAX_PARALLEL_DOWNLOADS = 8;
const MAX_UNUSED_MS = 30 * DAY_MS;

/** Uses the files of a local lake, but no links, and downloads others once. @throws BrandReportsError `config` if the cache is unsafe */
export function snapshotFiles(store: ObjectStore): SnapshotFiles {
  const { localFolder } = store;
  if (localFolder !== undefined) {
    const pathOf = (key: string) => {
      const path = join(localFolder, key);
      statInLake(localFolder, path);
      return path;
    };
    return { folder: localFolder, isCopied: false, pathsOf: async (keys) => keys.map(pathOf) };
  }
  const folder = join(openCache(), hash('sha256', store.url).slice(0, 16));
  return {
    folder,
    isCopied: true,
    async pathsOf(keys) {
      const missing = keys.filter((key) => !isUsed(join(folder, key)));
      await forEachConcurrent(missing, MAX_PARALLEL_DOWNLOADS, (key) =>
        download(store, key, join(folder, key)),
      );
      return keys.map((key) => join(folder, key));
    },
  };
}

function openCache(): string {
  const cache = join(userCache(), 'brand-reports');
  try {
    mkdirSync(cache, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw noCache(`The folder ${cache} for copies of the lake cannot be made (${textOf(error, 'code')})`);
  }
  const found = statSync(cache);
  // The copies themselves are for this user alone.
  if (othersMay(found) === 'write')
    throw configError(
      'unsafe_cache',
      `Other users may change ${cache}. Remove them: rm -r ${shellWord(cache)}.`,
    );
  const intruders = mayReplace(cache);
  if (intruders) {
    const replaceable = `${intruders.who} may replace the copies of the lake in ${cache}, because ${intruders.why}. To keep them safe, set XDG_CACHE_HOME to another folder, or ${intruders.nextStep}`;
    if (intruders.who !== 'a group') throw configError('unsafe_cache', `Refused: ${replaceable}`);
    note(`warning: ${replaceable}`);
  }
  removeUnused(cache, found.mtimeMs);
  return cache;
}

/** The XDG specification requires that relative paths are ignored. */
function userCache(): string {
  const { XDG_CACHE_HOME: chosen = '', HOME: home = '' } = process.env;
  if (isAbsolute(chosen)) return chosen;
  if (isAbsolute(home)) return join(home, '.cache');
  throw noCache('This user has no home folder for copies of the lake');
}

function noCache(why: string) {
  const nextStep = 'Set XDG_CACHE_HOME to the absolute path of a folder that you may write.';
  return configError('no_cache', `${why}. ${nextStep}`);
}

/** A copy or its unfinished download, in the folder of its lake. Other names in the cache belong to somebody else. */
const COPY_PATH = /^[0-9a-f]{16}\/.*\/part-0000\.parquet(\.\d{8}t\d{6}-[0-9a-f]{12})?$/;

/** Runs at most daily, by the time of the cache's own folder. */
function removeUnused(cache: string, lastMs: number): void {
  const now = Date.now();
  if (Math.abs(now - lastMs) < DAY_MS) return;
  utimesSync(cache, new Date(now), new Date(now));
  for (const entry of readdirSync(cache, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const usedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (entry.isFile() && COPY_PATH.test(relative(cache, path)) && usedMs < now - MAX_UNUSED_MS)
      rmSync(path, { force: true });
  }
}

/** Whether the copy exists. If it does, it counts as used now. */
function isUsed(path: string): boolean {
  const now = new Date();
  try {
    utimesSync(path, now, now);
    return true;
  } catch {
    return false;
  }
}

async function download(store: ObjectStore, key: string, path: string): Promise<void> {
  const object = await store.get(key);
  if (!object) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${newId()}`;
  await writeFile(temporary, object.body, { mode: 0o600 });
  await rename(temporary, path);
}

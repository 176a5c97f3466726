import { rmSync, statSync } from 'node:fs';
import { mkdtemp, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { textOf } from '../shared/adapters/error-fields.ts';
import { configError } from '../shared/base/errors.ts';
import { shellWord } from '../shared/base/shell-word.ts';

/** Tests that the file can be written, before a person answers questions for it. @throws like `writeNew` */
export async function refuseFullPlace(file: string): Promise<void> {
  await writeNew(file, ' '.repeat(16_384));
  await rm(file);
}

/** @throws BrandReportsError `config` if the file exists or cannot be made */
export async function writeNew(file: string, text: string): Promise<void> {
  let isOurs = false;
  try {
    const opened = await open(file, 'wx', 0o600);
    isOurs = true;
    try {
      await opened.writeFile(text);
      await opened.sync();
    } finally {
      await opened.close();
    }
  } catch (thrown) {
    const code = textOf(thrown, 'code');
    // A full disk leaves a part of the file.
    if (isOurs) await rm(file, { force: true });
    const why = code === 'EEXIST' ? 'exists and is not overwritten' : `cannot be written (${code})`;
    throw configError('place_taken', `${file} ${why}. Choose another place.`);
  }
}

/**
 * Writes beside the file, or the file that a link names, and then replaces it: a failure leaves the older file unchanged.
 * @param write gets a path in an empty folder
 * @throws BrandReportsError `config` if the place is in the lake, a folder, a device or missing
 */
export async function writeWhole<Result>(
  file: string,
  lakeFolder: string | undefined,
  write: (path: string) => Promise<Result>,
): Promise<Result> {
  const named = dirname(resolve(file));
  const folderOf = await realpath(named).catch(() => named);
  const place = await realpath(file).catch(() => join(folderOf, basename(file)));
  const parent = dirname(place);
  if (lakeFolder !== undefined && isInside(parent, await realpath(lakeFolder)))
    throw badOutput(`${file} is in the lake, whose files must not change. Choose another folder.`);
  const found = statSync(place, { throwIfNoEntry: false });
  // As root, a rename would replace `/dev/null` and `/dev/stdout` for all programs.
  if (found?.isFile() === false) throw badOutput(`${file} is a folder, a device or a pipe. Name a file.`);
  const folder = await mkdtemp(join(parent, '.brand-reports-')).catch((error: unknown) => {
    const next = `Make its folder, or choose another one: mkdir -p ${shellWord(named)}`;
    throw badOutput(`${file} cannot be written (${textOf(error, 'code')}). ${next}`);
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // The handler is removed by then, so the signal ends the process. An exit would wait until DuckDB ends its query.
  const interrupted = (signal: NodeJS.Signals) => {
    remove();
    process.kill(process.pid, signal);
  };
  process.once('exit', remove).once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    const path = join(folder, 'whole');
    const result = await write(path);
    await rename(path, place);
    return result;
  } finally {
    process.off('exit', remove).off('SIGINT', interrupted).off('SIGTERM', interrupted);
    remove();
  }
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way.split(/[\\/]/, 1)[0] !== '..';
}

export function badOutput(message: string) {
  return configError('bad_output', message);
}

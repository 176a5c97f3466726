import { open, rename, rm, writeFile } from 'node:fs/promises';
import { newId } from '../shared/adapters/system-clock.ts';
import { textOf } from '../shared/adapters/error-fields.ts';
import { configError } from '../shared/base/errors.ts';

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

/** Replaces a file, or the link in its place. The temporary file has a name that nobody can occupy beforehand. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const half = `${file}.${newId()}`;
  try {
    await writeFile(half, text, { flag: 'wx' });
    await rename(half, file);
  } catch (thrown) {
    await rm(half, { force: true });
    throw thrown;
  }
}

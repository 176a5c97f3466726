/** Writes files that must not replace an existing file: settings and credentials of a person. */
import { rm, writeFile } from 'node:fs/promises';
import { textOf } from '../shared/adapters/error-fields.ts';
import { configError } from '../shared/errors.ts';

/** Tests that the file can be written, before a person answers questions for it. @throws like `writeNew` */
export async function refuseFullPlace(file: string): Promise<void> {
  await writeNew(file, ' '.repeat(16_384));
  await rm(file);
}

/** @throws BrandReportsError `config` if the file exists or cannot be made */
export async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600, flush: true });
  } catch (thrown) {
    const code = textOf(thrown, 'code');
    // A full disk leaves a part of the file.
    if (code !== 'EEXIST') await rm(file, { force: true });
    const why = code === 'EEXIST' ? 'exists and is not overwritten' : `cannot be written (${code})`;
    const next = code === 'EEXIST' ? 'Move it away, or choose another place' : 'Choose another place';
    throw configError('place_taken', `${file} ${why}. ${next}.`);
  }
}

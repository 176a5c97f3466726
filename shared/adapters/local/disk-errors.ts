import type { ErrorCode } from '../../base/error-codes.ts';
import { BrandReportsError } from '../../base/errors.ts';
import { textOf } from '../error-fields.ts';

const HELP: Record<string, readonly [code: ErrorCode, nextStep: string]> = {
  ENOSPC: ['disk_full', 'Free space on its disk and run again; what is committed is safe.'],
  EDQUOT: ['disk_full', 'Free space or raise the quota and run again; what is committed is safe.'],
  EMFILE: ['too_many_open_files', 'Raise the limit of open files (ulimit -n) and run again.'],
  ENFILE: ['too_many_open_files', 'End other programs or raise the limit of the system, and run again.'],
  EFBIG: ['file_too_large', 'Raise the limit of the size of files (ulimit -f) and run again.'],
  EACCES: [
    'lake_not_writable',
    'Give this user the right to read and write there, or choose another folder.',
  ],
  EPERM: ['lake_not_writable', 'Choose a folder that is writable, on a local disk that has hard links.'],
  EROFS: ['lake_not_writable', 'Choose a folder on a disk that is writable.'],
  ENOTSUP: ['lake_unusable', 'Choose a folder on a local disk that has hard links.'],
  EXDEV: ['lake_unusable', 'Keep the whole lake on one disk: its folders are joined by hard links.'],
  EMLINK: ['lake_unusable', 'Choose a folder on a local disk that has hard links.'],
  ENOTDIR: ['lake_unusable', 'A file is where the lake needs a folder: move it away.'],
  EEXIST: ['lake_unusable', 'A file is where the lake needs a folder: move it away.'],
  EISDIR: ['lake_unusable', 'A folder is where the lake needs a file: move it away.'],
  ENAMETOOLONG: ['lake_unusable', 'Choose a folder with a shorter path.'],
};

/** Runs `act` on the lake's disk. Its failures become BrandReportsErrors that name the folder and the next step. */
export async function onDisk<T>(folder: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw diskError(error, folder);
  }
}

/** `config` if an operator must act, `transient` otherwise. Errors of other kinds are returned unchanged. */
export function diskError(error: unknown, folder: string): unknown {
  const code = errorCode(error);
  if (!/^E[A-Z0-9]+$/.test(code)) return error;
  // Node reports a read-only disk as ENOENT when it creates a folder together with its parents.
  const found = code === 'ENOENT' && textOf(error, 'syscall') === 'mkdir' ? 'EROFS' : code;
  const [ourCode, nextStep] = HELP[found] ?? ['disk_failed', 'Run again.'];
  const message = `The lake folder ${folder} failed: ${textOf(error, 'message')}. ${nextStep}`;
  return new BrandReportsError(found in HELP ? 'config' : 'transient', ourCode, message, { cause: error });
}

export function unlessMissing<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT';
}

export function errorCode(error: unknown): string {
  return textOf(error, 'code');
}

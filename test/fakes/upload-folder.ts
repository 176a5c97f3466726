/** Puts the files of a folder into the bucket of the S3 server, as `aws s3 sync` does. */
import { hash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { startS3Server } from './s3-server.ts';

/** @returns the paths of all files in the folder */
export function filesIn(folder: string): string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((each) => each.isFile());
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
}

export function uploadFolder(
  { objects }: Awaited<ReturnType<typeof startS3Server>>,
  folder: string,
  { prefix = '', isWanted = (_path: string): boolean => true } = {},
): void {
  for (const path of filesIn(folder).filter(isWanted)) {
    const body = readFileSync(join(folder, path));
    objects.set(prefix + path, { body, etag: `"${hash('md5', body)}"`, modifiedAt: new Date() });
  }
}

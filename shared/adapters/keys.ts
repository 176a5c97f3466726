import { BrandReportsError } from '../base/errors.ts';

/** Names that begin with `.` belong to the store. @throws BrandReportsError `bug` `bad_key` */
export function checkedKey(key: string): string {
  if (!isKey(key)) throw badKey(key);
  return key;
}

/** Whether this program can have written the key. Lists leave out all others, e.g. S3's empty objects for folders. */
export function isKey(key: string): boolean {
  return key.split('/').every((part) => part !== '' && isPlain(part));
}

/** @throws BrandReportsError `bug` `bad_key` if it is neither empty nor the beginning of such a key */
export function checkedPrefix(prefix: string): string {
  const parts = prefix.split('/');
  const folders = parts.slice(0, -1);
  if (folders.includes('') || !parts.every(isPlain)) throw badKey(prefix);
  return prefix;
}

/** The order in which every store lists keys: by their UTF-8 bytes. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

export function isPlain(part: string): boolean {
  return !part.startsWith('.') && !/[\0\\]/.test(part);
}

function badKey(key: string): BrandReportsError {
  return new BrandReportsError(
    'bug',
    'bad_key',
    `${JSON.stringify(key)} is not an object key; allowed: parts joined by "/", none of them empty, none beginning with "." or holding a backslash or NUL`,
  );
}

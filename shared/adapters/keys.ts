import { BrandReportsError } from '../errors.ts';

/**
 * The key itself, if it can name an object in every store. Names that begin with `.` belong to the store.
 * @throws BrandReportsError `bug` `bad_key`
 */
export function checkedKey(key: string): string {
  if (!isKey(key)) throw badKey(key);
  return key;
}

/** Lists leave out all others, e.g. the empty objects that S3's console makes for folders: nobody here has written them. */
export function isKey(key: string): boolean {
  return key.split('/').every((part) => part !== '' && isPlain(part));
}

/**
 * The prefix itself, if it is the beginning of such a key, or empty.
 * @throws BrandReportsError `bug` `bad_key`
 */
export function checkedPrefix(prefix: string): string {
  const parts = prefix.split('/');
  const folders = parts.slice(0, -1);
  if (folders.includes('') || !parts.every(isPlain)) throw badKey(prefix);
  return prefix;
}

/** The order in which every store lists: that of the keys' UTF-8 bytes. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Whether it can be a part of a key, or of a prefix. */
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

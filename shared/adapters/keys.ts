import { BrandReportsError } from '../errors.ts';

/**
 * The key itself, if it can name an object in every store. Names that begin with `.` belong to the store.
 * @throws BrandReportsError `bug` `bad_key`
 */
export function checkedKey(key: string): string {
  if (key.split('/').some((part) => part === '' || !isPlain(part))) throw badKey(key);
  return key;
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

function isPlain(part: string): boolean {
  return !part.startsWith('.') && !/[\0\\]/.test(part);
}

function badKey(key: string): BrandReportsError {
  return new BrandReportsError(
    'bug',
    'bad_key',
    `${JSON.stringify(key)} is not an object key; allowed: parts joined by "/", none of them empty, none beginning with "." or holding a backslash or NUL`,
  );
}

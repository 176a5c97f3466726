import { asBrandReportsError } from '../../errors.ts';
import type { ObjectStore } from '../../ports.ts';

/** An object that can be read in parts: its size, and its bytes `[start, end)`. */
export interface ReadableFile {
  bytes: number;
  range(start: number, end: number): Promise<Uint8Array>;
}

/** An object of a store, of a size that is known: nothing is read yet. */
export function fileIn(store: ObjectStore, { key, bytes }: { key: string; bytes: number }): ReadableFile {
  return { bytes, range: (start, end) => store.range(key, start, end) };
}

/** The same, of a size that is not known. @returns `undefined` where the object is missing */
export async function findFile(store: ObjectStore, key: string): Promise<ReadableFile | undefined> {
  for await (const object of store.list(key)) if (object.key === key) return fileIn(store, object);
  return undefined;
}

/** What is wrong with an object that can be read but is not what was written. @throws where the store fails */
export function damageOf(thrown: unknown): string {
  const { kind, code, message } = asBrandReportsError(thrown);
  // What cannot be parsed as Parquet is no bug here: the file is not the one that was written.
  if (kind !== 'bug' && code !== 'object_missing') throw thrown;
  return message;
}

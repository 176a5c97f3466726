import { asBrandReportsError } from '../base/errors.ts';
import type { ObjectStore } from '../ports.ts';

/** An object that can be read in parts: its size, and its bytes `[start, end)`. */
export interface ReadableFile {
  bytes: number;
  range(start: number, end: number): Promise<Uint8Array>;
}

export function fileIn(store: ObjectStore, { key, bytes }: { key: string; bytes: number }): ReadableFile {
  return { bytes, range: (start, end) => store.range(key, start, end) };
}

export async function findFile(store: ObjectStore, key: string): Promise<ReadableFile | undefined> {
  for await (const object of store.list(key)) if (object.key === key) return fileIn(store, object);
  return undefined;
}

/** For an object that can be read but has other content than was written. @throws if the store fails */
export function damageOf(thrown: unknown): string {
  const { kind, code, message } = asBrandReportsError(thrown);
  // A failure to parse Parquet is no bug here: the file is not the file that was written.
  if (kind !== 'bug' && code !== 'object_missing') throw thrown;
  return message;
}

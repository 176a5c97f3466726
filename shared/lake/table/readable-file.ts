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

/** Writes a lake in memory to a folder, for programs that open files, such as DuckDB. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LAKE_FORMAT } from '../../shared/lake/lake-format.ts';
import { FORMAT_KEY } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';

export async function writeLake(store: ObjectStore, folder: string): Promise<void> {
  for await (const { key } of store.list('')) await write(key, (await store.get(key))?.body ?? '');
  // Opening a lake writes its format number, but a store in memory is never opened.
  await write(FORMAT_KEY, JSON.stringify({ format: LAKE_FORMAT }));

  async function write(key: string, body: Uint8Array | string): Promise<void> {
    await mkdir(dirname(join(folder, key)), { recursive: true });
    await writeFile(join(folder, key), body);
  }
}

/** Writes a lake in memory to a folder, for programs that open files, such as DuckDB. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectStore } from '../../shared/ports.ts';

export async function writeLake(store: ObjectStore, folder: string): Promise<void> {
  for await (const { key } of store.list('')) await write(key, (await store.get(key))?.body ?? '');

  async function write(key: string, body: Uint8Array | string): Promise<void> {
    await mkdir(dirname(join(folder, key)), { recursive: true });
    await writeFile(join(folder, key), body);
  }
}

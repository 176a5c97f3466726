/** A lake in memory as a folder: what opens files, such as DuckDB, can read it there. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectStore } from '../../shared/ports.ts';

export async function writeLake(store: ObjectStore, folder: string): Promise<void> {
  for await (const { key } of store.list('')) {
    const stored = await store.get(key);
    await mkdir(dirname(join(folder, key)), { recursive: true });
    await writeFile(join(folder, key), stored?.body ?? '');
  }
}

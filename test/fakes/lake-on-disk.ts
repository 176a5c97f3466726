/** A lake in memory as a folder: what opens files, such as DuckDB, can read it there. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { MemoryStore } from './memory-store.ts';

export async function writeLake({ objects }: MemoryStore, folder: string): Promise<void> {
  for (const [key, { body }] of objects) {
    const path = join(folder, key);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, body);
  }
}

import { describe, expect, it } from '@jest/globals';
import { createFolderIceberg } from '../../../shared/adapters/local/iceberg.ts';
import { ORDERS } from '../../contracts/catalog.ts';
import { icebergContract } from '../../contracts/iceberg.ts';
import { type MemoryStore, memoryStore } from '../../fakes/memory-store.ts';

const PREFIX = 'iceberg/orders/metadata/';

icebergContract('A folder', async () => {
  const store = memoryStore();
  return { open: () => createFolderIceberg(store, 'file:///lake'), close: async () => {} };
});

describe('a folder of an Iceberg table', () => {
  const put = (store: MemoryStore, name: string, text: string) =>
    store.put(`${PREFIX}${name}`, Buffer.from(text), { ifAbsent: true });

  it.each<[string, string | undefined, number]>([
    ['of a run that died before it wrote the hint', '2', 3],
    ['of the first run, which died before it wrote the hint', undefined, 1],
    ['whose hint is lost', undefined, 3],
    ['whose hint is not a number', '../v1', 3],
    ['whose hint is negative', '-1', 3],
    ['whose hint is ahead of all metadata', '9', 3],
  ])('%s has its newest metadata, and a hint that names it', async (_name, hint, newest) => {
    const store = memoryStore();
    for (let version = newest > 1 ? 2 : 1; version <= newest; version += 1)
      await put(store, `v${version}.metadata.json`, `metadata ${version}`);
    if (hint !== undefined) await put(store, 'version-hint.text', hint);
    const head = await createFolderIceberg(store, 'file:///lake').load('orders');
    expect(`${Buffer.from(head.metadata ?? [])}`).toBe(`metadata ${newest}`);
    const hinted = async () => `${Buffer.from((await store.get(`${PREFIX}version-hint.text`))?.body ?? [])}`;
    expect(await hinted()).toBe(String(newest));
    expect(await head.replace(Buffer.from('next'), ORDERS)).toBe(true);
    expect(await hinted()).toBe(String(newest + 1));
  });
});

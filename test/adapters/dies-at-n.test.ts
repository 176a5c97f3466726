import { describe, expect, it } from '@jest/globals';
import type { ObjectStore } from '../../shared/ports.ts';
import { diesAtN, diesAtNCatalog, ProcessDied } from '../fakes/dies-at-n-store.ts';
import { memoryStore } from '../fakes/memory-store.ts';

const body = Buffer.from('one');

async function story(store: ObjectStore): Promise<void> {
  await store.put('a', body, { ifAbsent: true });
  await store.get('a');
  await store.range('a', 0, 1);
  const writer = store.create('b');
  await writer.write(body);
  await writer.finish();
  await Array.fromAsync(store.list(''));
  await store.delete(['a']);
}

describe('a process that dies', () => {
  it.each([
    ['before', 1, []],
    ['after', 1, ['a']],
    ['before', 5, ['a']],
    ['after', 5, ['a', 'b']],
    ['before', 7, ['a', 'b']],
    ['after', 7, ['b']],
  ] as const)('dies %s operation %d takes effect, and does nothing from then on', async (when, n, left) => {
    const memory = memoryStore();
    const store = diesAtN(memory, n, { when });
    await expect(story(store)).rejects.toBeInstanceOf(ProcessDied);
    expect(store.operations).toBe(n);
    await expect(story(store)).rejects.toBeInstanceOf(ProcessDied);
    await expect(Array.fromAsync(store.list(''))).rejects.toBeInstanceOf(ProcessDied);
    expect([...memory.objects.keys()].sort()).toEqual(left);
  });

  it('counts and dies in the catalog too', async () => {
    const store = diesAtN(memoryStore(), 2);
    const catalog = diesAtNCatalog(
      {
        ensureTable: async () => {},
        ensureView: async () => {},
        setSnapshot: async () => {},
        removePartition: async () => {},
        snapshotsByPartition: async () => new Map(),
      },
      store,
    );
    expect(await catalog.snapshotsByPartition('orders', [])).toEqual(new Map());
    await expect(store.get('a')).rejects.toBeInstanceOf(ProcessDied);
    await expect(catalog.snapshotsByPartition('orders', [])).rejects.toBeInstanceOf(ProcessDied);
  });
});

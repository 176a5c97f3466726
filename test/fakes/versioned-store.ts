import type { ObjectStore } from '../../shared/ports.ts';
import type { MemoryStore } from './memory-store.ts';

/** By version: what an object had before it was replaced or deleted. */
export type KeptVersions = Map<string, { key: string; body: Uint8Array }>;

/** A store that keeps what is replaced or deleted, as a versioned bucket does. @param kept what it has kept */
export function versionedStore(store: MemoryStore, kept: KeptVersions): ObjectStore {
  const keep = (key: string) => {
    const { body } = store.objects.get(key) ?? {};
    if (body) kept.set(`v${kept.size + 1}-${key}`, { key, body });
  };
  return {
    ...store,
    async put(key, body, precondition) {
      const before = store.objects.get(key)?.body;
      const outcome = await store.put(key, body, precondition);
      if (outcome !== 'conflict' && before) kept.set(`v${kept.size + 1}-${key}`, { key, body: before });
      return outcome;
    },
    create(key) {
      const writer = store.create(key);
      const finish = async () => {
        keep(key);
        await writer.finish();
      };
      return { ...writer, finish };
    },
    async delete(keys) {
      for (const key of keys) keep(key);
      await store.delete(keys);
    },
    noncurrent: {
      async *list(prefix) {
        for (const [version, { key, body }] of [...kept])
          if (key.startsWith(prefix)) yield { key, version, bytes: body.length, modifiedAt: new Date(0) };
      },
      get: async ({ version }) => kept.get(version)?.body,
      async delete(versions) {
        for (const { version } of versions) kept.delete(version);
      },
    },
  };
}

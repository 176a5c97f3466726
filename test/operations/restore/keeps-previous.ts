import type { NoncurrentVersion } from '../../../shared/ports.ts';
import type { MemoryStore } from '../../fakes/memory-store.ts';

/** The store keeps what a conditional write replaced last, as a folder does. Tests read and change `kept` directly. */
export function keepsPrevious(store: MemoryStore) {
  const kept = new Map<string, { body: Uint8Array; modifiedAt: Date }>();
  return {
    ...store,
    kept,
    put: async (...[key, body, precondition]: Parameters<MemoryStore['put']>) => {
      const before = store.objects.get(key);
      const outcome = await store.put(key, body, precondition);
      if (outcome !== 'conflict' && before) kept.set(key, before);
      return outcome;
    },
    noncurrent: {
      async *list(prefix: string) {
        for (const [key, { body, modifiedAt }] of kept)
          if (key.startsWith(prefix)) yield { key, version: 'previous', bytes: body.length, modifiedAt };
      },
      get: async ({ key }: NoncurrentVersion) => kept.get(key)?.body,
      delete: async (versions: readonly NoncurrentVersion[]) => {
        for (const { key } of versions) kept.delete(key);
      },
    },
  };
}

/**
 * Keeps objects in memory under the same contract as the real stores. Tests read `objects` directly.
 */
import { checkedKey, checkedPrefix, compareKeys } from '../../shared/adapters/keys.ts';
import { objectNotFound } from '../../shared/adapters/lake-errors.ts';
import type { ObjectStore, Precondition } from '../../shared/ports.ts';

export interface MemoryStore extends ObjectStore {
  /** The stored objects, for tests that bypass the port. */
  readonly objects: Map<string, { body: Uint8Array; etag: string; modifiedAt: Date }>;
}

export function memoryStore({ now = () => new Date() }: { now?: () => Date } = {}): MemoryStore {
  const objects: MemoryStore['objects'] = new Map();
  let writes = 0;

  function write(key: string, body: Uint8Array): string {
    writes += 1;
    const etag = String(writes);
    objects.set(key, { body: Uint8Array.from(body), etag, modifiedAt: now() });
    return etag;
  }

  function holds(key: string, precondition: Precondition): boolean {
    const etag = objects.get(key)?.etag;
    return 'ifMatch' in precondition ? etag === precondition.ifMatch : etag === undefined;
  }

  return {
    url: 'memory://lake',
    objects,
    async get(key) {
      const found = objects.get(checkedKey(key));
      return found && { body: Uint8Array.from(found.body), etag: found.etag };
    },
    async range(key, start, end) {
      const found = objects.get(checkedKey(key));
      if (found === undefined) throw objectNotFound(key);
      return found.body.slice(start, end);
    },
    async put(key, body, precondition) {
      return holds(checkedKey(key), precondition) ? { etag: write(key, body) } : 'conflict';
    },
    create(key) {
      checkedKey(key);
      const parts: Uint8Array[] = [];
      return {
        write: async (bytes) => void parts.push(Uint8Array.from(bytes)),
        finish: async () => void write(key, Buffer.concat(parts)),
        abort: async () => {},
      };
    },
    async *list(prefix) {
      checkedPrefix(prefix);
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix));
      for (const key of keys.sort(compareKeys)) {
        const found = objects.get(key);
        if (found) yield { key, bytes: found.body.length, modifiedAt: found.modifiedAt };
      }
    },
    async delete(keys) {
      for (const key of keys) objects.delete(checkedKey(key));
    },
  };
}

import { LEASES_PREFIX } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';

/** The store as a run sees it that finds the lease of its brand always free: compare-and-swap alone makes it safe. */
export function withoutLease(store: ObjectStore): ObjectStore {
  const isLease = (key: string) => key.startsWith(LEASES_PREFIX);
  return {
    ...store,
    get: async (key) => (isLease(key) ? undefined : store.get(key)),
    put: async (key, body, precondition) =>
      isLease(key) ? { etag: 'unseen' } : store.put(key, body, precondition),
  };
}

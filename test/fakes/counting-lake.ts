/**
 * A store and a catalog that count what is asked of them: how much a run costs in AWS follows from that.
 */
import type { Catalog, ObjectStore } from '../../shared/ports.ts';

export function countingLake({ store, catalog }: { store: ObjectStore; catalog: Catalog }): {
  store: ObjectStore;
  catalog: Catalog;
  /** How often what was asked, e.g. `get ledger/order_list/acme/state.json`. */
  taken(): Record<string, number>;
} {
  const tally = new Map<string, number>();
  function counted<Answer>(asked: string, answer: () => Answer): Answer {
    tally.set(asked, (tally.get(asked) ?? 0) + 1);
    return answer();
  }
  return {
    store: {
      ...store,
      get: (key) => counted(`get ${key}`, () => store.get(key)),
      range: (key, start, end) => counted(`range ${key}`, () => store.range(key, start, end)),
      put: (key, ...rest) => counted(`put ${key}`, () => store.put(key, ...rest)),
      create: (key) => counted(`create ${key}`, () => store.create(key)),
      list: (prefix) => counted(`list ${prefix}`, () => store.list(prefix)),
      delete: (keys) => counted('delete', () => store.delete(keys)),
    },
    catalog: {
      ensureTable: (table) => counted(`ensureTable ${table.name}`, () => catalog.ensureTable(table)),
      ensureView: (view) => counted(`ensureView ${view.name}`, () => catalog.ensureView(view)),
      snapshotOf: (table, ...rest) =>
        counted(`snapshotOf ${table}`, () => catalog.snapshotOf(table, ...rest)),
      setSnapshot: (table, ...rest) =>
        counted(`setSnapshot ${table.name}`, () => catalog.setSnapshot(table, ...rest)),
      snapshotsByPartition: (table, leading, within) =>
        counted(`snapshotsByPartition ${table} ${within ? `${within.from}..${within.to}` : 'all'}`, () =>
          catalog.snapshotsByPartition(table, leading, within),
        ),
    },
    taken: () => Object.fromEntries([...tally].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

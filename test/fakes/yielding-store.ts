import type { ObjectStore } from '../../shared/ports.ts';

/** A store that lets others go first before and after each of its operations, as often as `turns` says. */
export function yieldingStore(store: ObjectStore, turns: () => number): ObjectStore {
  const yields = async () => {
    for (let left = turns(); left > 0; left -= 1) await new Promise(setImmediate);
  };
  const slowly = async <T>(act: () => Promise<T>): Promise<T> => {
    await yields();
    const done = await act();
    await yields();
    return done;
  };
  return {
    url: store.url,
    get: (key) => slowly(() => store.get(key)),
    range: (key, start, end) => slowly(() => store.range(key, start, end)),
    put: (key, body, precondition) => slowly(() => store.put(key, body, precondition)),
    list: (prefix) => store.list(prefix),
    delete: (keys) => slowly(() => store.delete(keys)),
    create(key) {
      const writer = store.create(key);
      return { ...writer, finish: () => slowly(() => writer.finish()) };
    },
  };
}

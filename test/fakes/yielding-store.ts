/**
 * Fault: a store whose every operation lets others go first, as often as the test says.
 * It turns concurrent runs into any interleaving that a property can think of.
 */
import type { ObjectStore } from '../../shared/ports.ts';

/** Yields to the event loop before and after each operation, as often as `yieldsOf` says for that operation. */
export function yieldingStore(store: ObjectStore, yieldsOf: () => number): ObjectStore {
  const yieldToOthers = async () => {
    for (let left = yieldsOf(); left > 0; left -= 1) await new Promise(setImmediate);
  };
  const slowly = async <T>(act: () => Promise<T>): Promise<T> => {
    await yieldToOthers();
    const done = await act();
    await yieldToOthers();
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

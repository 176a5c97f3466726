import type { ObjectStore } from '../../shared/ports.ts';

/** A store that holds its first write of a key that `holds` names until it is let go: a process that is slow there. */
export function gatedStore(store: ObjectStore, holds: (key: string) => boolean) {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let shut = true;
  const pass = async (key: string) => {
    if (!shut || !holds(key)) return;
    shut = false;
    reached.resolve();
    await opened.promise;
  };
  const gated: ObjectStore = {
    ...store,
    async put(key, body, precondition) {
      await pass(key);
      return store.put(key, body, precondition);
    },
    create(key) {
      const writer = store.create(key);
      return {
        ...writer,
        async finish() {
          await pass(key);
          await writer.finish();
        },
      };
    },
  };
  return { store: gated, reached: reached.promise, letGo: opened.resolve };
}

/**
 * Fault: a process that stalls at one write, for as long as the test wants.
 * With it another run can overtake it: leases expire, days are taken over, zombies write late.
 */
import type { ObjectStore } from '../../shared/ports.ts';

/** Stalls the first write of a key that `holds` matches: `reached` resolves there, and `letGo()` lets it happen. */
export function gatedStore(store: ObjectStore, holds: (key: string) => boolean) {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let shut = true;
  const waitAtGate = async (key: string) => {
    if (!shut || !holds(key)) return;
    shut = false;
    reached.resolve();
    await opened.promise;
  };
  const gated: ObjectStore = {
    ...store,
    async put(key, body, precondition) {
      await waitAtGate(key);
      return store.put(key, body, precondition);
    },
    create(key) {
      const writer = store.create(key);
      return {
        ...writer,
        async finish() {
          await waitAtGate(key);
          await writer.finish();
        },
      };
    },
  };
  return { store: gated, reached: reached.promise, letGo: opened.resolve };
}

/**
 * Fault: a process stalls at one write until the test releases it. Meanwhile another run can overtake the process:
 * leases expire, days are taken over, zombies write late.
 */
import type { ObjectStore } from '../../shared/ports.ts';
import { storeAround } from './lake-around.ts';

/** Stalls the first write of a key that `holds` matches: `reached` then resolves, and `letGo()` releases the write. */
export function gatedStore(store: ObjectStore, holds: (key: string) => boolean) {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let shut = true;
  const gated = storeAround(store, async ({ name, on }, act) => {
    if (shut && (name === 'put' || name === 'finish') && holds(on)) {
      shut = false;
      reached.resolve();
      await opened.promise;
    }
    return act();
  });
  return { store: gated, reached: reached.promise, letGo: opened.resolve };
}

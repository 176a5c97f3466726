/**
 * Fault: a process that stalls at one write, for as long as the test wants.
 * With it another run can overtake it: leases expire, days are taken over, zombies write late.
 */
import type { ObjectStore } from '../../shared/ports.ts';
import { storeAround } from './lake-around.ts';

/** Stalls the first write of a key that `holds` matches: `reached` resolves there, and `letGo()` lets it happen. */
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

/**
 * Fault: every operation of the store lets other tasks run first, as often as the test sets. With it a property can
 * produce any interleaving of concurrent runs.
 */
import type { ObjectStore } from '../../shared/ports.ts';
import { storeAround } from './lake-around.ts';

/** Yields to the event loop before and after each operation, `yieldsOf` times for that operation. */
export function yieldingStore(store: ObjectStore, yieldsOf: () => number): ObjectStore {
  const yieldToOthers = async () => {
    for (let left = yieldsOf(); left > 0; left -= 1) await new Promise(setImmediate);
  };
  return storeAround(store, async (_operation, act) => {
    await yieldToOthers();
    const done = await act();
    await yieldToOthers();
    return done;
  });
}

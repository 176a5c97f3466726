/**
 * Fault: a store whose every operation lets others go first, as often as the test says.
 * It turns concurrent runs into any interleaving that a property can think of.
 */
import type { ObjectStore } from '../../shared/ports.ts';
import { storeAround } from './lake-around.ts';

/** Yields to the event loop before and after each operation, as often as `yieldsOf` says for that operation. */
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

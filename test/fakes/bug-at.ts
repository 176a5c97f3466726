/** Fault: the chosen operations on the lake throw an error that only a bug throws. */
import type { Lake } from '../../shared/ports.ts';
import { type Around, type Operation, catalogAround, storeAround } from './lake-around.ts';

export function bugAt({ store, catalog, runs }: Lake, isBug: (operation: Operation) => boolean): Lake {
  const around: Around = async (operation, act) => {
    if (isBug(operation)) throw new TypeError(`cannot read properties of undefined (${operation.name})`);
    return act();
  };
  return {
    store: storeAround(store, around),
    runs,
    ...(catalog && { catalog: catalogAround(catalog, around) }),
  };
}

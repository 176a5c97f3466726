/**
 * A store and a catalog that count what is asked of them: how much a run costs in AWS follows from that.
 */
import type { Catalog, ObjectStore } from '../../shared/ports.ts';
import { type Around, catalogAround, storeAround } from './lake-around.ts';

export function countingLake({ store, catalog }: { store: ObjectStore; catalog: Catalog }) {
  const tally = new Map<string, number>();
  const counted: Around = ({ name, on }, act) => {
    // A streamed object counts once, however many writes it takes.
    const asked = name === 'delete' ? name : `${name === 'finish' ? 'create' : name} ${on}`;
    if (name !== 'write' && name !== 'abort') tally.set(asked, (tally.get(asked) ?? 0) + 1);
    return act();
  };
  return {
    store: storeAround(store, counted),
    catalog: catalogAround(catalog, counted),
    /** How often what was asked, e.g. `get ledger/order_list/acme/state.json`. */
    taken: (): Record<string, number> => Object.fromEntries([...tally].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

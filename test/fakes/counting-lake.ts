/**
 * A store and a catalog that count their requests: the AWS cost of a run follows from the counts.
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
    /** The number of calls by request, e.g. `get ledger/acme/state.json`. */
    taken: (): Record<string, number> => Object.fromEntries([...tally].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

import { BrandReportsError } from '../../shared/errors.ts';
import type { ObjectStore } from '../../shared/ports.ts';

/**
 * What becomes of a put. `lost`: written, but the answer is an error. `denied`: written, but the answer is a
 * conflict, as where a client repeats a write whose answer it lost. `refused`: not written, and an error.
 */
export type PutFate = 'answered' | 'lost' | 'denied' | 'refused';

/** A store that writes and does not say so: `fateOf` decides for each put, counted from 0. */
export function losesAnswers(
  store: ObjectStore,
  fateOf: (put: number) => PutFate,
  /** What happens in the store between the write and its answer. */
  meanwhile: () => Promise<unknown> = async () => {},
): ObjectStore & { readonly puts: number } {
  let puts = 0;
  return {
    ...store,
    get puts() {
      return puts;
    },
    async put(key, body, precondition) {
      const fate = fateOf(puts++);
      if (fate === 'refused') throw unreachable();
      const outcome = await store.put(key, body, precondition);
      if (fate === 'answered') return outcome;
      await meanwhile();
      if (fate === 'denied') return 'conflict';
      throw unreachable();
    },
  };
}

function unreachable(): BrandReportsError {
  return new BrandReportsError('transient', 'store_unreachable', 'the store gave no answer');
}

/**
 * Fault: the store performs a write and does not confirm it. The answer is an error, or a conflict with the writer's
 * own write. Compare-and-swap must recognise its own write in both cases.
 */
import { BrandReportsError } from '../../shared/base/errors.ts';
import type { ObjectStore } from '../../shared/ports.ts';

/**
 * `answered`: written and confirmed. `lost`: written, but the answer is an error. `denied`: written, but the answer is
 * a conflict, as when a client repeats a write whose answer it lost. `refused`: not written, and an error.
 */
export type PutFate = 'answered' | 'lost' | 'denied' | 'refused';

/** `fateOf` decides the fate of each put, counted from 0. */
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
  return new BrandReportsError('transient', 'aws_unavailable', 'the store gave no answer');
}

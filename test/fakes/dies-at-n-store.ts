/**
 * Fault: the process dies at its n-th operation on the lake, just before or just after the operation takes effect.
 * Store and catalog share one count, so that a test can visit every moment at which a process can die.
 */
import type { ErrorSummary } from '../../shared/base/outcome.ts';
import type { Catalog, ObjectStore } from '../../shared/ports.ts';
import { type Around, catalogAround, storeAround } from './lake-around.ts';

/** Thrown by every operation of a process that has died. */
export class ProcessDied extends Error {
  override readonly name = 'ProcessDied';
  constructor() {
    super('the process died');
  }
}

/**
 * Throws if an outcome contains a bug, so that a scenario cannot mistake a bug for a failure of the service. In the
 * reports of a process that died, the death appears as a bug: it is thrown as `ProcessDied`.
 */
export async function withoutBugs<Outcome extends { reports: readonly { error?: ErrorSummary }[] }>(
  ended: Promise<Outcome>,
): Promise<Outcome> {
  const outcome = await ended;
  const bug = outcome.reports.find(({ error }) => error?.kind === 'bug')?.error;
  if (!bug) return outcome;
  throw bug.message.startsWith('ProcessDied') ? new ProcessDied() : new Error(bug.message);
}

export interface DyingStore extends ObjectStore {
  /** How many operations were started. */
  readonly operations: number;
  readonly life: { readonly dead: boolean };
  readonly step: Around;
}

/**
 * A store whose process dies at its n-th operation (get, range, put, list, delete, and write and finish of a
 * stream). If n is Infinity, the process lives on. After the death every operation throws.
 */
export function diesAtN(
  store: ObjectStore,
  n: number,
  { when = 'before' }: { when?: 'before' | 'after' } = {},
): DyingStore {
  let operations = 0;
  const life = { dead: false };
  const step: Around = async ({ name }, act) => {
    const counts = !life.dead && name !== 'abort';
    if (counts) operations += 1;
    const isLast = counts && operations === n;
    if (isLast && when === 'before') life.dead = true;
    if (life.dead) throw new ProcessDied();
    const done = await act();
    if (isLast) life.dead = true;
    // An operation in flight at the moment of death may have taken effect, but its answer is lost.
    if (life.dead) throw new ProcessDied();
    return done;
  };
  return {
    ...storeAround(store, step),
    life,
    step,
    get operations() {
      return operations;
    },
  };
}

/** The catalog of the same process: its operations count with those of the store. */
export function diesAtNCatalog(catalog: Catalog, { step }: DyingStore): Catalog {
  return catalogAround(catalog, step);
}

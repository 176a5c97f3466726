/**
 * Reaches a lake as one process does: every call takes virtual time and may fail before or after it took effect. A
 * process may also die at a call. A dead process never continues, but its writes may still arrive minutes later.
 */
import { MINUTE_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import type { Lake } from '../../shared/ports.ts';
import { type Operation, catalogAround, storeAround } from '../fakes/lake-around.ts';
import type { SimulatedLake } from '../simulation/lake.ts';
import type { Random } from '../simulation/random.ts';
import type { Timeline } from '../simulation/timeline.ts';

/** The faults that are injected until the storm ends. */
export interface LakeFaults {
  /** The probability that a call fails, before or after it took effect. */
  rate: number;
  injected: number;
}

/** One process: whether it lives, and when it dies. */
export class Life {
  readonly died: Promise<'died'>;
  dead = false;
  #callsLeft: number;
  readonly #whenAtLast: 'before' | 'after' | 'on the way';
  #announce: (died: 'died') => void = () => {};

  constructor(calls: number, random: Random) {
    this.#callsLeft = calls;
    this.#whenAtLast = random.pick(['before', 'after', 'on the way']);
    this.died = new Promise((resolve) => {
      this.#announce = resolve;
    });
  }

  die(): void {
    this.dead = true;
    this.#announce('died');
  }

  /** Runs a call of the process. @param late delivers the writes that a dying process had sent */
  async step<Result>(
    act: () => Promise<Result>,
    late: (arrive: () => Promise<Result>) => void,
  ): Promise<Result> {
    if (this.dead) return never();
    this.#callsLeft -= 1;
    const isLast = this.#callsLeft === 0;
    if (isLast && this.#whenAtLast !== 'after') {
      if (this.#whenAtLast === 'on the way') late(act);
      this.die();
      return never();
    }
    const result = await act();
    if (isLast) this.die();
    return this.dead ? never() : result;
  }
}

/** The promise that a dead process waits for. */
export function never<Result>(): Promise<Result> {
  return new Promise(() => {});
}

/** Operations that may take effect after their process has died. */
const WRITES: ReadonlySet<Operation['name']> = new Set([
  'put',
  'finish',
  'delete',
  'ensureTable',
  'ensureView',
  'setSnapshot',
]);

export function reachedLake(
  lake: SimulatedLake,
  { time, life, faults, random }: { time: Timeline; life: Life; faults: LakeFaults; random: Random },
): Lake {
  const { store, catalog } = lake;

  async function call<Result>({ name }: Operation, act: () => Promise<Result>): Promise<Result> {
    await time.sleep(latencyMs());
    const arrive = async () => {
      const fate = random.chance(faults.rate) ? random.pick(['refused', 'lost'] as const) : undefined;
      if (fate) faults.injected += 1;
      if (fate === 'refused') throw unreachable();
      const result = await time.outside(act);
      await time.sleep(latencyMs());
      if (fate === 'lost') throw unreachable();
      return result;
    };
    return life.step(arrive, (late) => {
      if (WRITES.has(name))
        void time
          .sleep(random.between(0, 10 * MINUTE_MS))
          .then(late)
          .catch(() => {});
    });
  }

  function latencyMs(): number {
    // A process stops for minutes, like a laptop whose lid is closed.
    if (faults.rate > 0 && random.chance(0.001)) return random.between(1, 20) * MINUTE_MS;
    return random.between(2, 40);
  }

  const reached = storeAround(store, call);
  return {
    store: {
      ...reached,
      async put(key, body, precondition) {
        const outcome = await reached.put(key, body, precondition);
        // A client that repeats a write whose answer it lost conflicts with its own write.
        if (!random.chance(faults.rate / 4)) return outcome;
        faults.injected += 1;
        return 'conflict';
      },
    },
    runs: lake.runs,
    catalog: catalogAround(catalog, call),
  };
}

function unreachable(): BrandReportsError {
  return new BrandReportsError('transient', 'aws_unavailable', 'the store gave no answer');
}

/**
 * A lake as one process reaches it: every call takes virtual time, may fail before or after it took effect, and may be
 * the one at which the process dies. Then it never returns: what was sent may still arrive, minutes later.
 */
import { createLocalCatalog } from '../../shared/adapters/local/catalog.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { MINUTE_MS } from '../../shared/days.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import type { Catalog, Lake, ObjectStore, ObjectWriter } from '../../shared/ports.ts';
import { type Operation, catalogAround, storeAround } from '../fakes/lake-around.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import type { Random } from './random.ts';
import type { Simulation } from './simulation.ts';

/** The lake itself, without time and faults. */
export interface TrueLake {
  kind: 'S3' | 'folder';
  store: ObjectStore;
  catalog: Catalog;
  /** By run: a folder's locks show which runs are dead. */
  lives: Map<string, Life>;
  close(): Promise<void>;
}

/** What is injected until the storm ends. */
export interface LakeFaults {
  /** How likely a call fails, before or after it took effect. */
  rate: number;
  injected: number;
}

export async function openTrueLake(kind: TrueLake['kind'], simulation: Simulation): Promise<TrueLake> {
  const now = () => new Date(simulation.nowMs);
  if (kind === 'S3')
    return {
      kind,
      store: memoryStore({ now }),
      catalog: memoryCatalog(),
      lives: new Map(),
      close: async () => {},
    };
  const folder = await temporaryFolder();
  const writtenAt = new Map<string, Date>();
  const unfinished = new Set<ObjectWriter>();
  const disk = openLocalStore(folder.path);
  const store: ObjectStore = {
    ...disk,
    async put(key, body, precondition) {
      const outcome = await disk.put(key, body, precondition);
      if (outcome !== 'conflict') writtenAt.set(key, now());
      return outcome;
    },
    create(key) {
      const writer = disk.create(key);
      unfinished.add(writer);
      return {
        ...writer,
        async finish() {
          await writer.finish();
          unfinished.delete(writer);
          writtenAt.set(key, now());
        },
      };
    },
    async *list(prefix) {
      for await (const object of disk.list(prefix))
        yield { ...object, modifiedAt: writtenAt.get(object.key) ?? object.modifiedAt };
    },
  };
  const close = async () => {
    for (const writer of unfinished) await writer.abort();
    await folder.remove();
  };
  return { kind, store, catalog: createLocalCatalog(folder.path), lives: new Map(), close };
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

  /** Runs a call of the process. @param late lets what a dying process had sent arrive */
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

/** What a dead process waits for. */
export function never<Result>(): Promise<Result> {
  return new Promise(() => {});
}

/** What was sent of these may still arrive. */
const WRITES: ReadonlySet<Operation['name']> = new Set([
  'put',
  'finish',
  'delete',
  'ensureTable',
  'ensureView',
  'setSnapshot',
]);

export function reachedLake(
  lake: TrueLake,
  {
    simulation,
    life,
    faults,
    random,
  }: { simulation: Simulation; life: Life; faults: LakeFaults; random: Random },
): Lake {
  const { store, catalog } = lake;

  async function call<Result>({ name }: Operation, act: () => Promise<Result>): Promise<Result> {
    await simulation.sleep(latencyMs());
    const arrive = async () => {
      const fate = random.chance(faults.rate) ? random.pick(['refused', 'lost'] as const) : undefined;
      if (fate) faults.injected += 1;
      if (fate === 'refused') throw unreachable();
      const result = await simulation.outside(act);
      await simulation.sleep(latencyMs());
      if (fate === 'lost') throw unreachable();
      return result;
    };
    return life.step(arrive, (late) => {
      if (WRITES.has(name))
        void simulation
          .sleep(random.between(0, 10 * MINUTE_MS))
          .then(late)
          .catch(() => {});
    });
  }

  function latencyMs(): number {
    // A process that stands still for minutes, as a laptop does whose lid is closed.
    if (faults.rate > 0 && random.chance(0.001)) return random.between(1, 20) * MINUTE_MS;
    return random.between(2, 40);
  }

  const reached = storeAround(store, call);
  return {
    store: {
      ...reached,
      async put(key, body, precondition) {
        const outcome = await reached.put(key, body, precondition);
        // A client that repeats a write whose answer it lost meets its own write.
        if (!random.chance(faults.rate / 4)) return outcome;
        faults.injected += 1;
        return 'conflict';
      },
    },
    runs: {
      async register(run) {
        lake.lives.set(run, life);
        return async () => void lake.lives.delete(run);
      },
      // In S3 only the lease shows it.
      isDead: async (run) => lake.kind === 'folder' && lake.lives.get(run)?.dead !== false,
    },
    catalog: catalogAround(catalog, call),
  };
}

function unreachable(): BrandReportsError {
  return new BrandReportsError('transient', 'store_unreachable', 'the store gave no answer');
}

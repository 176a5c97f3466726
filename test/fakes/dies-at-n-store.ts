/**
 * Fault: the process dies at its n-th operation on the lake, just before or just after it takes effect.
 * Store and catalog share one count, so that a test can visit every moment at which a process can die.
 */
import type { Catalog, ObjectStore } from '../../shared/ports.ts';

/** Thrown by every operation of a process that has died. */
export class ProcessDied extends Error {
  override readonly name = 'ProcessDied';
  constructor() {
    super('the process died');
  }
}

/** Counts the operations of one process and ends it at one of them, just before it takes effect or just after. */
class Life {
  readonly #diesAt: number;
  readonly #when: 'before' | 'after';
  #operations = 0;
  #dead = false;

  constructor(diesAt: number, when: 'before' | 'after' = 'before') {
    this.#diesAt = diesAt;
    this.#when = when;
  }

  get operations(): number {
    return this.#operations;
  }

  get dead(): boolean {
    return this.#dead;
  }

  async step<T>(act: () => Promise<T>): Promise<T> {
    const last = this.#begin();
    const done = await act();
    this.#end(last);
    return done;
  }

  async *stepThrough<T>(items: () => AsyncIterable<T>): AsyncGenerator<T> {
    const last = this.#begin();
    yield* items();
    this.#end(last);
  }

  #begin(): boolean {
    this.check();
    this.#operations += 1;
    const last = this.#operations === this.#diesAt;
    if (last && this.#when === 'before') this.#die();
    return last;
  }

  /** An operation in flight at the moment of death may have taken effect, but its answer is lost. */
  #end(last: boolean): void {
    if (last) this.#die();
    this.check();
  }

  check(): void {
    if (this.#dead) throw new ProcessDied();
  }

  #die(): never {
    this.#dead = true;
    throw new ProcessDied();
  }
}

export interface DyingStore extends ObjectStore {
  /** How many operations were started. */
  readonly operations: number;
  readonly life: Life;
}

/**
 * A store whose process dies at its n-th operation (get, range, put, list, delete, and write and finish of a
 * stream); never where n is Infinity. From then on every operation throws.
 */
export function diesAtN(
  store: ObjectStore,
  n: number,
  { when = 'before' }: { when?: 'before' | 'after' } = {},
): DyingStore {
  const life = new Life(n, when);
  return {
    url: store.url,
    life,
    get operations() {
      return life.operations;
    },
    get: (key) => life.step(() => store.get(key)),
    range: (key, start, end) => life.step(() => store.range(key, start, end)),
    put: (key, body, precondition) => life.step(() => store.put(key, body, precondition)),
    list: (prefix) => life.stepThrough(() => store.list(prefix)),
    delete: (keys) => life.step(() => store.delete(keys)),
    create(key) {
      life.check();
      const writer = store.create(key);
      return {
        write: (bytes) => life.step(() => writer.write(bytes)),
        finish: () => life.step(() => writer.finish()),
        abort: async () => {
          life.check();
          await writer.abort();
        },
      };
    },
  };
}

/** The catalog of the same process: its operations count with those of the store. */
export function diesAtNCatalog(catalog: Catalog, { life }: DyingStore): Catalog {
  return {
    ensureTable: (table) => life.step(() => catalog.ensureTable(table)),
    ensureView: (view) => life.step(() => catalog.ensureView(view)),
    snapshotOf: (table, partition) => life.step(() => catalog.snapshotOf(table, partition)),
    setSnapshot: (table, partition, snapshot) =>
      life.step(() => catalog.setSnapshot(table, partition, snapshot)),
    snapshotsByPartition: (...asked) => life.step(() => catalog.snapshotsByPartition(...asked)),
  };
}

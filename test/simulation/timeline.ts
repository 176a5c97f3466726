/**
 * Provides virtual time for a simulated history. Everything that takes time waits here: requests, calls of the lake,
 * sleeps, timers. The next event happens only when the code that the last event woke is idle, so the order of a history
 * depends only on its seed, and a week takes a second.
 */
interface Event {
  atMs: number;
  happen: () => void;
}

/** Thrown if no event is left although the awaited work has not ended. */
export class Deadlock extends Error {
  override readonly name = 'Deadlock';
}

export class Timeline {
  nowMs: number;
  /** The latest event first. */
  readonly #queue: Event[] = [];
  readonly #outside = new Set<Promise<unknown>>();

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Resolves after `ms` of virtual time. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#add(ms, resolve));
  }

  every(ms: number, tick: () => void): () => void {
    let stopped = false;
    const next = () => {
      if (stopped) return;
      this.#add(ms, next);
      tick();
    };
    this.#add(ms, next);
    return () => {
      stopped = true;
    };
  }

  /** Runs real work, e.g. on a disk: virtual time stands still until it is done. */
  async outside<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = work();
    const settled = working.catch(() => undefined);
    this.#outside.add(settled);
    try {
      return await working;
    } finally {
      this.#outside.delete(settled);
    }
  }

  /** Lets events happen until `main` has ended. */
  async runUntilSettled<Result>(main: Promise<Result>): Promise<Result> {
    let settled = false;
    const ended = main.finally(() => {
      settled = true;
    });
    ended.catch(() => {});
    for (;;) {
      await this.#rest();
      if (settled) return ended;
      if (!this.#happenNext()) throw new Deadlock('no event is left, but the awaited work has not ended');
    }
  }

  /** Lets the events up to an instant happen. */
  async runUntil(ms: number): Promise<void> {
    do await this.#rest();
    while (this.#happenNext(ms));
    this.nowMs = ms;
  }

  /** @returns whether there was an event up to the instant */
  #happenNext(untilMs = Number.POSITIVE_INFINITY): boolean {
    if ((this.#queue.at(-1)?.atMs ?? Number.POSITIVE_INFINITY) > untilMs) return false;
    const next = this.#queue.pop();
    if (!next) return false;
    this.nowMs = Math.max(this.nowMs, next.atMs);
    next.happen();
    return true;
  }

  #add(ms: number, happen: () => void): void {
    const event = { atMs: this.nowMs + Math.max(0, Math.ceil(ms)), happen };
    let [low, high] = [0, this.#queue.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#queue[middle];
      if (other && other.atMs > event.atMs) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, event);
  }

  async #rest(): Promise<void> {
    await new Promise(setImmediate);
    while (this.#outside.size > 0) {
      await Promise.all(this.#outside);
      await new Promise(setImmediate);
    }
  }
}

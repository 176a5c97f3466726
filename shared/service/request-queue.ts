/**
 * The order of requests that wait. Urgent ones come first, so that a long catching up cannot keep the newest days
 * waiting; among them the lowest rank. Of the others the report that was served least recently is next, so that
 * reports take turns, and within it the lowest rank, so that the first days of a plan finish first. On a tie the
 * request that came first is served first. The queue is pure: it neither waits nor knows the time.
 */
import type { Turn } from '../ports.ts';
import { stopped, throwIfStopped } from './retry.ts';

/** The turn of a request that was given none. */
export const NO_TURN: Turn = { urgent: true, report: '', rank: 0 };

/** What waits: it is started, or it fails. */
export interface Waiting {
  start: () => void;
  fail: (reason: unknown) => void;
}

/** Items in the order in which they are to be served. */
export interface RequestQueue<T> {
  readonly size: number;
  /** @returns a function that removes the item */
  add(turn: Turn, item: T): () => void;
  /** Removes the next item; `undefined` where none waits. */
  next(): T | undefined;
  /** All items, in the order in which they came. */
  items(): T[];
}

interface Entry<T> {
  turn: Turn;
  item: T;
}

/** A queue of requests to one brand's service. */
export function createRequestQueue<T>(): RequestQueue<T> {
  /** In the order in which they came. */
  const entries = new Set<Entry<T>>();
  /** The reports of requests that were not urgent, the one served last at the end. */
  const served = new Set<string>();

  function isBefore(a: Turn, b: Turn): boolean {
    if (a.urgent !== b.urgent) return a.urgent;
    if (a.urgent || a.report === b.report) return a.rank < b.rank;
    const order = [...served];
    return order.indexOf(a.report) < order.indexOf(b.report);
  }

  return {
    get size() {
      return entries.size;
    },
    add(turn, item) {
      const entry = { turn, item };
      entries.add(entry);
      return () => void entries.delete(entry);
    },
    next() {
      let first: Entry<T> | undefined;
      for (const entry of entries) if (!first || isBefore(entry.turn, first.turn)) first = entry;
      if (!first) return undefined;
      entries.delete(first);
      const { urgent, report } = first.turn;
      if (!urgent) {
        served.delete(report);
        served.add(report);
      }
      return first.item;
    },
    items: () => [...entries].map(({ item }) => item),
  };
}

/**
 * Waits in the queue until the item is started; it leaves the queue where it fails before that.
 * @throws BrandReportsError `transient` `stopped` where the signal aborts; what the item fails with
 */
export async function waitInQueue<T extends Waiting>(
  queue: RequestQueue<T>,
  turn: Turn,
  signal: AbortSignal | undefined,
  itemOf: (waiting: Waiting) => T,
): Promise<void> {
  throwIfStopped(signal);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (reason: unknown) => {
    remove();
    reject(reason);
  };
  const remove = queue.add(turn, itemOf({ start: resolve, fail }));
  const stop = () => fail(stopped());
  signal?.addEventListener('abort', stop, { once: true });
  await promise.finally(() => signal?.removeEventListener('abort', stop));
}

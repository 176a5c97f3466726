/**
 * The queue orders waiting requests. It neither waits nor uses a clock. Urgent requests come first, by rank, so that a
 * long backfill cannot delay the newest days. Among the others, the report that was served least recently is next, so
 * that reports take turns. Within a report the lowest rank is next, so that the first days of a plan finish first. On a
 * tie, the request that arrived first is next.
 */
import type { Turn } from '../ports.ts';

export const NO_TURN: Turn = { urgent: true, report: '', rank: 0 };

interface Entry<T> {
  turn: Turn;
  item: T;
}

export function createRequestQueue<T>() {
  const entries = new Set<Entry<T>>();
  /** The reports of requests that were not urgent; the report that was served last is at the end. */
  const served = new Set<string>();

  function isBefore(a: Turn, b: Turn): boolean {
    if (a.urgent !== b.urgent) return a.urgent;
    if (a.urgent || a.report === b.report) return a.rank < b.rank;
    const order = [...served];
    return order.indexOf(a.report) < order.indexOf(b.report);
  }

  return {
    get size(): number {
      return entries.size;
    },
    /** @returns a function that removes the item */
    add(turn: Turn, item: T): () => void {
      const entry = { turn, item };
      entries.add(entry);
      return () => void entries.delete(entry);
    },
    next(): T | undefined {
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
  };
}

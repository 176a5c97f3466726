import fc from 'fast-check';
import { MINUTE_MS } from '../../../shared/base/days.ts';
import type { Problem } from '../../../shared/watch/problems.ts';

export const START_MS = Date.parse('2026-03-01T00:50:00Z');

export function candidate(id: string, more: Partial<Problem> = {}): Problem {
  const of = {
    id,
    brand: 'acme',
    report: 'order_list',
    table: 'orders',
    what: `${id} is wrong`,
    days: [],
    why: 'it is',
  };
  return { ...of, graceMs: 0, remedy: { sentence: 'Wait' }, ...more };
}

/** The ids of problems. */
export const wrong = fc.subarray(['a', 'b', 'c', 'd']);

/** One watcher run in a history: the time since the run before, the ids of the problems, and how the run ends. */
export interface HistoricWatch<Fate> {
  afterMinutes: number;
  wrong: string[];
  fate: Fate;
}

export function histories<Fate>(least: number, ...fates: Fate[]): fc.Arbitrary<HistoricWatch<Fate>[]> {
  const afterMinutes = fc.integer({ min: least, max: 150 });
  return fc.array(fc.record({ afterMinutes, wrong, fate: fc.constantFrom(...fates) }), { maxLength: 40 });
}

/** Performs the runs one after another. @returns the watcher, and the time of the last run, in milliseconds */
export function liveThrough<Fate, Watcher extends { run: Run<Fate> }>(
  watcher: Watcher,
  history: readonly HistoricWatch<Fate>[],
): Watcher & { nowMs: number } {
  let nowMs = START_MS;
  for (const { afterMinutes, wrong: ids, fate } of history) {
    nowMs += afterMinutes * MINUTE_MS;
    watcher.run(
      nowMs,
      ids.map((id) => candidate(id)),
      fate,
    );
  }
  return { ...watcher, nowMs };
}

type Run<Fate> = (nowMs: number, candidates: readonly Problem[], fate: Fate) => void;

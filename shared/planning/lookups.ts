/*
 * Decides when to repeat a lookup that brought no record: the service refused it, or responded without a record. Such a
 * lookup is stored beside the records that were found, and the records are published. Later runs repeat only these
 * lookups, after waits of their own, until their tries are used up. Without these rules, one click whose detail is
 * refused would block the details of its whole day, and every run would repeat all lookups of that day. Everything here
 * is pure.
 */
import { exponentialMs } from '../base/backoff.ts';
import { DAY_MS, HOUR_MS } from '../base/days.ts';
import { type Committed, MAX_LOOKUP_WAIT_MS } from '../lake/ledger.ts';
import type { RefusedLookup, Slice } from '../lake/progress.ts';

/** All tries of a lookup that is refused fit into four days, because raw records may be kept for seven days only. */
export const REFUSED_LOOKUP_RETRY = { maxAttempts: 8, baseMs: HOUR_MS, capMs: DAY_MS };
/** A click may have no detail, so there are fewer tries than for a refusal in the same time: each wait is four times as long. */
export const EMPTY_LOOKUP_RETRY = { maxAttempts: 5, baseMs: HOUR_MS, capMs: MAX_LOOKUP_WAIT_MS };

export interface MissingLookup {
  key: string;
  /** The code of the last refusal; missing if the service responded without a record. */
  code?: string;
  /** The tries that count; 0: the service responded without a record while the upstream day was open. */
  tries: number;
  /** When the lookup is repeated; missing after the last try, and until the upstream day is closed. */
  retryAtMs?: number;
}

/**
 * @param counts whether the service has answered any lookup in this run. Otherwise it refuses the action itself, and a
 * few days of that would use up the tries of all lookups
 */
export function refusedLookup(
  key: string,
  code: string,
  before: MissingLookup | undefined,
  counts: boolean,
): RefusedLookup {
  const tries = before?.code === undefined ? 0 : before.tries;
  return { key, code, tries: tries + (counts ? 1 : 0) };
}

/** By key. Waits begin when the last page of a slice is staged, because a later run may have resumed the slice. */
export function missingAfter(slices: readonly Slice[]): Map<string, MissingLookup> {
  let missing = new Map<string, MissingLookup>();
  for (const slice of slices) {
    const before = missing;
    const sliceMs = Date.parse(slice.stagedAt ?? slice.startedAt);
    missing = new Map([...before].filter(([, lookup]) => !isDue(lookup, slice)));
    for (const refused of slice.parts.flatMap((part) => part.refused ?? []))
      missing.set(refused.key, { ...refused, ...nextTry(sliceMs, refused.tries, REFUSED_LOOKUP_RETRY, 1) });
    for (const key of slice.parts.flatMap((part) => part.empty ?? [])) {
      const { code, tries = 0 } = before.get(key) ?? {};
      const now = slice.upstream?.closed ? (code === undefined ? tries : 0) + 1 : 0;
      missing.set(key, { key, tries: now, ...(now > 0 && nextTry(sliceMs, now, EMPTY_LOOKUP_RETRY, 2)) });
    }
  }
  return missing;
}

function nextTry(fromMs: number, tries: number, retry: typeof REFUSED_LOOKUP_RETRY, doublings: number) {
  if (tries >= retry.maxAttempts) return {};
  return { retryAtMs: fromMs + exponentialMs(doublings * Math.max(0, tries - 1), retry) };
}

/** Whether a slice repeats the lookup. It does so immediately if a clock that was ahead began the wait. */
export function isDue(
  { code, tries, retryAtMs }: MissingLookup,
  { startedAt, upstream }: Pick<Slice, 'startedAt' | 'upstream'>,
): boolean {
  if (code === undefined && tries === 0) return upstream?.closed === true;
  const leftMs = retryAtMs === undefined ? MAX_LOOKUP_WAIT_MS : retryAtMs - Date.parse(startedAt);
  return leftMs <= 0 || leftMs > MAX_LOOKUP_WAIT_MS;
}

/** The ledger's summary of a day's lookups without a record; `undefined` if there is nothing to record. */
export function refusedSummary(slices: readonly Slice[]): Committed['refusedLookups'] {
  const lookups = [...missingAfter(slices).values()];
  // While the upstream day is open, a click without a detail shows nothing.
  const missing = lookups.filter(({ code, tries }) => code !== undefined || tries > 0);
  if (missing.length === 0) return undefined;
  const empty = missing.filter(({ code }) => code === undefined).length;
  const counts = { count: missing.length - empty, ...(empty > 0 && { empty }) };
  const retriesMs = missing.flatMap(({ retryAtMs }) => retryAtMs ?? []);
  if (retriesMs.length === 0) return counts;
  const firstMs = retriesMs.reduce((first, retryMs) => Math.min(first, retryMs));
  return { ...counts, retryAt: new Date(firstMs).toISOString() };
}

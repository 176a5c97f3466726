/*
 * These rules decide when a lookup that brought no record is repeated: the service refused it, or answered without a record.
 * Without them, one click whose detail is refused would keep the details of its whole day from being published, and cost
 * all its calls again in every run. Such a lookup is recorded beside the records that were found, and the rest is published.
 * Later runs repeat these lookups alone, after waits of their own, until their tries are used up. Everything here is pure.
 */
import { exponentialMs } from '../backoff.ts';
import { DAY_MS, HOUR_MS } from '../days.ts';
import { type Committed, MAX_LOOKUP_WAIT_MS } from '../lake/documents/ledger.ts';
import type { RefusedLookup, Slice } from '../lake/documents/progress.ts';
import { keysOf, type RecordList } from '../records/record-list.ts';

/**
 * I1: decides which looked-up records belong to the day if several slices have looked some up. A record of the upstream
 * day keeps the answer of the newest slice that found it; what was found for any other record is left out.
 * @param ownerOf returns the upstream record that a response is about, by the key in the response
 * @returns to be called for each slice, the newest first
 */
export function newestAnswers(
  answerField: string,
  ownerOf: (answered: string) => string | undefined,
): () => (list: RecordList) => (index: number) => boolean {
  /** By upstream record, the number of the slice whose answer stays. */
  const sliceOf = new Map<string, number>();
  let slices = 0;
  return () => {
    slices += 1;
    const own = slices;
    return (list) => {
      const keys = keysOf(list, answerField);
      return (index) => {
        const owner = ownerOf(keys[index] ?? '');
        if (owner === undefined) return false;
        if (!sliceOf.has(owner)) sliceOf.set(owner, own);
        return sliceOf.get(owner) === own;
      };
    };
  };
}

/** All tries of a lookup that is refused fit into four days, because raw records may be kept for seven days only. */
export const REFUSED_LOOKUP_RETRY = { maxAttempts: 8, baseMs: HOUR_MS, capMs: DAY_MS };
/**
 * Of a lookup that was answered without a record, after its day is closed. Nothing says that every click has a detail, so
 * it takes fewer tries than a refusal in the same time, each wait four times as long as the one before.
 */
export const EMPTY_LOOKUP_RETRY = { maxAttempts: 5, baseMs: HOUR_MS, capMs: MAX_LOOKUP_WAIT_MS };

/** A lookup that has brought no record. */
export interface MissingLookup {
  key: string;
  /** Of the last refusal; missing if the service answered without a record. */
  code?: string;
  /** Those that count; 0: answered without a record while the upstream day was open. */
  tries: number;
  /** When it is repeated; missing after the last try, or until the upstream day is closed. */
  retryAtMs?: number;
}

/**
 * The record of a refusal.
 * @param counts whether the service has answered any lookup in this run: otherwise it refuses the action, and a few days
 * of that would use up the tries of all lookups
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

/**
 * The lookups that have brought no record after these slices, by key. Waits begin when the last page of a slice is staged: a
 * later run may have gone on with it.
 */
export function missingAfter(slices: readonly Slice[]): Map<string, MissingLookup> {
  let missing = new Map<string, MissingLookup>();
  for (const slice of slices) {
    const before = missing;
    const sliceMs = Date.parse(slice.stagedAt ?? slice.startedAt);
    missing = new Map([...before].filter(([, lookup]) => !isDue(lookup, slice)));
    for (const refused of slice.parts.flatMap((part) => part.refused ?? []))
      missing.set(refused.key, { ...refused, ...nextTry(sliceMs, waitOfRefused(refused.tries)) });
    for (const key of slice.parts.flatMap((part) => part.empty ?? [])) {
      const { code, tries = 0 } = before.get(key) ?? {};
      const now = slice.upstream?.closed ? (code === undefined ? tries : 0) + 1 : 0;
      missing.set(key, { key, tries: now, ...nextTry(sliceMs, waitOfEmpty(now)) });
    }
  }
  return missing;
}

function waitOfRefused(tries: number): number | undefined {
  if (tries >= REFUSED_LOOKUP_RETRY.maxAttempts) return undefined;
  return exponentialMs(Math.max(0, tries - 1), REFUSED_LOOKUP_RETRY);
}

function waitOfEmpty(tries: number): number | undefined {
  if (tries === 0 || tries >= EMPTY_LOOKUP_RETRY.maxAttempts) return undefined;
  return exponentialMs(2 * (tries - 1), EMPTY_LOOKUP_RETRY);
}

function nextTry(fromMs: number, waitMs: number | undefined): Pick<MissingLookup, 'retryAtMs'> {
  return waitMs === undefined ? {} : { retryAtMs: fromMs + waitMs };
}

/** Whether a slice repeats it: also if a clock that was ahead began its wait. */
export function isDue(
  { code, tries, retryAtMs }: MissingLookup,
  { startedAt, upstream }: Pick<Slice, 'startedAt' | 'upstream'>,
): boolean {
  if (code === undefined && tries === 0) return upstream?.closed === true;
  const leftMs = retryAtMs === undefined ? MAX_LOOKUP_WAIT_MS : retryAtMs - Date.parse(startedAt);
  return leftMs <= 0 || leftMs > MAX_LOOKUP_WAIT_MS;
}

/** What the ledger says of the lookups of a day that have brought no record; `undefined` if it says nothing. */
export function refusedSummary(slices: readonly Slice[]): Committed['refusedLookups'] {
  const missing = [...missingAfter(slices).values()];
  const count = missing.filter(({ code }) => code !== undefined).length;
  const retriesMs = missing.flatMap(({ retryAtMs }) => retryAtMs ?? []);
  if (retriesMs.length === 0) return count > 0 ? { count } : undefined;
  const firstMs = retriesMs.reduce((first, retryMs) => Math.min(first, retryMs));
  return { count, retryAt: new Date(firstMs).toISOString() };
}

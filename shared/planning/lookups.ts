/*
 * What becomes of lookups that the service refuses. Without this, one click whose detail is refused would keep the
 * details of its whole day from being published, and cost all its calls again in every run. A refused lookup is recorded
 * beside the records that were found, and the rest is published. Later runs ask for the refused ones alone, after waits
 * of their own, until their tries are used up; after that they are only counted. Everything here is pure.
 */
import { exponentialMs } from '../backoff.ts';
import { DAY_MS, HOUR_MS } from '../days.ts';
import type { Committed } from '../lake/documents/ledger.ts';
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

/** A refused lookup: all its tries fit into four days, because raw records may be kept for seven days only. */
export const LOOKUP_RETRY = { maxAttempts: 8, baseMs: HOUR_MS, capMs: DAY_MS };

/** The record of a refusal, with the time of the next try unless it was the last one. */
export function refusedLookup(
  key: string,
  code: string,
  before: RefusedLookup | undefined,
  nowMs: number,
): RefusedLookup {
  const tries = (before?.tries ?? 0) + 1;
  if (tries >= LOOKUP_RETRY.maxAttempts) return { key, code, tries };
  const retryAt = new Date(nowMs + exponentialMs(tries - 1, LOOKUP_RETRY)).toISOString();
  return { key, code, tries, retryAt };
}

/** The lookups that are refused after these slices, by key. */
export function refusedAfter(slices: readonly Slice[]): Map<string, RefusedLookup> {
  const refused = new Map<string, RefusedLookup>();
  for (const { startedAt, parts } of slices) {
    for (const [key, lookup] of refused) if (isDue(lookup, Date.parse(startedAt))) refused.delete(key);
    for (const lookup of parts.flatMap((part) => part.refused ?? [])) refused.set(lookup.key, lookup);
  }
  return refused;
}

/** Whether a slice that starts at this time asks for it again. */
export function isDue({ retryAt }: RefusedLookup, nowMs: number): boolean {
  return retryAt !== undefined && Date.parse(retryAt) <= nowMs;
}

/** What the ledger says of the refused lookups of a day; `undefined` where there are none. */
export function refusedSummary(slices: readonly Slice[]): Committed['refusedLookups'] {
  const refused = [...refusedAfter(slices).values()];
  const [retryAt] = refused.flatMap((lookup) => lookup.retryAt ?? []).sort();
  return refused.length > 0 ? { count: refused.length, ...(retryAt && { retryAt }) } : undefined;
}

/**
 * A progress document, `raw/<report>/brand=…/dt=…/<attempt>/progress.json`, records how far an attempt at a day has come.
 * A run first writes a chunk, and then names the chunk and the next cursor here in one compare-and-swap (I4). If the run
 * dies in between, the chunk stays unnamed and the next run fetches the same pages again. Only chunks named here exist.
 * A run that takes a day over writes its id here. The run that read the day before then fails at `assertOwn` (`day/claim.ts`, I5):
 * otherwise both would stage the same pages.
 */
import * as z from 'zod/mini';
import { type Json, isJson } from '../base/json.ts';
import { type Observations, mergeObservations } from '../table/columns.ts';
import { documentParser, storedCount, storedId, storedTime, storedObject } from './cas-document.ts';

const json = z.custom<Json>(isJson, { error: 'a JSON value was expected' });

const chunk = storedObject(() => ({ name: storedId, records: storedCount }));

const refusedLookup = storedObject(() => ({
  key: z.string(),
  code: z.string(),
  /** How many runs tried it in which the service answered some lookup. */
  tries: storedCount,
}));

const part = storedObject(() => ({
  /**
   * `include`: its records belong to the day. `exclude`: its records are removed from the day, each as often as it is
   * excluded minus as often as it is restored. `restore`: each of its records cancels one exclusion.
   */
  role: z.enum(['include', 'exclude', 'restore']),
  fields: z.record(z.string(), z.union([z.string(), z.number()])),
  /** The cursor of the page after the last staged page, as the service sent it; `null` before the first page. */
  cursor: json,
  /** The last staged page. A resumed attempt fetches it again, and restarts if the page differs. */
  last: z.optional(storedObject(() => ({ cursor: json, hash: z.string(), lastKey: z.optional(z.string()) }))),
  /** Short hashes of the cursors requested so far; a repeated cursor is a cycle. */
  seen: z.array(z.string()),
  pages: storedCount,
  /** I11: whether records may have been skipped between two pages, because the list may have shifted. */
  mayHaveGap: z.optional(z.boolean()),
  records: storedCount,
  chunks: z.array(chunk),
  /**
   * Set if the slice has several queries and one run read this query to its end. It has fingerprints of the records and
   * of their keys. `isSame`: the previous reading returned the same records. `agrees`: it returned at least the same
   * keys.
   */
  answer: z.optional(
    storedObject(() => ({ records: z.string(), keys: z.string(), isSame: z.boolean(), agrees: z.boolean() })),
  ),
  refused: z.optional(z.array(refusedLookup)),
  /** The keys of lookups that returned no record; only the first `MAX_EMPTY_KEPT`. */
  empty: z.optional(z.array(z.string())),
  done: z.boolean(),
}));

const slice = storedObject(() => ({
  /** The span that the slice covers, in milliseconds. After the slice, the day is known up to `toMs`. */
  fromMs: z.int(),
  toMs: z.int(),
  /** Whether it covers the day from its beginning. */
  whole: z.boolean(),
  /** When reading it began, and when its last page was staged, by the service's time. */
  startedAt: storedTime,
  stagedAt: z.optional(storedTime),
  /** Whether a run continued after pages that another run had staged. */
  resumed: z.optional(z.boolean()),
  /** Of a full read that is repeated because records with one primary key differed: a fingerprint of these records. */
  repeatsConflict: z.optional(z.string()),
  /** For a report with an upstream: the snapshot and the digest of the upstream day whose records are looked up. */
  upstream: z.optional(
    storedObject(() => ({
      snapshot: storedId,
      digest: z.string(),
      bytes: storedCount,
      closed: z.boolean(),
    })),
  ),
  parts: z.array(part),
  observations: z.record(z.string(), storedCount),
  withoutKey: storedCount,
  done: z.boolean(),
}));

const progress = storedObject(() => ({
  queryFingerprint: z.string(),
  /** The run that reads the day; missing before the first run. */
  run: z.optional(z.string()),
  /** How often the last slice was dropped and begun again. */
  restarts: z.optional(storedCount),
  slices: z.array(slice),
  recentWrites: z.array(z.string()),
}));

export type SlicePart = z.infer<typeof part>;
/** A lookup that the service refused, identified by its key because a refusal contains no record. */
export type RefusedLookup = z.infer<typeof refusedLookup>;
export type Slice = z.infer<typeof slice>;
export type Progress = z.infer<typeof progress>;

export const EMPTY_PROGRESS: Progress = { queryFingerprint: '', slices: [], recentWrites: [] };

export const parseProgress = documentParser(progress, EMPTY_PROGRESS);

/** The pages that are staged together at the end of the attempt's last slice. */
export interface StagedGroup
  extends Pick<SlicePart, 'cursor' | 'pages' | 'mayHaveGap' | 'records' | 'answer' | 'done'> {
  part: number;
  chunk: { name: string; records: number } | undefined;
  last: SlicePart['last'];
  seen: readonly string[];
  refused: readonly RefusedLookup[];
  empty: readonly string[];
  observations: Observations;
  withoutKey: number;
  stagedAt: string;
}

/** Limits the document if a service has no details at all. A key that is left out counts as never requested. */
const MAX_EMPTY_KEPT = 10_000;

export function withStagedGroup(progress: Progress, group: StagedGroup): Progress {
  const current = progress.slices.at(-1);
  if (!current) throw new Error('a group is staged into a slice');
  const parts = current.parts.map((part, index) =>
    index === group.part
      ? {
          ...part,
          cursor: group.cursor,
          ...(group.last && { last: group.last }),
          seen: group.done ? [] : [...part.seen, ...group.seen],
          pages: part.pages + group.pages,
          ...(group.mayHaveGap && { mayHaveGap: true }),
          records: part.records + group.records,
          chunks: group.chunk ? [...part.chunks, group.chunk] : part.chunks,
          ...(group.answer && { answer: group.answer }),
          ...(group.empty.length > 0 && {
            empty: [...(part.empty ?? []), ...group.empty].slice(0, MAX_EMPTY_KEPT),
          }),
          ...(group.refused.length > 0 && { refused: [...(part.refused ?? []), ...group.refused] }),
          done: group.done,
        }
      : part,
  );
  const next = {
    ...current,
    parts,
    observations: mergeObservations(current.observations, group.observations),
    withoutKey: current.withoutKey + group.withoutKey,
    stagedAt: group.stagedAt,
    done: parts.every((part) => part.done),
  };
  return { ...progress, slices: [...progress.slices.slice(0, -1), next] };
}

export function pagesIn(slices: readonly Slice[]): number {
  return slices.flatMap(({ parts }) => parts).reduce((sum, { pages }) => sum + pages, 0);
}

/*
 * Reads the staged records of a day from their chunks and decides which of them belong to the day (I1). Records of the
 * next day, which a range with an inclusive end returns, are excluded by key and content, or without a key as a
 * multiset. If several slices looked up the same record, the newest response stays.
 */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { BrandReportsError } from '../base/errors.ts';
import type { Slice, SlicePart } from '../lake/progress.ts';
import { versionKey } from '../lake/paths.ts';
import { loadCodedFile } from '../table/load-parquet.ts';
import { damageOf, fileIn } from '../table/readable-file.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import { keysOf, ownersAmong, type RecordKey, type RecordList } from '../records/record-list.ts';
import type { Attempt } from './claim.ts';
import type { BrandReport, BuildContext } from '../context/context.ts';
import type { ObjectStore } from '../ports.ts';
import { readRecords } from '../records/read-records.ts';
import type { Lookup, ReportDefinition, UpstreamRecord } from '../reports/definition.ts';
import type { OpenDay } from '../context/open-day.ts';
import { type Verdict, contentOf } from './rows-of-day.ts';
import { MAX_GROUP_BYTES, RECORD_SEPARATOR, SMALL_BYTES } from './stage.ts';

const decompressAside = promisify(zstdDecompress);
/** Nearly every chunk fits into a buffer of this size; a larger chunk has to be put together from parts. */
const UNPACKED_BYTES = MAX_GROUP_BYTES + 2 ** 19;
/** Most chunks are at most this many times as large as their frame. Small chunks get at least the minimum. */
const UNPACKED_RATIO = 32;
const MIN_UNPACKED_BYTES = 2 ** 14;

export interface StagedDay extends OpenDay {
  prefix: string;
  /** The oldest first. */
  slices: readonly Slice[];
}

export async function stagedDay(attempt: Attempt): Promise<StagedDay> {
  const { slices } = await attempt.progress.cached();
  return { ...attempt, prefix: attempt.keys.attempt(attempt.id), slices };
}

export function recordsOf(slices: readonly Slice[]): number {
  return slices.flatMap(({ parts }) => parts).reduce((sum, { records }) => sum + records, 0);
}

/** The fields that identify records; `undefined` if some record has no key of its own, because then they are no key. */
export function usedKeyField(
  ctx: Pick<BuildContext, 'report' | 'settings'>,
  slices: readonly Slice[],
): RecordKey | undefined {
  const isOnEvery = ctx.report.primaryKey?.always || slices.every(({ withoutKey }) => withoutKey === 0);
  return isOnEvery ? primaryKeyField(ctx) : undefined;
}

export async function* pagesOf(
  ctx: Pick<BuildContext, 'lake'>,
  prefix: string,
  { parts }: Slice,
  role: SlicePart['role'],
): AsyncGenerator<RecordList> {
  for (const part of parts) if (part.role === role) yield* pagesOfPart(ctx, prefix, part);
}

export async function* pagesOfPart(
  { lake }: Pick<BuildContext, 'lake'>,
  prefix: string,
  { chunks }: SlicePart,
): AsyncGenerator<RecordList> {
  for (const chunk of chunks) yield* await readChunk(lake.store, prefix, chunk);
}

export async function answersOf(
  ctx: BuildContext,
  day: string,
  slices: readonly Slice[],
): Promise<ReturnType<typeof newestAnswers>> {
  const { paging } = ctx.report;
  const newest = slices.at(-1);
  if (paging.style !== 'lookup' || !newest || slices.length < 2) return () => () => () => true;
  const upstream = await upstreamRecords(ctx, day, newest, paging.lookup);
  return newestAnswers(paging.lookup.answerField, ownersAmong(upstream));
}

/**
 * I1: decides which looked-up records belong to the day if several slices contain some. An upstream record keeps the
 * response of the newest slice that found one; responses about records that are not in the upstream day are left out.
 * @param ownerOf returns the upstream record that a response is about, by the key in the response
 * @returns a function to call for each slice, the newest first
 */
export function newestAnswers(
  answerField: string,
  ownerOf: (answered: string) => string | undefined,
): () => (list: RecordList) => (index: number) => boolean {
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

/** The records of the slice's upstream snapshot, by key. @throws BrandReportsError `contract` if it is missing or damaged */
export async function upstreamRecords(
  ctx: BrandReport,
  day: string,
  { upstream }: Slice,
  lookup: Lookup,
): Promise<Map<string, UpstreamRecord>> {
  const { store } = ctx.lake;
  if (!upstream || !ctx.upstream) return new Map();
  const key = versionKey(ctx.upstream.report.table, ctx.brand, day, upstream.snapshot);
  const file = fileIn(store, { key, bytes: upstream.bytes });
  const optional = lookup.optional.map(({ column }) => column);
  const records = new Map<string, UpstreamRecord>();
  const { readParquetRows } = await loadCodedFile();
  try {
    for await (const row of readParquetRows(file, [lookup.key.column, ...optional])) {
      const value = row[lookup.key.column];
      if (typeof value !== 'string' || value === '') continue;
      const present = optional.flatMap((column) => {
        const text = row[column];
        return typeof text === 'string' ? [[column, text] as const] : [];
      });
      records.set(value, { key: value, optional: Object.fromEntries(present) });
    }
  } catch (thrown) {
    throw damagedSnapshot(thrown, key, ctx.upstream.report, day);
  }
  return records;
}

/** @throws if the store fails */
function damagedSnapshot(thrown: unknown, key: string, { name }: ReportDefinition, day: string): Error {
  const message = damageOf(thrown);
  const advice = `To read the day again: brand-reports sync ${name} --from ${day} --to ${day}`;
  const found = `${key} cannot be read: ${message}. ${advice}`;
  return new BrandReportsError('contract', 'damaged_snapshot', found, { cause: thrown });
}

const FINGERPRINT_LENGTH = 16;

function fingerprint(text: string): string {
  return hash('md5', text, 'buffer').toString('latin1');
}

export async function exclusionsOf(
  ctx: Pick<BuildContext, 'lake'>,
  prefix: string,
  { parts }: Slice,
  keyField: RecordKey | undefined,
) {
  const left = new Map<string, number>();
  const met = new Set<string>();
  // I1: another record with the same key may belong to the day, so exclusions match key and content.
  const idsOf = (list: RecordList) => {
    const keys = keysOf(list, keyField);
    return (index: number) => fingerprint(keys[index] ?? '') + fingerprint(contentOf(list, index));
  };
  for (const part of parts) {
    const inPart = new Set<string>();
    if (part.role === 'include') continue;
    for await (const list of pagesOfPart(ctx, prefix, part)) {
      const idOf = idsOf(list);
      for (let index = 0; index < list.count; index += 1) {
        const id = idOf(index);
        // Pages of one query may overlap: a record that they share counts once.
        if (keyField !== undefined && inPart.has(id)) continue;
        if (keyField !== undefined) inPart.add(id);
        left.set(id, (left.get(id) ?? 0) + (part.role === 'exclude' ? 1 : -1));
      }
    }
  }
  for (const [id, count] of left) {
    if (count <= 0) left.delete(id);
    else if (keyField !== undefined) left.set(id, Number.POSITIVE_INFINITY);
  }
  const keyOf = (id: string) => id.slice(0, FINGERPRINT_LENGTH);
  const keys = new Set(keyField === undefined ? [] : left.keys().map(keyOf));
  return {
    /** By record of a page. With a primary key, an exclusion covers all equal records, without a key only one. */
    among(list: RecordList): (index: number) => Verdict {
      if (left.size === 0) return () => undefined;
      const idOf = idsOf(list);
      return (index) => {
        const id = idOf(index);
        const count = left.get(id) ?? 0;
        if (count === 0)
          return keys.has(keyOf(id)) ? { versions: hash('md5', contentOf(list, index), 'hex') } : undefined;
        left.set(id, count - 1);
        met.add(id);
        return 'excluded';
      };
    },
    /** Whether some exclusions were used, and others match no record of the day. */
    holdMoreThanTheDay: () => met.size > 0 && met.size < left.size,
  };
}

/** The pages of a staged chunk. @throws BrandReportsError `transient` if the chunk is missing or damaged */
export async function readChunk(
  store: ObjectStore,
  prefix: string,
  chunk: { name: string; records: number },
): Promise<RecordList[]> {
  const stored = await store.get(prefix + chunk.name);
  const damaged = (what: string, cause?: unknown) => {
    const problem = `${prefix}${chunk.name} ${what}`;
    const message = `${problem}, although progress.json lists it; the next run reads the day from its first page`;
    const context = { problem, isMissing: !stored };
    return new BrandReportsError('transient', 'damaged_chunk', message, { cause, context });
  };
  if (!stored) throw damaged('is missing');
  try {
    const lists = pagesIn(await decompress(stored.body));
    if (lists.reduce((sum, { count }) => sum + count, 0) === chunk.records) return lists;
  } catch (cause) {
    throw damaged('cannot be read', cause);
  }
  throw damaged(`does not contain the ${chunk.records} records that were staged`);
}

function decompress(frame: Uint8Array): Buffer | Promise<Buffer> {
  const likelyBytes = Math.max(MIN_UNPACKED_BYTES, frame.length * UNPACKED_RATIO);
  const options = { chunkSize: Math.min(UNPACKED_BYTES, likelyBytes) };
  return likelyBytes <= SMALL_BYTES ? zstdDecompressSync(frame, options) : decompressAside(frame, options);
}

function pagesIn(chunk: Buffer): RecordList[] {
  const lists: RecordList[] = [];
  for (let at = 0; at < chunk.length; ) {
    if (chunk[at] !== RECORD_SEPARATOR[0]) throw new TypeError('a page begins with a record separator');
    const next = chunk.indexOf(RECORD_SEPARATOR, at + 1);
    const end = next === -1 ? chunk.length : next;
    lists.push(readRecords(chunk.subarray(at + 1, end)));
    at = end;
  }
  return lists;
}

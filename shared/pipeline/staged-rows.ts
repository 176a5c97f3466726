/*
 * Turns a day's staged records into rows (I1): every record as often as the service has it. Overlaps of pages and of
 * slices are dropped by primary key where every record has one; records of the next day that the end of the range
 * included are excluded, by key or else as a multiset; a record with a time or date of its own belongs to that day.
 * Records of one pass that have one key and differ are one that changed while it was paged, or they prove that the field
 * is no key: `build` decides, from a second pass.
 */
import { hash } from 'node:crypto';
import { BrandReportsError } from '../errors.ts';
import { type JsonObject, stringifyJson } from '../json.ts';
import type { Progress, Slice, SlicePart } from '../lake/documents/progress.ts';
import { attemptPrefix } from '../lake/paths.ts';
import { type Row, type TableSchema, rowMapper } from '../lake/table/columns.ts';
import type { Attempt } from './claim.ts';
import type { RunContext } from './context.ts';
import { ownDay } from './own-day.ts';
import { primaryKeyField, primaryKeyOf, readChunk } from './stage.ts';

/** `identifies`: records with one key are one. `is_none`: it was proven that they are not. */
export type KeyRule = 'identifies' | 'is_none';

/** A row, or the slice in which records with one key differ. */
export type StagedRow = { row: Row } | { conflictIn: Slice };

/**
 * The rows of everything staged, the newest slice first, so that its version of a record is the one that stays.
 * @throws BrandReportsError `contract` where it cannot be decided from the responses which records are the day's
 */
export async function* stagedRows(
  ctx: RunContext,
  attempt: Attempt,
  progress: Progress,
  schema: TableSchema,
  rule: KeyRule,
): AsyncGenerator<StagedRow> {
  const { report } = ctx;
  const keyField =
    report.primaryKey?.always || everyRecordHasKey(progress) ? primaryKeyField(ctx) : undefined;
  const toRow = rowMapper(schema);
  const own = ownDay(ctx, attempt.day);
  const overlaps = createOverlaps(ctx, keyField, rule);
  for (const slice of progress.slices.filter(({ done }) => done).toReversed()) {
    const exclusions = await exclusionsOf(ctx, attempt, slice, rule === 'identifies' ? keyField : undefined);
    let kept = 0;
    const syncedAt = new Date(slice.startedAt);
    overlaps.beginSlice();
    for await (const record of recordsOf(ctx, attempt, slice, 'include')) {
      if (exclusions.consume(record) || !own.has(record)) continue;
      kept += 1;
      const met = overlaps.meet(record);
      if (met === 'in_conflict') yield { conflictIn: slice };
      if (met === 'new') yield { row: toRow(record, syncedAt) };
    }
    if (kept === 0 && exclusions.holdMoreThanTheDay()) throw instantUnclear(ctx, attempt.day);
  }
  own.end();
}

interface Overlaps {
  beginSlice(): void;
  /** `repeated`: another page, or a newer slice, has the record. `in_conflict`: another page has its key with other content. */
  meet(record: JsonObject): 'new' | 'repeated' | 'in_conflict';
}

/** I1: which records several pages and slices have in common. */
function createOverlaps({ report }: RunContext, keyField: string | undefined, rule: KeyRule): Overlaps {
  // Where the key is none nothing is dropped, but positions may overlap by design: there a record is its content.
  const isDropped = rule === 'identifies' || report.paging.style === 'position';
  const newer = new Set<string>();
  let contents = new Map<string, number>();
  return {
    beginSlice() {
      for (const id of contents.keys()) newer.add(id);
      contents = new Map();
    },
    meet(record) {
      const key = isDropped ? primaryKeyOf(record, keyField) : undefined;
      if (key === undefined) return 'new';
      const content = contentOf(record);
      const id = fingerprint(rule === 'identifies' ? key : `${key}\n${content}`);
      if (newer.has(id)) return 'repeated';
      const before = contents.get(id);
      if (before === undefined) {
        contents.set(id, shortFingerprint(content));
        return 'new';
      }
      return before === shortFingerprint(content) ? 'repeated' : 'in_conflict';
    },
  };
}

/** The same text for the same fields in any order. */
function contentOf(record: JsonObject): string {
  return stringifyJson(Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))));
}

function everyRecordHasKey(progress: Progress): boolean {
  return progress.slices.every(({ withoutKey }) => withoutKey === 0);
}

/** Sixteen bytes as text: the set of all keys of a day has to fit into memory (I12). */
function fingerprint(text: string): string {
  return hash('md5', text, 'buffer').toString('latin1');
}

/** 48 bits, compared only between records with one key. */
function shortFingerprint(text: string): number {
  return hash('md5', text, 'buffer').readUIntBE(0, 6);
}

async function* recordsOf(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  role: SlicePart['role'],
): AsyncGenerator<JsonObject> {
  for (const part of slice.parts) if (part.role === role) yield* recordsOfPart(ctx, attempt, part);
}

async function* recordsOfPart(
  ctx: RunContext,
  { day, id }: Attempt,
  { chunks }: SlicePart,
): AsyncGenerator<JsonObject> {
  const prefix = attemptPrefix(ctx.report.name, ctx.brand, day, id);
  for (const chunk of chunks) yield* await readChunk(ctx.lake.store, prefix, chunk);
}

interface Exclusions {
  /** Whether the record is to be left out; one exclusion stands for one occurrence, with a primary key for all. */
  consume(record: JsonObject): boolean;
  /** Whether some exclusions were used, and others match no record of the day. */
  holdMoreThanTheDay(): boolean;
}

/** The records of the next day that the end of the range included. */
async function exclusionsOf(
  ctx: RunContext,
  attempt: Attempt,
  slice: Slice,
  keyField: string | undefined,
): Promise<Exclusions> {
  const left = new Map<string, number>();
  const met = new Set<string>();
  const keyOf = (record: JsonObject) => fingerprint(primaryKeyOf(record, keyField) ?? stringifyJson(record));
  for (const part of slice.parts) {
    const inPart = new Set<string>();
    if (part.role === 'include') continue;
    for await (const record of recordsOfPart(ctx, attempt, part)) {
      const key = keyOf(record);
      // Pages of one query may overlap.
      if (keyField !== undefined && inPart.has(key)) continue;
      if (keyField !== undefined) inPart.add(key);
      left.set(key, (left.get(key) ?? 0) + (part.role === 'exclude' ? 1 : -1));
    }
  }
  for (const [key, count] of left) {
    if (count <= 0) left.delete(key);
    else if (keyField !== undefined) left.set(key, Number.POSITIVE_INFINITY);
  }
  return {
    consume(record) {
      if (left.size === 0) return false;
      const key = keyOf(record);
      const count = left.get(key) ?? 0;
      if (count === 0) return false;
      left.set(key, count - 1);
      met.add(key);
      return true;
    },
    holdMoreThanTheDay: () => met.size > 0 && met.size < left.size,
  };
}

/** The exclusions contain all records of the day and more: the service did not return records of one instant only. */
function instantUnclear({ report, brandSettings }: RunContext, day: string): BrandReportsError {
  const setting = report.day.by === 'dates' ? 'endDate' : 'endTime';
  return new BrandReportsError(
    'contract',
    'instant_unclear',
    `${report.name} ${day}: for a query of the day's last instant alone, the service returned all records of the day and more, so which of them belong to the next day is unknown; set "${setting}" (now "${brandSettings[setting]}") to what the service means`,
  );
}

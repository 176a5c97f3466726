/*
 * Turns a day's staged records into rows (I1): every record as often as the service has it. Overlaps of pages and of
 * slices are dropped by primary key where every record has one; records of the next day that the end of the range
 * included are excluded, by key and content or else as a multiset; a record with a time or date of its own belongs to
 * that day. Records of one pass that have one key and differ are one that changed meanwhile, or they prove that the field
 * is no key: `build` decides, from a second pass.
 */
import { hash } from 'node:crypto';
import { BrandReportsError } from '../errors.ts';
import { type JsonObject, stringifyJson } from '../json.ts';
import type { Progress, Slice, SlicePart } from '../lake/documents/progress.ts';
import { attemptPrefix } from '../lake/paths.ts';
import { type Row, type TableSchema, rowMapper } from '../lake/table/columns.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { Attempt } from './claim.ts';
import type { RunContext } from './context.ts';
import { ownDay } from './own-day.ts';
import { primaryKeyField, primaryKeyOf, readChunk } from './stage.ts';

/**
 * `identifies`: records with one key are one. `is_none`: it was proven that they are not. `changes`: they are one if they
 * also have the same time of their own, because its content is another one in every response.
 */
export type KeyRule = 'identifies' | 'changes' | 'is_none';

/** Records of a slice that have one key and differ; `versions` is a fingerprint of the key and the contents. */
export interface KeyConflict {
  slice: Slice;
  versions: string;
}

/** A row, or why there is none. */
export type StagedRow = { row: Row } | { conflict: KeyConflict };

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
      const met = exclusions.conflictWith(record) ?? overlaps.meet(record);
      if (typeof met === 'object') yield { conflict: { slice, ...met } };
      if (met === 'new') yield { row: toRow(record, syncedAt) };
    }
    if (kept === 0 && exclusions.holdMoreThanTheDay()) throw instantUnclear(ctx, attempt.day);
  }
  own.end();
}

interface Overlaps {
  beginSlice(): void;
  /** `repeated`: another page, or a newer slice, has the record. `versions`: another page has its key with other content. */
  meet(record: JsonObject): 'new' | 'repeated' | Pick<KeyConflict, 'versions'>;
}

/** I1: which records several pages and slices have in common. */
function createOverlaps({ report }: RunContext, keyField: string | undefined, rule: KeyRule): Overlaps {
  // Where the key is none nothing is dropped, but positions may overlap by design: there a record is its content.
  const isDropped = rule !== 'is_none' || report.paging.style === 'position';
  const distinction = (record: JsonObject, content: string) => {
    if (rule === 'identifies') return '';
    return `\n${rule === 'changes' ? ownTimeOf(report, record) : content}`;
  };
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
      const id = fingerprint(key + distinction(record, content));
      if (newer.has(id)) return 'repeated';
      const before = contents.get(id);
      const now = shortFingerprint(content);
      if (before === undefined) {
        contents.set(id, now);
        return 'new';
      }
      if (rule !== 'identifies' || before === now) return 'repeated';
      return { versions: hash('md5', `${key}\n${before}\n${now}`, 'hex') };
    },
  };
}

function ownTimeOf({ day }: ReportDefinition, record: JsonObject): string {
  return day.by === 'created' ? stringifyJson(record[day.field] ?? null) : '';
}

/** The same text for the same fields in any order. */
function contentOf(record: JsonObject): string {
  return stringifyJson(Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))));
}

function everyRecordHasKey(progress: Progress): boolean {
  return progress.slices.every(({ withoutKey }) => withoutKey === 0);
}

const FINGERPRINT_LENGTH = 16;

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
  /** Whether the key of the record, which is not to be left out, is that of one with other content which is. */
  conflictWith(record: JsonObject): Pick<KeyConflict, 'versions'> | undefined;
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
  const keyOf = (record: JsonObject) => fingerprint(primaryKeyOf(record, keyField) ?? '');
  // I1: another record with the key may be the day's, so what is excluded is a content.
  const idOf = (record: JsonObject) => keyOf(record) + fingerprint(contentOf(record));
  for (const part of slice.parts) {
    const inPart = new Set<string>();
    if (part.role === 'include') continue;
    for await (const record of recordsOfPart(ctx, attempt, part)) {
      const id = idOf(record);
      // Pages of one query may overlap.
      if (keyField !== undefined && inPart.has(id)) continue;
      if (keyField !== undefined) inPart.add(id);
      left.set(id, (left.get(id) ?? 0) + (part.role === 'exclude' ? 1 : -1));
    }
  }
  for (const [id, count] of left) {
    if (count <= 0) left.delete(id);
    else if (keyField !== undefined) left.set(id, Number.POSITIVE_INFINITY);
  }
  const keys = new Set(
    keyField === undefined ? [] : [...left.keys()].map((id) => id.slice(0, FINGERPRINT_LENGTH)),
  );
  return {
    consume(record) {
      if (left.size === 0) return false;
      const id = idOf(record);
      const count = left.get(id) ?? 0;
      if (count === 0) return false;
      left.set(id, count - 1);
      met.add(id);
      return true;
    },
    conflictWith(record) {
      if (keys.size === 0 || !keys.has(keyOf(record))) return undefined;
      return { versions: hash('md5', contentOf(record), 'hex') };
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

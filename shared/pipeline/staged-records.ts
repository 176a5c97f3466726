/*
 * Which of a day's staged records are its rows (I1): every record as often as the service has it. Overlaps of pages and of
 * slices are dropped by primary key where every record has one; records of the next day that the end of the range
 * included are excluded, by key and content or else as a multiset; a record with a time or date of its own belongs to
 * that day. Records of one pass that have one key and differ are one that changed meanwhile, or they prove that the field
 * is no key: `build` decides, from a second pass.
 */
import { hash } from 'node:crypto';
import { BrandReportsError } from '../errors.ts';
import { stringifyJson } from '../json.ts';
import type { Slice, SlicePart } from '../lake/documents/progress.ts';
import { attemptPrefix } from '../lake/paths.ts';
import { newestAnswers } from '../planning/newest-answers.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import { contentHashes } from '../records/content-hash.ts';
import { MetRecords } from '../records/met-records.ts';
import { keysOf, ownersAmong } from '../records/record-keys.ts';
import { type RecordList, recordAt } from '../records/record-list.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { Attempt } from './claim.ts';
import type { BuildContext } from './context.ts';
import { type OwnDay, ownDay } from './own-day.ts';
import { readChunk } from './stage.ts';
import { upstreamRecords } from './upstream-records.ts';

/**
 * `identifies`: records with one key are one. `is_none`: it was proven that they are not. `changes`: they are one if they
 * also have the same time of their own, because its content is another one in every response.
 */
export type KeyRule = 'identifies' | 'changes' | 'is_none';

/** What was staged of a day. */
export interface StagedDay {
  day: string;
  /** The oldest first. */
  slices: readonly StagedSlice[];
}

/** A slice, and the prefix of the attempt that has staged it. */
export interface StagedSlice {
  slice: Slice;
  prefix: string;
}

/** All that the attempt has staged so far. */
export async function stagedDay(
  { brand, report }: Pick<BuildContext, 'brand' | 'report'>,
  { day, id, progress }: Pick<Attempt, 'day' | 'id' | 'progress'>,
): Promise<StagedDay> {
  const prefix = attemptPrefix(report.name, brand, day, id);
  const { slices } = await progress.cached();
  return { day, slices: slices.map((slice) => ({ slice, prefix })) };
}

/** Records of a slice that have one key and differ; `versions` is a fingerprint of the key and the contents. */
export interface KeyConflict {
  slice: Slice;
  versions: string;
}

/** The records of a page and which of them are rows, or why that is not known. */
export type StagedRecords =
  | { list: RecordList; kept: Uint8Array; syncedAt: Date }
  | { conflict: KeyConflict };

/**
 * Everything staged, the newest slice first, so that its version of a record is the one that stays.
 * @throws BrandReportsError `contract` where it cannot be decided from the responses which records are the day's
 */
export async function* stagedRecords(
  ctx: BuildContext,
  { day, slices }: StagedDay,
  rule: KeyRule,
): AsyncGenerator<StagedRecords> {
  const keyField = usedKeyField(ctx, slices);
  const rowsOfDay = new RowsOfDay(ctx, day, keyField, rule);
  const done = slices.filter(({ slice }) => slice.done);
  const answersOfSlice = await answersOf(ctx, day, done);
  for (const staged of done.toReversed()) {
    const { slice } = staged;
    const exclusions = await exclusionsOf(ctx, staged, rule === 'identifies' ? keyField : undefined);
    const syncedAt = new Date(slice.startedAt);
    let ofDay = 0;
    rowsOfDay.beginSlice();
    const answers = answersOfSlice();
    for await (const list of pagesOf(ctx, staged, 'include')) {
      const isNewest = answers(list);
      const isExcluded = exclusions.consume(list);
      const found = rowsOfDay.among(list, {
        isDropped: (index) => isExcluded(index) || !isNewest(index),
        conflictWith: exclusions.conflictWith(list),
      });
      ofDay += found.ofDay;
      if (found.conflict) {
        yield { conflict: { slice, ...found.conflict } };
        return;
      }
      yield { list, kept: found.kept, syncedAt };
    }
    if (ofDay === 0 && exclusions.holdMoreThanTheDay()) throw instantUnclear(ctx, day);
  }
  rowsOfDay.end();
}

async function answersOf(
  ctx: BuildContext,
  day: string,
  slices: readonly StagedSlice[],
): Promise<ReturnType<typeof newestAnswers>> {
  const { paging } = ctx.report;
  const newest = slices.at(-1)?.slice;
  if (paging.style !== 'lookup' || !newest || slices.length < 2) return () => () => () => true;
  const upstream = await upstreamRecords(ctx, day, newest, paging.lookup);
  return newestAnswers(paging.lookup.answerField, ownersAmong(upstream));
}

/** The field whose values tell records apart: where some record has none, it is no key. */
export function usedKeyField(
  ctx: Pick<BuildContext, 'report' | 'settings'>,
  slices: readonly StagedSlice[],
): string | undefined {
  return ctx.report.primaryKey?.always || everyRecordHasKey(slices) ? primaryKeyField(ctx) : undefined;
}

/** Decides a page at a time which records are rows, the pages of the newest slice first. */
export class RowsOfDay {
  readonly #own: OwnDay;
  readonly #overlaps: Overlaps;

  constructor(ctx: BuildContext, day: string, keyField: string | undefined, rule: KeyRule) {
    this.#own = ownDay(ctx, day);
    this.#overlaps = createOverlaps(ctx, keyField, rule);
  }

  beginSlice(): void {
    this.#overlaps.beginSlice();
  }

  /**
   * @param isDropped whether a record is none of the day's for another reason
   * @param conflictWith whether a record has the key of one that was dropped, and differs
   * @returns `kept`: a byte per record, 1 for a row; `ofDay`: how many records are the day's, rows or repeated
   */
  among(
    list: RecordList,
    { isDropped, conflictWith }: Partial<RecordFilters> = {},
  ): { kept: Uint8Array; ofDay: number; conflict?: Pick<KeyConflict, 'versions'> } {
    const kept = new Uint8Array(list.count);
    const isOwn = this.#own.has(list);
    const overlapOf = this.#overlaps.meet(list);
    let ofDay = 0;
    for (let index = 0; index < list.count; index += 1) {
      if (isDropped?.(index) || !isOwn(index)) continue;
      ofDay += 1;
      const met = conflictWith?.(index) ?? overlapOf(index);
      if (typeof met === 'object') return { kept, ofDay, conflict: met };
      if (met === 'new') kept[index] = 1;
    }
    return { kept, ofDay };
  }

  /** To be called behind the last record. @throws BrandReportsError `contract` where all dates are other days' */
  end(): void {
    this.#own.end();
  }
}

interface RecordFilters {
  isDropped: (index: number) => boolean;
  conflictWith: (index: number) => Pick<KeyConflict, 'versions'> | undefined;
}

interface Overlaps {
  beginSlice(): void;
  /**
   * By record of a page. `repeated`: another page, or a newer slice, has it. `versions`: another page has its key with
   * other content.
   */
  meet(list: RecordList): (index: number) => 'new' | 'repeated' | Pick<KeyConflict, 'versions'>;
}

/** I1: which records several pages and slices have in common. */
function createOverlaps({ report }: BuildContext, keyField: string | undefined, rule: KeyRule): Overlaps {
  // Where the key is none nothing is dropped, but positions may overlap by design: there a record is its content.
  const isDropped = rule !== 'is_none' || report.paging.style === 'position';
  const distinction = (list: RecordList, index: number) => {
    if (rule === 'identifies') return '';
    return `\n${rule === 'changes' ? ownTimeOf(report, list, index) : contentOf(list, index)}`;
  };
  const records = new MetRecords();
  return {
    beginSlice: () => records.forgetContents(),
    meet(list) {
      if (!isDropped || keyField === undefined) return () => 'new';
      const keys = keysOf(list, keyField);
      const contents = contentHashes(list);
      return (index) => {
        const key = keys[index];
        const content = contents[index] ?? 0;
        if (key === undefined) return 'new';
        const met = records.meet(key + distinction(list, index), content);
        if (met === 'new') return 'new';
        if (rule !== 'identifies' || typeof met === 'string') return 'repeated';
        return { versions: hash('md5', `${key}\n${met}\n${content}`, 'hex') };
      };
    },
  };
}

function ownTimeOf({ day }: ReportDefinition, list: RecordList, index: number): string {
  return day.by === 'created' ? stringifyJson(recordAt(list, index)[day.field] ?? null) : '';
}

/** The same text for the same fields in any order. */
function contentOf(list: RecordList, index: number): string {
  const entries = Object.entries(recordAt(list, index));
  return stringifyJson(Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))));
}

function everyRecordHasKey(slices: readonly StagedSlice[]): boolean {
  return slices.every(({ slice }) => slice.withoutKey === 0);
}

const FINGERPRINT_LENGTH = 16;

function fingerprint(text: string): string {
  return hash('md5', text, 'buffer').toString('latin1');
}

/** The pages of a slice's queries of one role that have records. */
export async function* pagesOf(
  ctx: Pick<BuildContext, 'lake'>,
  { slice, prefix }: StagedSlice,
  role: SlicePart['role'],
): AsyncGenerator<RecordList> {
  for (const part of slice.parts) if (part.role === role) yield* pagesOfPart(ctx, prefix, part);
}

async function* pagesOfPart(
  { lake }: Pick<BuildContext, 'lake'>,
  prefix: string,
  { chunks }: SlicePart,
): AsyncGenerator<RecordList> {
  for (const chunk of chunks) yield* await readChunk(lake.store, prefix, chunk);
}

interface Exclusions {
  /** By record, whether it is to be left out; one exclusion stands for one occurrence, with a primary key for all. */
  consume(list: RecordList): (index: number) => boolean;
  /** By record which is not to be left out, whether its key is that of one with other content which is. */
  conflictWith(list: RecordList): (index: number) => Pick<KeyConflict, 'versions'> | undefined;
  /** Whether some exclusions were used, and others match no record of the day. */
  holdMoreThanTheDay(): boolean;
}

/** The records of the next day that the end of the range included. */
async function exclusionsOf(
  ctx: Pick<BuildContext, 'lake'>,
  { slice, prefix }: StagedSlice,
  keyField: string | undefined,
): Promise<Exclusions> {
  const left = new Map<string, number>();
  const met = new Set<string>();
  // I1: another record with the key may be the day's, so what is excluded is a content.
  const idsOf = (list: RecordList) => {
    const keys = keysOf(list, keyField);
    return (index: number) => fingerprint(keys[index] ?? '') + fingerprint(contentOf(list, index));
  };
  for (const part of slice.parts) {
    const inPart = new Set<string>();
    if (part.role === 'include') continue;
    for await (const list of pagesOfPart(ctx, prefix, part)) {
      const idOf = idsOf(list);
      for (let index = 0; index < list.count; index += 1) {
        const id = idOf(index);
        // Pages of one query may overlap.
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
  const keys = new Set(
    keyField === undefined ? [] : [...left.keys()].map((id) => id.slice(0, FINGERPRINT_LENGTH)),
  );
  return {
    consume(list) {
      if (left.size === 0) return () => false;
      const idOf = idsOf(list);
      return (index) => {
        const id = idOf(index);
        const count = left.get(id) ?? 0;
        if (count === 0) return false;
        left.set(id, count - 1);
        met.add(id);
        return true;
      };
    },
    conflictWith(list) {
      if (keys.size === 0) return () => undefined;
      const found = keysOf(list, keyField);
      return (index) => {
        if (!keys.has(fingerprint(found[index] ?? ''))) return undefined;
        return { versions: hash('md5', contentOf(list, index), 'hex') };
      };
    },
    holdMoreThanTheDay: () => met.size > 0 && met.size < left.size,
  };
}

/** The exclusions contain all records of the day and more: the service did not return records of one instant only. */
function instantUnclear({ report, brandSettings }: BuildContext, day: string): BrandReportsError {
  const setting = report.day.by === 'dates' ? 'endDate' : 'endTime';
  return new BrandReportsError(
    'contract',
    'instant_unclear',
    `${report.name} ${day}: for a query of the day's last instant alone, the service returned all records of the day and more, so which of them belong to the next day is unknown; set "${setting}" (now "${brandSettings[setting]}") to what the service means`,
  );
}

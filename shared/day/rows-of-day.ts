/*
 * Decides which records of a page are rows of the day (I1): every record, as often as the service has it. If every
 * record has a primary key, records that pages or slices share are dropped by that key. A record with a time or date of
 * its own belongs to the day of that time. If two records of a reading have the same key and differ, either the record
 * changed during the reading or the field is not a key: `build` decides that from a second reading.
 */
import { hash } from 'node:crypto';
import { endOfDay, startOfDay } from '../base/days.ts';
import { BrandReportsError } from '../base/errors.ts';
import { exactDay, exactInstant } from '../base/exact-values.ts';
import { type Json, stringifyJson } from '../base/json.ts';
import { contentHashes } from '../records/content-hash.ts';
import { MetRecords, keyHashes } from '../records/met-records.ts';
import { keysOf, type RecordKey, type RecordList, recordAt, valuesOf } from '../records/record-list.ts';
import type { BuildContext } from '../context/context.ts';

/**
 * - `identifies`: Records with the same key are the same record.
 * - `is_none`: It is proven that records with the same key are different records.
 * - `changes`: The content of a record differs in every response, so its key and its own time identify it.
 */
export type KeyRule = 'identifies' | 'changes' | 'is_none';

/** Fingerprint of the key and the contents of records that have the same key and differ. */
export interface Versions {
  versions: string;
}

/** What other staged records show about a record: it does not belong to the day, or a record with its key differs. */
export type Verdict = 'excluded' | Versions | undefined;

/** Decides for one page after another which records are rows. Pages of the newest slice come first. */
export function createRowsOfDay(
  ctx: BuildContext,
  day: string,
  keyField: RecordKey | undefined,
  rule: KeyRule,
) {
  const { report } = ctx;
  const own = ownDay(ctx, day);
  const records = new MetRecords();
  // Without a key no record is dropped. But pages by position may overlap by design: there the content identifies a record.
  const canRepeat = keyField !== undefined && (rule !== 'is_none' || report.paging.style === 'position');
  const distinction = (list: RecordList, index: number) => {
    if (rule === 'identifies') return '';
    if (rule === 'is_none') return `\n${contentOf(list, index)}`;
    const { day } = report;
    return `\n${day.by === 'created' ? stringifyJson(recordAt(list, index)[day.field] ?? null) : ''}`;
  };
  /** By record of a page. `repeated`: another page or a newer slice has the record. */
  const overlapsOf = (list: RecordList): ((index: number) => 'new' | 'repeated' | Versions) => {
    if (!canRepeat) return () => 'new';
    const keys = keysOf(list, keyField);
    const contents = contentHashes(list);
    const hashes = keyHashes(
      keys.map((key, index) => (key === undefined ? '' : key + distinction(list, index))),
    );
    return (index) => {
      const key = keys[index];
      const content = contents[index] ?? 0;
      if (key === undefined) return 'new';
      const met = records.meet(hashes, index, content);
      if (met === 'new') return 'new';
      if (rule !== 'identifies' || typeof met === 'string') return 'repeated';
      return { versions: hash('md5', `${key}\n${met}\n${content}`, 'hex') };
    };
  };
  return {
    /** Begins the next older slice: a newer slice's record replaces a record with the same key, whatever its content. */
    beginSlice: () => records.forgetContents(),
    /**
     * @param verdictOf returns the verdict of each record of the page, by index
     * @returns `kept`: a byte per record, 1 for a row; `ofDay`: how many records belong to the day, rows or repeated;
     * `conflict`: why it is unknown which of the page's records are rows
     */
    among(
      list: RecordList,
      verdictOf: (index: number) => Verdict,
    ): { kept: Uint8Array; ofDay: number; conflict?: Versions } {
      const kept = new Uint8Array(list.count);
      const isOwn = own.has(list);
      const overlapOf = overlapsOf(list);
      let ofDay = 0;
      for (let index = 0; index < list.count; index += 1) {
        const verdict = verdictOf(index);
        if (verdict === 'excluded' || !isOwn(index)) continue;
        ofDay += 1;
        const met = verdict ?? overlapOf(index);
        if (typeof met === 'object') return { kept, ofDay, conflict: met };
        if (met === 'new') kept[index] = 1;
      }
      return { kept, ofDay };
    },
    /** Call it after the last record. @throws BrandReportsError `contract` if all records have dates of other days */
    end: () => own.end(),
  };
}

/** The record as text: the same text for the same fields in any order. */
export function contentOf(list: RecordList, index: number): string {
  const entries = Object.entries(recordAt(list, index));
  return stringifyJson(Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))));
}

type Context = Pick<BuildContext, 'report' | 'policy' | 'brandSettings' | 'log'>;

/**
 * Which records of a page belong to the day by their own time or date; a record without such a value does. Without this
 * rule, the records of a service with other days would be in the partition of the wrong day.
 */
function ownDay(ctx: Context, day: string) {
  const rule = ctx.report.day;
  const field = rule.by === 'created' || rule.by === 'dates' ? rule.field : undefined;
  if (field === undefined) return { has: () => () => true, end: () => {} };
  const { isOwn, end } = rule.by === 'created' ? ownTimes(ctx, day) : ownDates(ctx, day, field);
  const has = (list: RecordList) => {
    const values = valuesOf(list, field);
    return (index: number) => isOwn(values[index]);
  };
  return { has, end };
}

/** The requested range may include more than the day: records at its end belong to the next day. */
function ownTimes({ policy }: Context, day: string) {
  const startMs = startOfDay(day, policy.timeZone);
  const endMs = endOfDay(day, policy.timeZone);
  const isOwn = (value: Json | undefined) => {
    const instant = value === undefined ? undefined : exactInstant(value);
    return instant === undefined || (instant.getTime() >= startMs && instant.getTime() < endMs);
  };
  return { isOwn, end: () => {} };
}

function ownDates(ctx: Context, day: string, field: string) {
  const others = new Map<string, number>();
  let own = 0;
  return {
    isOwn(value: Json | undefined) {
      const date = value === undefined ? undefined : exactDay(value)?.toISOString().slice(0, 10);
      if (date === undefined) return true;
      if (date === day) own += 1;
      else others.set(date, (others.get(date) ?? 0) + 1);
      return date === day;
    },
    end() {
      if (others.size === 0) return;
      const found = [...others].map(([date, records]) => `${records} of ${date}`).sort();
      const more = found.length > 3 ? ` and ${found.length - 3} more dates` : '';
      const shown = `${found.slice(0, 3).join(', ')}${more}`;
      if (own === 0) throw otherDates(ctx, day, field, shown);
      const message = `the response for ${day} also has records whose "${field}" is another day. They are left out, because the query of their own day returns them: ${shown}`;
      ctx.log({ event: 'other_dates_excluded', day, message });
    },
  };
}

function otherDates({ report, brandSettings, policy }: Context, day: string, field: string, shown: string) {
  const message = `${report.name} ${day}: no record of the response has the requested date; by "${field}" there are ${shown}. Compare the settings "timeZone" (now "${policy.timeZone}") and "endDate" (now "${brandSettings.endDate}") with the brand's dashboard`;
  return new BrandReportsError('contract', 'other_dates', message);
}

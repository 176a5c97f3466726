/*
 * Decides which records of a page are rows of the day (I1): every record as often as the service has it. Overlaps of
 * pages and of slices are dropped by primary key if every record has one. A record with a time or date of its own belongs
 * to that day. If two records of one reading have one key and differ, either the record changed meanwhile or the field is
 * no key: `build` decides, from a second reading.
 */
import { hash } from 'node:crypto';
import { stringifyJson } from '../json.ts';
import { contentHashes } from '../records/content-hash.ts';
import { MetRecords } from '../records/met-records.ts';
import { keysOf } from '../records/record-keys.ts';
import { type RecordList, recordAt } from '../records/record-list.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { BuildContext } from '../context/context.ts';
import { ownDay } from './own-day.ts';

/**
 * `identifies`: records with one key are one. `is_none`: it was proven that they are not. `changes`: they are one if they
 * also have the same time of their own, because its content is another one in every response.
 */
export type KeyRule = 'identifies' | 'changes' | 'is_none';

/** Fingerprint of the key and the contents of records that have one key and differ. */
export interface Versions {
  versions: string;
}

/** What other staged records show of a record: that it is not the day's, or that one with its key differs. */
export type Verdict = 'excluded' | Versions | undefined;

export interface RowsOfDay {
  /** Begins the next older slice: a record of a newer one replaces it, whatever its content. */
  beginSlice(): void;
  /**
   * @param verdictOf by record of the page
   * @returns `kept`: a byte per record, 1 for a row; `ofDay`: how many records are the day's, rows or repeated;
   * `conflict`: why it is not known which of the page's records are rows
   */
  among(
    list: RecordList,
    verdictOf: (index: number) => Verdict,
  ): { kept: Uint8Array; ofDay: number; conflict?: Versions };
  /** To be called after the last record. @throws BrandReportsError `contract` if all dates are other days' */
  end(): void;
}

/** Decides a page at a time which records are rows, the pages of the newest slice first. */
export function createRowsOfDay(
  ctx: BuildContext,
  day: string,
  keyField: string | undefined,
  rule: KeyRule,
): RowsOfDay {
  const { report } = ctx;
  const own = ownDay(ctx, day);
  const records = new MetRecords();
  // If the key is none nothing is dropped, but positions may overlap by design: there a record is its content.
  const canRepeat = keyField !== undefined && (rule !== 'is_none' || report.paging.style === 'position');
  const distinction = (list: RecordList, index: number) => {
    if (rule === 'identifies') return '';
    return `\n${rule === 'changes' ? ownTimeOf(report, list, index) : contentOf(list, index)}`;
  };
  /** By record of a page. `repeated`: another page, or a newer slice, has it. */
  const overlapsOf = (list: RecordList): ((index: number) => 'new' | 'repeated' | Versions) => {
    if (!canRepeat) return () => 'new';
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
  };
  return {
    beginSlice: () => records.forgetContents(),
    among(list, verdictOf) {
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
    end: () => own.end(),
  };
}

function ownTimeOf({ day }: ReportDefinition, list: RecordList, index: number): string {
  return day.by === 'created' ? stringifyJson(recordAt(list, index)[day.field] ?? null) : '';
}

/** The same text for the same fields in any order. */
export function contentOf(list: RecordList, index: number): string {
  const entries = Object.entries(recordAt(list, index));
  return stringifyJson(Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))));
}

import { hash } from 'node:crypto';
import { type Json, type JsonObject, type RawNumber, isRawNumber, stringifyJson } from '../../json.ts';
import { BrandReportsError } from '../../errors.ts';
import type { ReportService } from '../../ports.ts';
import type { RecordList } from '../../records/record-list.ts';
import { writtenList, writtenRecord } from '../../records/written-bytes.ts';
import type { Paging } from '../../reports/definition.ts';

/** What selects a page: a position, a page number or the service's own cursor, sent back verbatim. */
export type Cursor = string | number | RawNumber;

/** What is needed to request the pages of a pass. */
export interface PageRequest {
  service: ReportService;
  action: string;
  paging: Paging;
  /** Records requested per page. */
  pageSize: number;
  /** The first `page_number`. */
  firstPage: number;
  /** The action's own fields, without those of paging. */
  fields: JsonObject;
  /** The field that identifies a record, where every record has it. */
  primaryKey?: string;
  /** The field that may identify a record: it does on a page where every record has a value of its own. */
  keyHint?: string;
}

/** A fetched page. */
export interface Page {
  /** The cursor of this page; `null` for the first one. */
  cursor: Cursor | null;
  records: RecordList;
  /** The cursor of the next page; `null` where the end of the pass is proven. */
  next: Cursor | null;
  /** Hash of the records, in their order. */
  hash: string;
  /** Whether it says nothing of a next page: of the cursor style, and without any `cursor`. */
  lacksCursor: boolean;
  /**
   * Short hash that identifies a page within its pass: of its cursor; of its records where it is a numbered page, or
   * the first one, which has no cursor.
   */
  seen: string;
}

/** Where an interrupted pass resumes. */
export interface Resume {
  /** `next` of the last page that was kept; `null` where none was. */
  cursor: Json;
  /** `seen` of every page that was kept. */
  seen: readonly string[];
  /** The last page that was kept. */
  last?: { cursor: Json; hash: string };
}

/** Whether a JSON value has the form of a cursor. */
export function isCursor(value: Json | undefined): value is Cursor {
  return typeof value === 'string' || typeof value === 'number' || isRawNumber(value);
}

/** A cursor that was stored as JSON. */
export function storedCursor(stored: Json): Cursor | null {
  if (stored === null || isCursor(stored)) return stored;
  throw new BrandReportsError(
    'bug',
    'bad_cursor',
    `a stored cursor is text or a number, not ${stringifyJson(stored)}`,
  );
}

/** As text. Processors have instructions for SHA-256, so for a page it is quicker than any hash of our own. */
function hashOfBytes(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64url');
}

/** Hash of records, which depends on their order and not on how the service prints JSON. */
export function hashOf(records: RecordList): string {
  return hashOfBytes(writtenList(records)).slice(0, LENGTH);
}

/** Of a record: 66 bits as text. */
export function shortHashOf(records: RecordList, index: number): string {
  return hashOfBytes(writtenRecord(records, index)).slice(0, SHORT_LENGTH);
}

/** 132 and 66 bits as text. */
const LENGTH = 22;
const SHORT_LENGTH = 11;

/** 66 bits as text: short enough to keep one of every page in the progress document. */
export function shortHash(value: Json): string {
  return hashOfBytes(Buffer.from(stringifyJson(value))).slice(0, SHORT_LENGTH);
}

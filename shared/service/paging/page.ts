import { hash } from 'node:crypto';
import {
  type Json,
  type JsonObject,
  type RawNumber,
  isCanonicalInteger,
  isJsonObject,
  isRawNumber,
  numberText,
  parseJson,
  stringifyJson,
} from '../../base/json.ts';
import { BrandReportsError } from '../../base/errors.ts';
import type { ReportService } from '../../ports.ts';
import type { RecordKey, RecordList } from '../../records/record-list.ts';
import { writtenList, writtenRecord } from '../../records/written-bytes.ts';
import type { Paging } from '../../reports/definition.ts';
import { contractError, describeKind } from '../envelope.ts';

/** What selects a page: a position, a page number or the service's own cursor, sent back verbatim. */
export type Cursor = string | number | RawNumber;

export type PagedStyle = Exclude<Paging, { style: 'lookup' }>;

export interface PageRequest {
  service: ReportService;
  action: string;
  paging: PagedStyle;
  pageSize: number;
  firstPage: number;
  /** The action's own fields, without those of paging. */
  fields: JsonObject;
  /** The fields that may identify a record: they do on a page on which every record has its own value. */
  key?: RecordKey;
}

export interface Page {
  /** The cursor of this page; `null` for the first one. */
  cursor: Cursor | null;
  records: RecordList;
  /** The cursor of the next page; `null` if the end of the read is proven. */
  next: Cursor | null;
  hash: string;
  /** Whether the page of a cursor-style report has no `cursor` at all: it shows neither a next page nor an end. */
  lacksCursor: boolean;
  /** Identifies a page within its read: the hash of its cursor; of a numbered page and of the first page `hash`. */
  seen: string;
  /** Only of a page by position: a hash of the key of its last record, if that record has one. */
  lastKey?: string;
  /** I11: whether records may have been skipped beside the page, because the list may have shifted between two requests. */
  mayHaveGap?: boolean;
}

export interface Resume {
  /** `next` of the last page that was kept; `null` if no page was kept. */
  cursor: Json;
  seen: readonly string[];
  last?: { cursor: Json; hash: string; lastKey?: string | undefined };
}

export function isCursor(value: Json | undefined): value is Cursor {
  return typeof value === 'string' || typeof value === 'number' || isRawNumber(value);
}

export function storedCursor(stored: Json): Cursor | null {
  if (stored === null || isCursor(stored)) return stored;
  const message = `a stored cursor is text or a number, not ${stringifyJson(stored)}`;
  throw new BrandReportsError('bug', 'bad_cursor', message);
}

/**
 * 66 bits of the hash as text: short enough to keep the hash of every page in the progress document. Processors have
 * instructions for SHA-256, so for a page it is faster than any hash of our own.
 */
function hashOfBytes(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64url').slice(0, 11);
}

/** Hash of records. It depends on their order, not on how the service formats JSON. */
export function hashOf(records: RecordList): string {
  return hashOfBytes(writtenList(records));
}

export function hashOfRecord(records: RecordList, index: number): string {
  return hashOfBytes(writtenRecord(records, index));
}

export function hashOfCursor(cursor: Cursor): string {
  return hashOfBytes(Buffer.from(stringifyJson(cursor)));
}

interface ReceivedPage {
  envelope: JsonObject;
  data: JsonObject;
  count: number;
  cursor: Cursor | null;
  lastKey?: string | undefined;
}

interface Style {
  fields(cursor: Cursor | null): JsonObject;
  /** The cursor of the next page; `null` at the style's terminal sign. @throws BrandReportsError `contract` */
  next(page: ReceivedPage): Cursor | null;
}

export function styleOf({ service, action, paging, pageSize, firstPage }: PageRequest): Style {
  switch (paging.style) {
    case 'position':
      return {
        fields: (cursor) => ({ first: cursor ?? 0, [paging.pageSize.field]: pageSize }),
        next: (page) => nextPosition(action, page),
      };
    case 'numbered': {
      const { fixedFields } = paging;
      return {
        fields: (cursor) => ({
          ...fixedFields,
          page_number: cursor ?? firstPage,
          [paging.pageSize.field]: pageSize,
        }),
        // I8: a short page is not the end; only an empty page is.
        next: ({ count, cursor }) => (count === 0 ? null : Number(cursor ?? firstPage) + 1),
      };
    }
    case 'cursor':
      return {
        fields: (cursor) => ({ ...(cursor !== null && { cursor }), [paging.pageSize.field]: pageSize }),
        next: (page) => nextCursor(service, action, page, paging.countField),
      };
  }
}

/**
 * I8: without a well-formed `pageInfo` the end is not proven. A position right after the page is requested one less: the
 * next page then begins with the last record of this one, or shows that the list has shifted (I11).
 */
function nextPosition(
  action: string,
  { data: { pageInfo }, count, cursor, lastKey }: ReceivedPage,
): Cursor | null {
  if (!isJsonObject(pageInfo) || typeof pageInfo.hasNextPage !== 'boolean') {
    const found = isJsonObject(pageInfo)
      ? `hasNextPage is ${describeKind(pageInfo.hasNextPage)}`
      : `it is ${describeKind(pageInfo)}`;
    throw contractError(action, 'page_info', `"data.pageInfo" needs hasNextPage, true or false; ${found}`);
  }
  const { hasNextPage, endCursor } = pageInfo;
  if (!hasNextPage) return null;
  if (!isCursor(endCursor) || endCursor === '') {
    const found = endCursor === '' ? 'empty' : describeKind(endCursor);
    const message = `hasNextPage is true, so endCursor needs a position; it is ${found}`;
    throw contractError(action, 'page_info', message);
  }
  const isInteger = typeof endCursor === 'string' && isCanonicalInteger(endCursor);
  const integer = isInteger ? parseJson(endCursor) : endCursor;
  const from = cursor ?? 0;
  // Without a key, the shared record would be in the day twice. A page of one record cannot share it and still go on.
  const canOverlap = typeof from === 'number' && count > 1 && lastKey !== undefined;
  if (typeof integer === 'number' && canOverlap && integer === from + count) return integer - 1;
  return isCursor(integer) ? integer : endCursor;
}

/** I8: null, a missing and an empty cursor all mean the end. Any other value that is not a cursor is an error. */
function nextCursor(
  service: ReportService,
  action: string,
  { envelope, data, count: records }: ReceivedPage,
  countField: string | undefined,
): Cursor | null {
  const count = countField === undefined ? undefined : numberText(data[countField]);
  if (count !== undefined && count !== String(records)) {
    const message = `"data" has ${service.quote(`"${countField}": ${count}`)}, but the list has ${records} records; report it to the service's operator`;
    throw contractError(action, 'count_mismatch', message);
  }
  const cursor = cursorOf(envelope, data);
  if (cursor === undefined || cursor === null || cursor === '') return null;
  if (isCursor(cursor)) return cursor;
  const message = `"cursor" is ${describeKind(cursor)}; text, a number or null is expected`;
  throw contractError(action, 'bad_cursor', message);
}

export function cursorOf(envelope: JsonObject, data: JsonObject): Json | undefined {
  return Object.hasOwn(data, 'cursor') ? data.cursor : envelope.cursor;
}

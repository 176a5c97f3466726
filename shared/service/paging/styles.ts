import { BrandReportsError } from '../../errors.ts';
import {
  type Json,
  type JsonObject,
  isCanonicalInteger,
  isJsonObject,
  numberText,
  parseJson,
} from '../../json.ts';
import type { ReportService } from '../../ports.ts';
import { contractError, describeKind } from '../records.ts';
import { type Cursor, type PageRequest, isCursor, shortHash } from './page.ts';

interface ReceivedPage {
  envelope: JsonObject;
  data: JsonObject;
  /** How many records it has. */
  count: number;
  /** Its cursor. */
  cursor: Cursor | null;
}

/** What differs between the paging styles: how a page is requested, and how the next one is found. */
interface Style {
  /** The request fields that select a page. */
  fields(cursor: Cursor | null): JsonObject;
  /** The cursor of the next page; `null` at the style's terminal sign. @throws BrandReportsError `contract` */
  next(page: ReceivedPage): Cursor | null;
  /** `lacksCursor` of a page. */
  lacksCursor(page: ReceivedPage): boolean;
  /** `seen` of a page. */
  seen(cursor: Cursor | null, recordsHash: string): string;
}

/** @throws BrandReportsError `bug` for a report without pages */
export function styleOf({ service, action, paging, pageSize, firstPage }: PageRequest): Style {
  switch (paging.style) {
    case 'position':
      return {
        fields: (cursor) => ({ first: cursor ?? 0, [paging.pageSize.field]: pageSize }),
        next: ({ data }) => nextPosition(action, data.pageInfo),
        lacksCursor: () => false,
        seen: (cursor, recordsHash) => shortHash(cursor ?? recordsHash),
      };
    case 'numbered': {
      const { fixedFields } = paging;
      return {
        fields: (cursor) => ({
          ...fixedFields,
          page_number: cursor ?? firstPage,
          [paging.pageSize.field]: pageSize,
        }),
        // I8: a short page is not the end; only an empty one is.
        next: ({ count, cursor }) => (count === 0 ? null : Number(cursor ?? firstPage) + 1),
        lacksCursor: () => false,
        seen: (_cursor, recordsHash) => shortHash(recordsHash),
      };
    }
    case 'cursor':
      return {
        fields: (cursor) => ({ ...(cursor !== null && { cursor }), [paging.pageSize.field]: pageSize }),
        next: (page) => nextCursor(service, action, page, paging.countField),
        lacksCursor: ({ envelope, data }) => cursorOf(envelope, data) === undefined,
        seen: (cursor, recordsHash) => shortHash(cursor ?? recordsHash),
      };
    case 'lookup':
      throw new BrandReportsError('bug', 'not_paged', `${action} has no pages`);
  }
}

/** I8: without a well-formed `pageInfo` the end is not proven. */
function nextPosition(action: string, pageInfo: Json | undefined): Cursor | null {
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
    throw contractError(
      action,
      'page_info',
      `hasNextPage is true, so endCursor needs a position; it is ${found}`,
    );
  }
  const isInteger = typeof endCursor === 'string' && isCanonicalInteger(endCursor);
  const integer = isInteger ? parseJson(endCursor) : endCursor;
  return isCursor(integer) ? integer : endCursor;
}

/** I8: `null`, absent and empty all mean the end; anything else that is not a cursor is a failure. */
function nextCursor(
  service: ReportService,
  action: string,
  { envelope, data, count: records }: ReceivedPage,
  countField: string | undefined,
): Cursor | null {
  const count = countField === undefined ? undefined : numberText(data[countField]);
  if (count !== undefined && count !== String(records)) {
    const message = `"data.${countField}" says ${service.quote(count)} records, the list has ${records}: one of them is wrong`;
    throw contractError(action, 'count_mismatch', message);
  }
  const cursor = cursorOf(envelope, data);
  if (cursor === undefined || cursor === null || cursor === '') return null;
  if (isCursor(cursor)) return cursor;
  throw contractError(
    action,
    'bad_cursor',
    `"cursor" is ${describeKind(cursor)}; text, a number or null is expected`,
  );
}

function cursorOf(envelope: JsonObject, data: JsonObject): Json | undefined {
  return Object.hasOwn(data, 'cursor') ? data.cursor : envelope.cursor;
}

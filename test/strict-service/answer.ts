import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../shared/json.ts';
import type { Held, Holdings } from './data.ts';
import { addDays, dayOfCompact, firstInstant } from './days.ts';
import type { Position, Reading } from './readings.ts';
import { type Fields, Refusal, type SignedCall } from './refuse.ts';

/** What is asked of a brand's holdings at one moment. */
interface Asked {
  call: SignedCall;
  reading: Reading;
  timeZone: string;
  visible: (table: keyof Holdings) => Held[];
  /** Cursors given out under another number are dead. */
  generation: number;
}

/** A page before it takes its shape. `next` is where the one after begins; a fault may bend it. */
export interface Page {
  records: JsonObject[];
  offset: number;
  /** How many records a page holds when it is full. */
  size: number;
  next: number | undefined;
}

interface Action {
  find: (asked: Asked) => Page;
  shape: (page: Page, asked: Asked) => { data: JsonObject; beside?: JsonObject };
}

export const answers: Readonly<Record<string, Action>> = {
  'report/clicks_list': { find: findClicks, shape: shapeClicks },
  'report/clicks_detail': { find: findDetail, shape: shapeDetail },
  'report/order_list': { find: findOrders, shape: shapeOrders },
  'report/transaction_list': {
    find: findByCursor('transactions'),
    shape: shapeTransactions,
  },
  'report/amazon_attribution_report': {
    find: findByCursor('attribution'),
    shape: shapeAttribution,
  },
};

/** The records that the service puts on a page when `asked` are asked for. */
export function servedPerPage(asked: number, reading: Reading): number {
  return reading.pages === 'capped' ? Math.min(asked, Math.ceil(asked / 2)) : asked;
}

const filters = [
  'publisher_id',
  'channel_id',
  'status',
  'type',
  'order_status',
  'sku_status',
  'transaction_type',
  'amazon_country',
  'amazon_brand',
  'order_id',
  'sku',
  'group_id',
  'publisher_uid',
  'country_code',
  'asin',
];

/** The held records that pass the call's filters. */
export function filtered(held: readonly Held[], fields: Record<string, unknown>): Held[] {
  const wanted = filters.filter((name) => fields[name] !== undefined);
  return held.filter(({ record }) => wanted.every((name) => String(record[name]) === String(fields[name])));
}

function pageOf(records: readonly Held[], offset: number, size: number): Page {
  const end = offset + size;
  return {
    records: records.slice(offset, end).map(({ record }) => record),
    offset,
    size,
    next: end < records.length ? end : undefined,
  };
}

function sizeOf(asked: Asked, field: 'page_size' | 'limit'): number {
  return servedPerPage(Number(asked.call.fields[field] ?? (field === 'limit' ? 100 : 20)), asked.reading);
}

function byTimestamps({ call, reading, visible }: Asked, table: keyof Holdings): Held[] {
  const unit = reading.timestampUnit === 'seconds' ? 1000 : 1;
  const { start_time, end_time } = call.fields;
  const start = start_time === undefined ? Number.NEGATIVE_INFINITY : Number(start_time) * unit;
  const end = end_time === undefined ? Number.POSITIVE_INFINITY : Number(end_time) * unit;
  const within = visible(table).filter(
    ({ at }) => at >= start && (at < end || (at === end && reading.endTime === 'inclusive')),
  );
  return filtered(within, call.fields);
}

/** Newest first, as a log is shown. */
function findClicks(asked: Asked): Page {
  const newestFirst = byTimestamps(asked, 'clicks').toReversed();
  const size = sizeOf(asked, 'page_size');
  const page = pageOf(newestFirst, startOf(asked.call.fields.first, asked.reading), size);
  const pretends = asked.reading.hasNextPage === 'full page' && page.records.length === size;
  return pretends ? { ...page, next: page.offset + size } : page;
}

const digits = (text: string) => (/^\d+$/.test(text) ? Number(text) : undefined);
const far = 10n ** 19n;

/** How a position is told (`next`: 0-based, of the record after the page) and what `first` makes of one. */
const positions: Record<
  Position,
  { tell: (next: number) => string; start: (first: bigint | string) => number | undefined }
> = {
  next: { tell: String, start: Number },
  'last from 0, again': { tell: (next) => String(next - 1), start: Number },
  'last from 0, after it': { tell: (next) => String(next - 1), start: (first) => Number(first) + 1 },
  'last from 1, again': { tell: String, start: (first) => Number(first) - 1 },
  padded: {
    tell: (next) => String(next).padStart(12, '0'),
    start: (first) => (typeof first === 'string' && first.length === 12 ? digits(first) : undefined),
  },
  opaque: {
    tell: (next) => Buffer.from(`after:${next}`).toString('base64'),
    start: (first) =>
      digits(
        Buffer.from(String(first), 'base64')
          .toString()
          .replace(/^after:/, ''),
      ),
  },
  'beyond 2^53': {
    tell: (next) => String(far + BigInt(next)),
    start: (first) => (typeof first === 'bigint' && first >= far ? Number(first - far) : undefined),
  },
};

function startOf(first: bigint | string | undefined, reading: Reading): number {
  if (first === undefined || first === 0n) return 0;
  const start = positions[reading.position].start(first);
  if (start === undefined) throw new Refusal(`first is no position that was given: ${first}`);
  return start;
}

function shapeClicks(page: Page, { reading }: Asked): { data: JsonObject } {
  const end = page.next ?? page.offset + page.records.length;
  const endCursor = page.records.length === 0 ? '' : positions[reading.position].tell(end);
  return { data: { pageInfo: { hasNextPage: page.next !== undefined, endCursor }, list: page.records } };
}

function findDetail({ call, visible }: Asked): Page {
  const { id, pbtid } = call.fields;
  const named = ({ record }: Held) =>
    (id === undefined || record.id === String(id)) && (pbtid === undefined || record.pbtid === String(pbtid));
  const detail = visible('clicks').find(named)?.detail;
  if (!detail) throw new Refusal(`no click with id ${id} and pbtid ${pbtid}`);
  return { records: [detail], offset: 0, size: 1, next: undefined };
}

function shapeDetail({ records: [record = {}] }: Page, { reading }: Asked): { data: JsonObject } {
  const shapes: Record<Reading['detail'], JsonObject> = {
    record,
    list: { list: [record] },
    wrapped: { click: record },
  };
  return { data: shapes[reading.detail] };
}

const digitsOf = (value: Json | undefined) => BigInt(JSON.stringify(value) ?? '0');
const textOf = (value: Json | undefined) => JSON.stringify(value) ?? '';

function findOrders(asked: Asked): Page {
  const { page_number, sort_dir = 'desc', sort_col = 'transid' } = asked.call.fields;
  const direction = sort_dir === 'asc' ? 1 : -1;
  const sorted = byTimestamps(asked, 'orders').toSorted(({ record: a }, { record: b }) =>
    sort_col === 'transid'
      ? direction *
        (digitsOf(a.transid) < digitsOf(b.transid) ? -1 : digitsOf(a.transid) > digitsOf(b.transid) ? 1 : 0)
      : direction * textOf(a[String(sort_col)]).localeCompare(textOf(b[String(sort_col)])),
  );
  const size = sizeOf(asked, 'page_size');
  const wanted = (Number(page_number ?? asked.reading.firstPage) - asked.reading.firstPage) * size;
  const last = Math.max(0, Math.ceil(sorted.length / size) - 1) * size;
  return pageOf(sorted, asked.reading.pastEnd === 'repeat' ? Math.min(wanted, last) : wanted, size);
}

function shapeOrders({ records }: Page, { reading }: Asked): { data: JsonObject } {
  return { data: { [reading.listKey]: records, shown: records.length } };
}

function byDates({ call, reading, timeZone, visible }: Asked, table: keyof Holdings): Held[] {
  const midnight = (field: keyof Fields, daysLater = 0) => {
    const day = dayOfCompact(String(call.fields[field] ?? ''));
    return day === undefined ? undefined : firstInstant(addDays(day, daysLater), timeZone);
  };
  const start = midnight('start_date') ?? Number.NEGATIVE_INFINITY;
  const end = midnight('end_date', reading.endDate === 'whole_day' ? 1 : 0) ?? Number.POSITIVE_INFINITY;
  const within = visible(table).filter(
    ({ at }) => at >= start && (at < end || (at === end && reading.endDate === 'midnight, included')),
  );
  return filtered(within, call.fields);
}

/** A cursor is good for what it was given for, and for nothing else. */
function cursorFor(asked: Asked, next: number): string {
  const { cursor: _cursor, limit: _limit, ...query } = asked.call.fields;
  const about = createHash('sha256')
    .update(
      `${asked.call.account.bid} ${asked.call.action} ${JSON.stringify(Object.entries(query).map(String).sort())}`,
    )
    .digest('base64url')
    .slice(0, 8);
  return Buffer.from(`${asked.generation}.${about}.${next}`).toString('base64');
}

function findByCursor(table: 'transactions' | 'attribution'): (asked: Asked) => Page {
  return (asked) => {
    const cursor = String(asked.call.fields.cursor ?? '');
    const offset = cursor === '' ? 0 : digits(Buffer.from(cursor, 'base64').toString().split('.')[2] ?? '');
    if (offset === undefined || (cursor !== '' && cursor !== cursorFor(asked, offset)))
      throw new Refusal('cursor is not known');
    return pageOf(byDates(asked, table), offset, sizeOf(asked, 'limit'));
  };
}

function cursorFields(page: Page, asked: Asked): JsonObject {
  if (page.next !== undefined) return { cursor: cursorFor(asked, page.next) };
  const ends: Record<Reading['cursorEnd'], JsonObject> = {
    null: { cursor: null },
    absent: {},
    empty: { cursor: '' },
  };
  return ends[asked.reading.cursorEnd];
}

function shapeTransactions(page: Page, asked: Asked): { data: JsonObject; beside?: JsonObject } {
  const list = { [asked.reading.listKey]: page.records };
  const cursor = cursorFields(page, asked);
  return asked.reading.cursorAt === 'top' ? { data: list, beside: cursor } : { data: { ...list, ...cursor } };
}

function shapeAttribution(page: Page, asked: Asked): { data: JsonObject } {
  return { data: { list: page.records, count: page.records.length, ...cursorFields(page, asked) } };
}

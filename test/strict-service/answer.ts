import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../shared/base/json.ts';
import { addDays, dayOfCompact, firstInstant } from './days.ts';
import type { Position, Interpretation } from './interpretations.ts';
import { type Fields, Refusal, type SignedCall } from './refuse.ts';

/** A record of the service, with its instant in ms (attribution: the first instant of its day). */
export interface Held {
  at: number;
  record: JsonObject;
  /** The response of report/clicks_detail for a click. */
  detail?: JsonObject;
}

type Table = 'clicks' | 'orders' | 'transactions' | 'attribution';

/** Which cursors are alive, and how the service responds to a dead cursor. */
export interface CursorRules {
  /** Cursors of another generation are dead. */
  generation: number;
  dead: 'refused' | 'empty' | 'first page';
}

/** A checked call, with everything needed to answer it. */
interface ServedCall {
  call: SignedCall;
  interpretation: Interpretation;
  timeZone: string;
  visible: (table: Table) => Held[];
  cursors: CursorRules;
}

/** A page before it is shaped into a response. `next` is the offset of the next page; a fault may change it. */
export interface Page {
  records: JsonObject[];
  offset: number;
  /** How many records a full page has. */
  size: number;
  next: number | undefined;
}

interface Action {
  find: (served: ServedCall) => Page;
  shape: (page: Page, served: ServedCall) => { data: JsonObject; envelopeFields?: JsonObject };
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

/** How many records the service puts on a page for a requested page size. */
export function servedPerPage(requested: number, interpretation: Interpretation): number {
  return interpretation.pages === 'capped' ? Math.min(requested, Math.ceil(requested / 2)) : requested;
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

/** The stored records that match the call's filters. */
function filtered(held: readonly Held[], fields: Record<string, unknown>): Held[] {
  const set = filters.filter((name) => fields[name] !== undefined);
  return held.filter(({ record }) => set.every((name) => String(record[name]) === String(fields[name])));
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

function sizeOf(served: ServedCall, field: 'page_size' | 'limit'): number {
  return servedPerPage(
    Number(served.call.fields[field] ?? (field === 'limit' ? 100 : 20)),
    served.interpretation,
  );
}

function byTimestamps({ call, interpretation, visible }: ServedCall, table: Table): Held[] {
  const unit = interpretation.timestampUnit === 'seconds' ? 1000 : 1;
  const { start_time, end_time } = call.fields;
  const start = start_time === undefined ? Number.NEGATIVE_INFINITY : Number(start_time) * unit;
  const end = end_time === undefined ? Number.POSITIVE_INFINITY : Number(end_time) * unit;
  const within = visible(table).filter(
    ({ at }) => at >= start && (at < end || (at === end && interpretation.endTime === 'inclusive')),
  );
  return filtered(within, call.fields);
}

/** The newest click first, as in a log. */
function findClicks(served: ServedCall): Page {
  const newestFirst = byTimestamps(served, 'clicks').toReversed();
  const size = sizeOf(served, 'page_size');
  const page = pageOf(newestFirst, startOf(served.call.fields.first, served.interpretation), size);
  const pretends = served.interpretation.hasNextPage === 'full page' && page.records.length === size;
  return pretends ? { ...page, next: page.offset + size } : page;
}

const digits = (text: string) => (/^\d+$/.test(text) ? Number(text) : undefined);
const far = 10n ** 19n;

/** How `endCursor` is written (`next`: 0-based offset of the record after the page) and the offset at which a `first` starts. */
const positions: Record<
  Position,
  { write: (next: number) => string; start: (first: bigint | string) => number | undefined }
> = {
  next: { write: String, start: Number },
  'last from 0, again': { write: (next) => String(next - 1), start: Number },
  'last from 0, after it': { write: (next) => String(next - 1), start: (first) => Number(first) + 1 },
  'last from 1, again': { write: String, start: (first) => Number(first) - 1 },
  padded: {
    write: (next) => String(next).padStart(12, '0'),
    start: (first) => (typeof first === 'string' && first.length === 12 ? digits(first) : undefined),
  },
  opaque: {
    write: (next) => Buffer.from(`after:${next}`).toString('base64'),
    start: (first) =>
      digits(
        Buffer.from(String(first), 'base64')
          .toString()
          .replace(/^after:/, ''),
      ),
  },
  'beyond 2^53': {
    write: (next) => String(far + BigInt(next)),
    start: (first) => (typeof first === 'bigint' && first >= far ? Number(first - far) : undefined),
  },
};

function startOf(first: bigint | string | undefined, interpretation: Interpretation): number {
  if (first === undefined || first === 0n) return 0;
  const start = positions[interpretation.position].start(first);
  if (start === undefined) throw new Refusal(`first is not a position that was given: ${first}`);
  return start;
}

function shapeClicks(page: Page, { interpretation }: ServedCall): { data: JsonObject } {
  const end = page.next ?? page.offset + page.records.length;
  const endCursor = page.records.length === 0 ? '' : positions[interpretation.position].write(end);
  return { data: { pageInfo: { hasNextPage: page.next !== undefined, endCursor }, list: page.records } };
}

function findDetail({ call, visible }: ServedCall): Page {
  const { id, pbtid } = call.fields;
  const named = ({ record }: Held) =>
    (id === undefined || record.id === String(id)) && (pbtid === undefined || record.pbtid === String(pbtid));
  const detail = visible('clicks').find(named)?.detail;
  if (!detail) throw new Refusal(`no click with id ${id} and pbtid ${pbtid}`);
  return { records: [detail], offset: 0, size: 1, next: undefined };
}

function shapeDetail({ records: [record = {}] }: Page, { interpretation }: ServedCall): { data: JsonObject } {
  const shapes: Record<Interpretation['detail'], JsonObject> = {
    record,
    list: { list: [record] },
    wrapped: { click: record },
  };
  return { data: shapes[interpretation.detail] };
}

const digitsOf = (value: Json | undefined) => BigInt(JSON.stringify(value) ?? '0');
const textOf = (value: Json | undefined) => JSON.stringify(value) ?? '';

function findOrders(served: ServedCall): Page {
  const { page_number, sort_dir = 'desc', sort_col = 'transid' } = served.call.fields;
  const direction = sort_dir === 'asc' ? 1 : -1;
  const sorted = byTimestamps(served, 'orders').toSorted(({ record: a }, { record: b }) =>
    sort_col === 'transid'
      ? direction *
        (digitsOf(a.transid) < digitsOf(b.transid) ? -1 : digitsOf(a.transid) > digitsOf(b.transid) ? 1 : 0)
      : direction * textOf(a[String(sort_col)]).localeCompare(textOf(b[String(sort_col)])),
  );
  const size = sizeOf(served, 'page_size');
  const wanted =
    (Number(page_number ?? served.interpretation.firstPage) - served.interpretation.firstPage) * size;
  const last = Math.max(0, Math.ceil(sorted.length / size) - 1) * size;
  return pageOf(sorted, served.interpretation.pastEnd === 'repeat' ? Math.min(wanted, last) : wanted, size);
}

function shapeOrders({ records }: Page, { interpretation }: ServedCall): { data: JsonObject } {
  return { data: { [interpretation.listKey]: records, shown: records.length } };
}

function byDates({ call, interpretation, timeZone, visible }: ServedCall, table: Table): Held[] {
  const midnight = (field: keyof Fields, daysLater = 0) => {
    const day = dayOfCompact(String(call.fields[field] ?? ''));
    return day === undefined ? undefined : firstInstant(addDays(day, daysLater), timeZone);
  };
  const start = midnight('start_date') ?? Number.NEGATIVE_INFINITY;
  const end =
    midnight('end_date', interpretation.endDate === 'whole_day' ? 1 : 0) ?? Number.POSITIVE_INFINITY;
  const within = visible(table).filter(
    ({ at }) => at >= start && (at < end || (at === end && interpretation.endDate === 'midnight, included')),
  );
  return filtered(within, call.fields);
}

/** A cursor is valid only for the query that it was given for. */
function queryHashOf({ call }: ServedCall): string {
  const { cursor: _cursor, limit: _limit, ...query } = call.fields;
  return createHash('sha256')
    .update(`${call.account.bid} ${call.action} ${JSON.stringify(Object.entries(query).map(String).sort())}`)
    .digest('base64url')
    .slice(0, 8);
}

/** The cursor of a place: the same each time. */
function cursorFor(served: ServedCall, next: number): string {
  const parts = [served.cursors.generation, queryHashOf(served), next];
  return Buffer.from(parts.join('.')).toString('base64');
}

function findByCursor(table: 'transactions' | 'attribution'): (served: ServedCall) => Page {
  return (served) => {
    const found = byDates(served, table);
    const size = sizeOf(served, 'limit');
    const cursor = String(served.call.fields.cursor ?? '');
    if (cursor === '') return pageOf(found, 0, size);
    const [generation, queryHash, place = ''] = Buffer.from(cursor, 'base64').toString().split('.');
    const offset = digits(place);
    if (offset === undefined || queryHash !== queryHashOf(served)) throw new Refusal('cursor is not known');
    if (generation === String(served.cursors.generation)) return pageOf(found, offset, size);
    if (served.cursors.dead === 'refused') throw new Refusal('cursor is not known');
    return pageOf(found, served.cursors.dead === 'empty' ? found.length : 0, size);
  };
}

function cursorFields(page: Page, served: ServedCall): JsonObject {
  if (page.next !== undefined) return { cursor: cursorFor(served, page.next) };
  const ends: Record<Interpretation['cursorEnd'], JsonObject> = {
    null: { cursor: null },
    absent: {},
    empty: { cursor: '' },
  };
  return ends[served.interpretation.cursorEnd];
}

function shapeTransactions(
  page: Page,
  served: ServedCall,
): { data: JsonObject; envelopeFields?: JsonObject } {
  const list = { [served.interpretation.listKey]: page.records };
  const cursor = cursorFields(page, served);
  return served.interpretation.cursorAt === 'top'
    ? { data: list, envelopeFields: cursor }
    : { data: { ...list, ...cursor } };
}

function shapeAttribution(page: Page, served: ServedCall): { data: JsonObject } {
  return { data: { list: page.records, count: page.records.length, ...cursorFields(page, served) } };
}

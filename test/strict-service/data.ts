import type { Json, JsonObject } from '../../shared/json.ts';
import { addDays, dayOf, daysBetween, firstInstant } from './days.ts';

export const tables = ['clicks', 'click_details', 'orders', 'transactions', 'attribution'] as const;
export type Table = (typeof tables)[number];

/**
 * A stored record, its instant (attribution: the first instant of its day) and when the service begins to serve it
 * (ms).
 */
export interface Held {
  at: number;
  appearsAt: number;
  record: JsonObject;
  /** The response of report/clicks_detail for a click. */
  detail?: JsonObject;
}

export type Holdings = Record<Exclude<Table, 'click_details'>, Held[]>;

/** The stored records of a table: click details are stored with their clicks. */
export function shownIn(
  table: Table,
  holdings: Holdings,
): { held: Held[]; recordOf: (held: Held) => JsonObject } {
  if (table === 'click_details') return { held: holdings.clicks, recordOf: ({ detail = {} }) => detail };
  return { held: holdings[table], recordOf: ({ record }) => record };
}

interface DataPlan {
  seed: number;
  timeZone: string;
  startDate: string;
  /** No record is at or after this instant (ms). */
  until: number;
  /** Records on a page of clicks or orders (`pageSize`), and of transactions or attribution (`limit`). */
  pageSize: number;
  limit: number;
}

type MakeRecord = (seen: {
  number: number;
  at: number;
  day: string;
  dayNumber: number;
  place: Place;
}) => JsonObject;

/** The place of a record in its day. `duplicates`: it is on a day of three pages that tempts a client to stop early. */
interface Place {
  index: number;
  count: number;
  page: number;
  duplicates: boolean;
}

const number = (literal: string): Json => JSON.rawJSON(literal);
const beyondDouble = (index: number): string => String(9007199254740993n + BigInt(index));
const pick = <Value>(values: readonly [Value, ...Value[]], index: number): Value =>
  values[index % values.length] ?? values[0];

/** The HTTP-date form (docs/explanation/interface.md, section 2). */
export function httpDate(at: number): string {
  return new Date(at).toUTCString();
}

const click: MakeRecord = ({ number: index, at, day, dayNumber }) => ({
  id: beyondDouble(index),
  pbtid: pick<Json>(
    [String(77_000_000_000_000_000_000n + BigInt(index)), '', null, `flag-é-${index}`],
    index,
  ),
  publisher_id: pick(['0012', '12', '1200'], index),
  ...(index % 3 > 0 && { channel_id: pick<Json>([null, `channel ${index % 5}`], index) }),
  created_time: httpDate(at),
  subId: `subId:${index}`,
  ...(index % 2 === 0 && { sub_id: `sub_id:${index % 5}` }),
  Referrer: `Referrer:https://shop.example/?q=${index}&lang=é`,
  referrer: index % 4 === 0 ? null : `referrer:${index}`,
  is_bot: pick<Json>([true, false, null], index),
  geo: {
    country: 'US',
    lat: number('40.71280'),
    near: [{ id: number(beyondDouble(index)) }, null],
    tags: [],
  },
  title: pick(['😀 emoji', '\ufffd\uffff high', 'line\nbreak "quoted" \\', ''], index),
  ...(index % 7 === 0 && { lone: `\ud800 half a pair ${index}` }),
  [`only${dayNumber}On`]: dayNumber % 2 === 0 ? `only on ${day}` : number(`${index}.50`),
});

const clickDetail: MakeRecord = ({ number: index, day, dayNumber }) => ({
  id: number(beyondDouble(index)),
  landing_url: `https://shop.example/${index}?a=1&b=${encodeURIComponent(day)}`,
  price: number(`${index}.990`),
  steps: Array.from({ length: index % 3 }, (_, step) => ({ step, took: number(`0.${step}50`) })),
  device: index % 5 === 0 ? null : { os: 'ios', version: number('17.0') },
  score: pick<Json>([index, `score ${index}`, { of: index }], dayNumber % 2 === 0 ? index : 0),
});

const duplicateOrder = (): JsonObject => ({
  amount: number('12.10'),
  status: 'new',
  type: 'bonus',
  note: 'duplicate without a transid',
});

const order: MakeRecord = ({ number: index, at, day, dayNumber, place }) => {
  if (place.duplicates && place.index < 2 * place.page) return duplicateOrder();
  return {
    transid: number(beyondDouble(index)),
    order_no: number(`123456789012345678${String(index).padStart(5, '0')}`),
    amount: pick<Json>(
      [number('12.10'), 0, number('-0.000000001'), number('1e2'), number(`${index}.05`)],
      index,
    ),
    commission: dayNumber % 2 === 0 ? index : number(`${index}.25`),
    status: pick(['new', 'void', 'effective'], index),
    type: pick(['trans', 'manual_trans', 'campaign_bonus'], index),
    publisher_id: pick(['0012', '12', '1200'], index),
    channel_id: `channel ${index % 2}`,
    brand: `brand:Ünïcode ${index % 3}`,
    dt: `dt:not a day ${index % 2}`,
    items: [{ sku: `A-${index}`, quantity: 1, id: number(beyondDouble(index)) }],
    Note: `Note:${index}`,
    note: pick([`note:${'long '.repeat(30)}`, 'note:🛒', "note:'; drop table orders; --"], index),
    paid: null,
    huge: number(`1234567890123456789012345678${index}.1234567891`),
    updated: pick<Json>([at / 1000, `updated ${index}`], dayNumber),
    ...(dayNumber === 3 && {
      '': `empty name:${index}`,
      ['__proto__']: `proto:${index}`,
      'total (€)': `euro:${index}`,
      constructor: `constructor:${day}`,
    }),
  };
};

const transaction: MakeRecord = ({ dayNumber, place }) => {
  const variant = place.duplicates || place.index === place.count - 1 ? 0 : place.index;
  return {
    order_id: dayNumber % 2 === 0 ? number(beyondDouble(dayNumber * 1000 + variant)) : `ORD-${variant}`,
    order_status: pick(['new', 'void', 'mixed', 'locked', 'paid'], variant),
    sku: `sku:${variant}`,
    sku_status: pick(['new', 'void', 'locked', 'paid'], variant),
    transaction_type: pick(['normal', 'bonus'], variant),
    amazon_country: pick(['US', 'GB', 'DE'], variant),
    commission: number(pick(['0.000000001', '1E+2', '1234567890.10', '-7'], variant)),
    flags: pick<Json>(
      [true, 3, 'three', { k: [1, number('2.50')] }, [1, 'x', null]],
      dayNumber === 1 ? 1 : variant,
    ),
    paid_at: null,
    ...(dayNumber === 3 && { group_id: dayNumber }),
  };
};

const attribution: MakeRecord = ({ day, place }) => {
  const variant = place.duplicates ? 0 : place.index % 4;
  return {
    date: day.replaceAll('-', ''),
    adGroupId: `adGroupId:${variant}`,
    ad_group_id: `ad_group_id:${variant}`,
    publisher_uid: pick<Json>([4711, number(beyondDouble(variant)), null], variant),
    publisher_name: pick(['Zoë & Søn 🎈', ' padded ', ''], variant),
    asin: pick<Json>(['B000000001', null], variant),
    country_code: pick(['US', 'GB'], variant),
    dpv: pick<Json>([5, number('9223372036854775808'), '7 views', number('1.5')], variant),
    click: pick<Json>([12, '13'], variant),
    track_url: `https://track.example/${variant}?x=%20`,
    revenue: number(`${variant}.10`),
  };
};

/** mulberry32 */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * `count` sorted instants (ms) on whole seconds in `[start, end)`, with the first and the last; a single instant is at
 * either end.
 */
function instants(start: number, end: number, count: number, random: () => number): number[] {
  const last = Math.ceil(end / 1000) * 1000 - 1000;
  if (count === 1) return [random() < 0.5 ? start : last];
  const between = () => start + Math.floor(((last - start) / 1000) * random()) * 1000;
  return Array.from({ length: count }, (_, index) => [start, last][index] ?? between()).sort((a, b) => a - b);
}

/** Numbers of records: one more than a page, none, three pages, one record, exactly a page. */
const daySizes = (page: number): number[] => [page + 1, 0, 3 * page, 1, page];

/** The day, counted from the start date, on which a table has three pages with duplicates. */
const threePageDay = { clicks: 2, orders: 1, transactions: 0, attribution: 3 };

const hasDuplicates: readonly string[] = ['orders', 'transactions'];

/**
 * All records that the service has of a brand: days of all sizes from `startDate` until `until`, with records on the
 * first and the last second of a day. Two more days are before `startDate`, so no sync should fetch them.
 */
export function holdingsOf(plan: DataPlan): Holdings {
  const random = randomFrom(plan.seed);
  const { timeZone, pageSize, limit } = plan;
  const days = daysBetween(addDays(plan.startDate, -2), dayOf(plan.until - 1, timeZone));

  function fill(table: keyof Holdings, page: number, make: MakeRecord, makeDetail?: MakeRecord): Held[] {
    const filled: Held[] = [];
    for (const [order, day] of days.entries()) {
      const dayNumber = order - 2;
      const sizes = daySizes(page);
      const count = sizes[(dayNumber - threePageDay[table] + 2 + 10) % sizes.length] ?? 0;
      const start = firstInstant(day, timeZone);
      const end = Math.min(firstInstant(addDays(day, 1), timeZone), plan.until);
      // The day after the three pages begins with another duplicate: a client that confuses the days loses a record.
      const isDuplicate = count === 1 && hasDuplicates.includes(table);
      const times = isDuplicate ? [start] : instants(start, end, count, random);
      for (const [index, at] of times.entries()) {
        const place = { index, count, page, duplicates: isDuplicate || count === 3 * page };
        const seen = {
          number: filled.length,
          at,
          day,
          dayNumber: isDuplicate ? dayNumber - 1 : dayNumber,
          place,
        };
        filled.push({
          at: table === 'attribution' ? start : at,
          appearsAt: at,
          record: make(seen),
          ...(makeDetail && { detail: makeDetail(seen) }),
        });
      }
    }
    return filled;
  }

  return {
    clicks: fill('clicks', pageSize, click, clickDetail),
    orders: fill('orders', pageSize, order),
    transactions: fill('transactions', limit, transaction),
    attribution: fill('attribution', limit, attribution),
  };
}

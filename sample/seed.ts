import { type Json, type JsonObject, parseJson } from '../shared/base/json.ts';
import type { Held, SampleRecords } from './brand.ts';
import { dayAfter, dayOf, startOfDay } from './calendar.ts';

export interface SeedOptions {
  /** The same seed gives the same records. The records of a day do not depend on the range. */
  seed: number;
  timeZone: string;
  /** From the start of this instant's day in the zone … */
  from: Date;
  /** … up to, but not including, this instant. */
  to: Date;
  /** The approximate number of clicks on an ordinary day; the other reports are in proportion. */
  clicksPerDay?: number;
}

/** Plausible records of all reports. Every third day is busy: its clicks do not fit on one page. */
export function seedBrand({ seed, timeZone, from, to, clicksPerDay = 45 }: SeedOptions): SampleRecords {
  const records: SampleRecords = {
    clicks_list: [],
    clicks_detail: [],
    order_list: [],
    transaction_list: [],
    amazon_attribution_report: [],
  };
  for (
    let day = dayOf(from.getTime(), timeZone);
    startOfDay(day, timeZone) < to.getTime();
    day = dayAfter(day)
  ) {
    const number = Math.round(Date.parse(day) / 86_400_000);
    const setting: Setting = {
      day,
      number,
      start: startOfDay(day, timeZone),
      end: startOfDay(dayAfter(day), timeZone),
      chance: createChance(seed * 100_000 + number),
    };
    const clicks = Math.round(clicksPerDay * (number % 3 === 0 ? 3 : 0.7 + 0.6 * setting.chance.fraction()));
    addClicks(records, setting, clicks);
    addOrders(records, setting, Math.round(clicks / 2));
    addAttribution(records, setting, Math.round(clicks / 4));
  }
  for (const held of Object.values(records)) keepBefore(held, to.getTime());
  return records;
}

interface Setting {
  day: string;
  /** Days since 1970. */
  number: number;
  start: number;
  end: number;
  chance: Chance;
}

const publishers = [
  { id: '1234', uid: 81, name: 'Plain Finds', channel: '71' },
  { id: '1250', uid: 82, name: 'Zoë’s Kitchen', channel: '72' },
  { id: '1311', uid: 83, name: 'Deals 🦊 Fox', channel: '71' },
  { id: '1377', uid: 84, name: '日本ガジェット', channel: '73' },
  { id: '1402', uid: 85, name: 'O’Brien & "Sons"', channel: '72' },
];
const products = [
  { asin: 'B0SAMPLE01', title: 'Enamel mug', brand: 'Hearth', cents: 1290 },
  { asin: 'B0SAMPLE02', title: 'Crème brûlée set', brand: 'Hearth', cents: 4950 },
  { asin: 'B0SAMPLE03', title: 'Trail lamp 🔦', brand: 'Fjällnatt', cents: 3499 },
  { asin: 'B0SAMPLE04', title: 'Wool socks, 3 pairs', brand: 'Fjällnatt', cents: 2400 },
];
const countries = ['US', 'DE', 'JP'];

function addClicks(records: SampleRecords, { number, start, end, chance }: Setting, count: number): void {
  for (const [index, at] of instants(start, end, count, chance).entries()) {
    const publisher = chance.pick(publishers);
    const product = chance.pick(products);
    const fromApp = chance.happens(0.4);
    const serial = `${number}${digits(index, 6)}${digits(chance.below(100_000), 5)}`;
    const click: JsonObject = {
      // Click ids of apps exceed 2^53.
      id: fromApp ? `1${serial}` : serial,
      pbtid: `${number}${digits(index, 6)}7`,
      publisher_id: publisher.id,
      channel_id: publisher.channel,
      created_time: new Date(at).toUTCString(),
      landing_url: `https://shop.example/dp/${product.asin}?ref=${publisher.id}`,
      country: chance.pick(countries),
      app: fromApp,
      referrer: fromApp ? null : `https://${publisher.id}.example/`,
    };
    const detail: JsonObject = {
      ...click,
      device: { os: chance.pick(['iOS', 'Android', 'Windows']), screen: [chance.pick([390, 1440]), 844] },
      labels: chance.happens(0.3) ? [publisher.name, product.title] : [],
      ...(chance.happens(0.2) && { campaign: 'autumn' }),
    };
    records.clicks_list.push({ at, record: click });
    records.clicks_detail.push({ at, record: detail });
  }
}

/** Adds orders and their transactions, one transaction for each piece sold, so that some are exact duplicates. */
function addOrders(records: SampleRecords, { number, start, end, chance }: Setting, count: number): void {
  for (const [index, at] of instants(start, end, count, chance).entries()) {
    const purchase: Purchase = {
      at,
      serial: `${number}${digits(index, 6)}`,
      publisher: chance.pick(publishers),
      country: chance.pick(countries),
      items: Array.from({ length: 1 + chance.below(2) }, () => ({
        product: chance.pick(products),
        quantity: 1 + chance.below(2),
      })),
    };
    records.order_list.push({ at, record: orderOf(purchase, chance) });
    for (const item of purchase.items) {
      const record = transactionOf(purchase, item, chance);
      for (let piece = 0; piece < item.quantity; piece += 1)
        records.transaction_list.push({ at, record: { ...record } });
    }
  }
}

interface Purchase {
  at: number;
  serial: string;
  publisher: (typeof publishers)[number];
  country: string;
  items: Item[];
}

interface Item {
  product: (typeof products)[number];
  quantity: number;
}

function orderOf({ at, serial, publisher, country, items }: Purchase, chance: Chance): JsonObject {
  const cents = items.reduce((sum, { product, quantity }) => sum + product.cents * quantity, 0);
  const status = chance.pick(['new', 'new', 'effective', 'effective', 'void']);
  return {
    transid: `8${serial}`,
    // A JSON number above 2^53.
    order_number: literal(`9${serial}${digits(chance.below(100_000), 5)}`),
    type: chance.pick(['trans', 'trans', 'trans', 'manual_trans', 'bonus']),
    status,
    publisher_id: publisher.id,
    publisher_name: publisher.name,
    channel_id: publisher.channel,
    amount: money(cents),
    commission: money(commissionOf(cents)),
    currency: 'USD',
    country,
    create_time: at / 1000,
    items: items.map(({ product: { asin, title, cents: price }, quantity }) => ({
      sku: asin,
      title,
      quantity,
      price: money(price),
    })),
    first_purchase: chance.happens(0.25),
    ...(chance.happens(0.2) && { coupon: 'TAKE10' }),
    ...(chance.happens(0.1) && { note: 'Gift 🎁 — “handle with care”' }),
    ...(status === 'void' && { void_reason: chance.pick(['returned', null]) }),
  };
}

function transactionOf(
  { at, serial, publisher, country }: Purchase,
  { product }: Item,
  chance: Chance,
): JsonObject {
  return {
    order_id: `8${serial}`,
    sku: product.asin,
    transaction_type: chance.pick(['normal', 'normal', 'normal', 'bonus', 'manually_added']),
    order_status: chance.pick(['new', 'void', 'mixed', 'locked', 'paid']),
    sku_status: chance.pick(['new', 'void', 'locked', 'paid']),
    amazon_country: country,
    amazon_brand: product.brand,
    publisher_id: publisher.id,
    group_id: publisher.channel,
    sale_amount: money(product.cents),
    commission: money(commissionOf(product.cents)),
    created_at: new Date(at).toISOString(),
  };
}

function commissionOf(cents: number): number {
  return Math.round(cents * 0.08);
}

function addAttribution(
  records: SampleRecords,
  { day, number, start, chance }: Setting,
  links: number,
): void {
  for (let index = 0; index < links; index += 1) {
    const publisher = chance.pick(publishers);
    const click = chance.below(60);
    const country = chance.pick(countries);
    const shown = products.slice(chance.below(products.length));
    for (const { asin } of shown) {
      records.amazon_attribution_report.push({
        at: start,
        record: {
          date: day.replaceAll('-', ''),
          adGroupId: `ag-${number}-${publisher.id}`,
          publisher_uid: publisher.uid,
          publisher_name: publisher.name,
          asin,
          country_code: country,
          dpv: chance.below(200),
          // Counted per link and day, so it is the same for each product of the link.
          click,
          track_url: `https://go.example/${publisher.id}/${index}`,
        },
      });
    }
  }
}

/** Sorted instants (ms) on whole seconds of a day; the first and the last second are always among them. */
function instants(start: number, end: number, count: number, chance: Chance): number[] {
  const seconds = (end - start) / 1000;
  const between = Array.from({ length: Math.max(0, count - 2) }, () => chance.below(seconds));
  return [0, ...between, seconds - 1].sort((a, b) => a - b).map((second) => start + second * 1000);
}

function keepBefore(held: Held[], end: number): void {
  const rest = held.findIndex(({ at }) => at >= end);
  if (rest !== -1) held.splice(rest);
}

/** Always two decimals: `12.50` keeps its zero on the wire. */
function money(cents: number): Json {
  return literal((cents / 100).toFixed(2));
}

function literal(text: string): Json {
  return parseJson(text);
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

interface Chance {
  /** In [0, 1). */
  fraction(): number;
  /** An integer in [0, `limit`). */
  below(limit: number): number;
  happens(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
}

/** A seeded pseudo-random generator: mulberry32. */
function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(fraction() * limit);
  return {
    fraction,
    below,
    happens: (probability) => fraction() < probability,
    pick: (choices) => choices[below(choices.length)] as (typeof choices)[number],
  };
}

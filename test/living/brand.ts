/**
 * Plays a brand that lives for some days, all of which follow from a seed:
 * - fields come and go, with the day of a record or with a release of the service;
 * - numbers become text and numbers again;
 * - amounts and states are restated for weeks;
 * - records come late or are removed, sometimes a whole day of them;
 * - clicks never change.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, addDays, daysFrom, endOfDay, startOfDay } from '../../shared/days.ts';
import { type Json, type JsonObject, rawNumber } from '../../shared/json.ts';
import type { Random } from '../simulation/random.ts';
import {
  type HeldTable,
  type Living,
  type LivingBrand,
  type Release,
  type Span,
  type Version,
  heldTables,
} from '../simulation/brand.ts';

export interface BrandPlan {
  timeZone: string;
  /** The first day and the number of days. Processes that take weeks in two months or more take days in two weeks. */
  firstDay: string;
  dayCount: number;
}

/** A day's place in the life of the brand. */
interface DayOfLife {
  day: string;
  startMs: number;
  endMs: number;
  /** 0 for the first day, nearly 1 for the last one. */
  at: number;
  /** The factor on the usual number of records. */
  size: number;
}

interface Maker {
  random: Random;
  /** A number that no other record of the brand has. */
  next: () => number;
  /** How long a day of a life takes, in milliseconds: less than a day in a short life. */
  lifeDayMs: number;
}

/** Two months take their time. */
const FULL_LIFE_DAYS = 61;
const USUAL: Readonly<Record<HeldTable, number>> = {
  clicks: 8,
  orders: 11,
  transactions: 9,
  attribution: 4,
};
const BUSY = 13;

export function livingBrand(plan: BrandPlan, random: Random): LivingBrand {
  const { timeZone, firstDay, dayCount } = plan;
  const days = daysFrom(firstDay, addDays(firstDay, dayCount - 1));
  let made = 0;
  const next = () => {
    made += 1;
    return made;
  };
  const lifeDayMs = DAY_MS * Math.min(1, dayCount / FULL_LIFE_DAYS);
  const make: Record<HeldTable, (day: DayOfLife, maker: Maker) => Living[]> = {
    clicks: clicksOf,
    orders: ordersOf,
    transactions: transactionsOf,
    attribution: attributionOf,
  };
  const fill = (table: HeldTable) =>
    new Map(
      days.map((day, index) => {
        const own = random.fork(`${table} ${day}`);
        const life: DayOfLife = {
          day,
          startMs: startOfDay(day, timeZone),
          endMs: endOfDay(day, timeZone),
          at: index / dayCount,
          size: sizeOf(table, index, dayCount, own),
        };
        const living = make[table](life, { random: own, next, lifeDayMs });
        const removal = removals(table, index, dayCount).map((days) => life.startMs + days * lifeDayMs);
        return [day, living.map((one) => removed(one, removal)).sort((a, b) => a.atMs - b.atMs)];
      }),
    );
  const held = {
    clicks: fill('clicks'),
    orders: fill('orders'),
    transactions: fill('transactions'),
    attribution: fill('attribution'),
  };
  const instantOf = (share: number) => startOfDay(firstDay, timeZone) + share * dayCount * DAY_MS;
  return { timeZone, days, held, releases: releasesOf(instantOf) };
}

/** Two days of each table have no records from the beginning, two are busy, some are quiet. */
function sizeOf(table: HeldTable, index: number, dayCount: number, random: Random): number {
  const offset = heldTables.indexOf(table) / 50;
  if ([0.12, 0.72].some((share) => index === Math.floor((share + offset) * dayCount))) return 0;
  if ([0.33, 0.77].some((share) => index === Math.floor((share + offset) * dayCount))) return BUSY;
  return random.pick([0.2, 0.6, 1, 1, 1.4]);
}

/** By days of the service's life: when a day of a table becomes empty, and when that ends. */
function removals(table: HeldTable, index: number, dayCount: number): number[] {
  const is = (share: number) => index === Math.floor(share * dayCount);
  if (table === 'orders' && is(0.2)) return [9];
  if (table === 'transactions' && is(0.26)) return [12];
  if (table === 'attribution' && is(0.3)) return [7, 9];
  return [];
}

/** From the first instant to the second; without the second one, from the first one on. */
function removed(living: Living, [fromMs, toMs = Number.POSITIVE_INFINITY]: readonly number[]): Living {
  if (fromMs === undefined) return living;
  const before = living.versions.filter((version) => version.fromMs < fromMs);
  const current = living.versions.findLast((version) => version.fromMs < toMs);
  const later = living.versions.filter((version) => version.fromMs >= toMs);
  const returns = Number.isFinite(toMs) && current ? [{ ...current, fromMs: toMs }] : [];
  return { ...living, versions: [...before, { fromMs }, ...returns, ...later] };
}

/** Changes in the service's responses at a time, whatever the day of the record. */
function releasesOf(instantOf: (share: number) => number): Release[] {
  const between = (from: number, to: number): Span => ({ fromMs: instantOf(from), toMs: instantOf(to) });
  const since = (from: number): Span => ({ fromMs: instantOf(from), toMs: Number.POSITIVE_INFINITY });
  const without = (field: string) => (record: JsonObject) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => name !== field));
  return [
    { table: 'orders', ...since(0.351), serve: (record) => ({ ...record, currency: 'USD' }) },
    { table: 'orders', ...between(0.452, 0.487), serve: without('campaign') },
    {
      table: 'orders',
      ...between(0.533, 0.551),
      serve: (record) => ({ ...record, commission: germanText(record.commission) }),
    },
    { table: 'orders', ...since(0.802), serve: without('note') },
    { table: 'transactions', ...since(0.404), serve: (record) => ({ ...record, fee: decimal(25) }) },
    { table: 'transactions', ...between(0.603, 0.621), serve: without('transaction_type') },
    { table: 'attribution', ...between(0.502, 0.533), serve: without('publisher_name') },
  ];
}

/** A number in hundredths, with both places: `12.50`. */
function decimal(hundredths: number): Json {
  return rawNumber(`${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, '0')}`);
}

/** `12.50` as `"12,50"` */
function germanText(value: Json | undefined): Json {
  return JSON.stringify(value ?? null).replace('.', ',');
}

const isFrom = ({ at }: DayOfLife, from: number, to = 1) => from <= at && at < to;

function countOf(table: HeldTable, { size }: DayOfLife): number {
  return Math.round(USUAL[table] * size);
}

/** Instants of a day on whole seconds; the first one of every third day is the day's first instant. */
function instants({ startMs, endMs }: DayOfLife, count: number, random: Random): number[] {
  const isAtStart = random.chance(1 / 3);
  return Array.from({ length: count }, (_, index) =>
    index === 0 && isAtStart ? startMs : startMs + random.whole(0, (endMs - startMs) / 1000 - 1) * 1000,
  );
}

function clicksOf(day: DayOfLife, { random, next, lifeDayMs }: Maker): Living[] {
  return instants(day, countOf('clicks', day), random).map((atMs) => {
    const number = next();
    const id = String(7_000_000_000 + number);
    const record: JsonObject = {
      id,
      pbtid: random.chance(0.2) ? '' : `flag-${number}`,
      publisher_id: random.pick(['0012', '12', '1200']),
      channel_id: random.pick(['shop', 'blog', null]),
      created_time: new Date(atMs).toUTCString(),
      referrer: `https://blog.example/${number % 7}?q=é`,
      ...(isFrom(day, 0.3, 0.36) ? {} : { subId: `s-${number % 5}` }),
      ...(isFrom(day, 0.5) ? {} : { device: random.pick(['ios', 'web']) }),
      ...(isFrom(day, 0.4) && { consent: random.chance(0.7) }),
      loadTime: isFrom(day, 0.6, 0.67) ? `0,${100 + (number % 800)}` : decimal(100 + (number % 800)),
    };
    const detail: JsonObject = {
      id: rawNumber(id),
      landing_url: `https://shop.example/${number}?a=1&b=2`,
      price: decimal(number * 7),
      ...(isFrom(day, 0.2) && { basket: [{ sku: `A-${number % 9}`, quantity: 1 }] }),
      score: isFrom(day, 0.64, 0.7) ? `score ${number}` : number,
    };
    const refused = refusalsOf(atMs, random, lifeDayMs);
    const appearsMs = atMs + random.whole(0, 10 * 60) * 1000;
    return {
      atMs,
      versions: [{ fromMs: appearsMs, record }],
      detail,
      ...(refused && { refused: [refused] }),
    };
  });
}

/** Most lookups are never refused, some for hours, few for longer than any run would retry. */
function refusalsOf(atMs: number, random: Random, lifeDayMs: number): Span | undefined {
  if (random.chance(0.94)) return undefined;
  const lastsMs = random.chance(0.15) ? 40 * lifeDayMs + 10 * DAY_MS : random.between(2, 30) * HOUR_MS;
  return { fromMs: atMs, toMs: atMs + lastsMs };
}

/** When a record is first served after it is created: late records after days. */
function appearance(atMs: number, { random, lifeDayMs }: Maker): number {
  return atMs + (random.chance(0.03) ? random.between(1, 5) * lifeDayMs : random.between(0, 10) * MINUTE_MS);
}

function ordersOf(day: DayOfLife, maker: Maker): Living[] {
  const { random, next, lifeDayMs } = maker;
  const later = (from: number, to: number) => random.between(from, to) * lifeDayMs;
  return instants(day, countOf('orders', day), random).map((atMs) => {
    const number = next();
    const hundredths = random.whole(500, 20_000);
    const discount = random.whole(0, 900);
    const record: JsonObject = {
      transid: 9_100_000 + number,
      order_no: rawNumber(`123456789012345${String(number).padStart(6, '0')}`),
      amount: isFrom(day, 0.7, 0.72)
        ? JSON.stringify(decimal(hundredths))
        : number % 9 === 0
          ? Math.floor(hundredths / 100)
          : decimal(hundredths),
      commission: decimal(Math.floor(hundredths / 10)),
      discount: isFrom(day, 0.56, 0.63) ? germanText(decimal(discount)) : decimal(discount),
      status: 'new',
      type: random.pick(['trans', 'manual_trans', 'bonus']),
      publisher_id: random.pick(['0012', '12', '1200']),
      channel_id: random.pick(['shop', 'blog']),
      campaign: random.pick(['spring', 'none']),
      note: random.pick(['', 'gift 🎁', "it's", null]),
      ...(isFrom(day, 0.25) && { coupon: random.pick(['TEN', null, 'FREE']) }),
      ...(isFrom(day, 0.6) ? {} : { customerGroup: random.pick(['a', 'b']) }),
    };
    const appearsMs = appearance(atMs, maker);
    const finalMs = atMs + later(14, 45);
    const restatements: Restatement[] = [
      ...(random.chance(0.12)
        ? [{ fromMs: atMs + later(1, 13), change: { amount: decimal(Math.floor(hundredths / 2)) } }]
        : []),
      ...(random.chance(0.15)
        ? [{ fromMs: atMs + later(2, 14), change: { commission: decimal(Math.floor(hundredths / 20)) } }]
        : []),
      ...(random.chance(0.06)
        ? [{ fromMs: atMs + later(3, 13), change: { refunds: [{ no: 1, amount: decimal(100) }] } }]
        : []),
      { fromMs: finalMs, change: { status: random.chance(0.8) ? 'effective' : 'void' } },
      ...(random.chance(0.05) ? [{ fromMs: finalMs + later(1, 4), change: { status: 'void' } }] : []),
      ...(random.chance(0.04) ? [{ fromMs: atMs + later(1, 20), change: { publisher_id: '77' } }] : []),
    ];
    const goneMs = random.chance(0.02) ? atMs + later(1, 13) : Number.POSITIVE_INFINITY;
    const living: Living = { atMs, versions: versionsOf(appearsMs, record, restatements, goneMs) };
    return random.chance(0.03) ? removed(living, [atMs + later(1, 5), atMs + later(6, 9)]) : living;
  });
}

function transactionsOf(day: DayOfLife, maker: Maker): Living[] {
  const { random, next, lifeDayMs } = maker;
  const later = (from: number, to: number) => random.between(from, to) * lifeDayMs;
  const usual = instants(day, countOf('transactions', day), random).flatMap((atMs) => {
    const number = next();
    const hundredths = random.whole(100, 9000);
    const record: JsonObject = {
      order_id: `ORD-${number % 40}`,
      order_status: 'new',
      sku: `B00${number % 25}`,
      sku_status: 'new',
      transaction_type: random.pick(['normal', 'normal', 'bonus']),
      amazon_country: random.pick(['US', 'GB', 'DE']),
      publisher_id: random.pick(['0012', '12', '1200']),
      currency: random.pick(['USD', 'USD', 'EUR']),
      commission: decimal(hundredths),
      quantity: isFrom(day, 0.5, 0.54) ? String(1 + (number % 3)) : 1 + (number % 3),
      ...(isFrom(day, 0.45) && { group_id: number % 4 }),
    };
    const lockedMs = atMs + later(7, 20);
    const state = random.pick(['mixed', 'locked', 'locked']);
    const end = random.pick(['paid', 'paid', 'paid', 'void']);
    const endMs = atMs + later(20, 50);
    const restatements: Restatement[] = [
      ...(random.chance(0.1)
        ? [{ fromMs: atMs + later(1, 19), change: { commission: decimal(Math.floor(hundredths / 3)) } }]
        : []),
      { fromMs: lockedMs, change: { order_status: state, sku_status: 'locked' } },
      {
        fromMs: endMs,
        change: { order_status: end, sku_status: end, ...(end === 'paid' && { paid_on: day.day }) },
      },
      // A paid commission is sometimes reversed, and sometimes reduced.
      ...(random.chance(0.08)
        ? [{ fromMs: endMs + later(1, 9), change: { order_status: 'void', sku_status: 'void' } }]
        : []),
      ...(random.chance(0.05)
        ? [{ fromMs: endMs + later(1, 9), change: { commission: decimal(Math.floor(hundredths / 5)) } }]
        : []),
      ...(random.chance(0.06) ? [{ fromMs: atMs + later(1, 40), change: { currency: 'GBP' } }] : []),
      ...(random.chance(0.05) ? [{ fromMs: atMs + later(1, 40), change: { publisher_id: '77' } }] : []),
    ];
    const appearsMs = appearance(atMs, maker);
    const goneMs = random.chance(0.02) ? atMs + later(1, 18) : Number.POSITIVE_INFINITY;
    const living: Living = { atMs, versions: versionsOf(appearsMs, record, restatements, goneMs) };
    // Without a key, equal rows are separate facts: here they appear, change and vanish together or separately.
    const copies = random.pick([1, 1, 1, 2, 3]);
    const shorter: Living = { atMs, versions: living.versions.slice(0, 1) };
    return Array.from({ length: copies }, (_, index) =>
      index === 1 && random.chance(0.3)
        ? {
            ...shorter,
            versions: [...shorter.versions, { fromMs: lockedMs + DAY_MS / 3, record: paid(record, day) }],
          }
        : living,
    );
  });
  return usual;
}

function paid(record: JsonObject, { day }: DayOfLife): JsonObject {
  return { ...record, order_status: 'paid', sku_status: 'paid', paid_on: day };
}

function attributionOf(day: DayOfLife, { random, next, lifeDayMs }: Maker): Living[] {
  const links = countOf('attribution', day);
  return Array.from({ length: links }, (_, link) => {
    const products = random.whole(1, 4);
    const clicks = random.whole(3, 60);
    // A tracking link and day have one number of clicks, which all product rows repeat.
    const clicksOfLink: Restatement[] = [0.4, 1.1, 2.3].map((age) => ({
      fromMs: day.startMs + age * lifeDayMs,
      change: { click: clicks + Math.floor(age * 4) },
    }));
    return Array.from({ length: products }, (_, product) => {
      const number = next();
      const views = random.whole(1, 90);
      const asText = isFrom(day, 0.66, 0.7);
      const count = (value: number): Json => (asText ? `${value} views` : value);
      const record: JsonObject = {
        date: day.day.replaceAll('-', ''),
        adGroupId: `group-${link}`,
        publisher_uid: 4711 + (link % 3),
        publisher_name: random.pick(['Zoë & Søn', ' padded ']),
        asin: `B0${product}`,
        country_code: random.pick(['US', 'GB']),
        dpv: count(views),
        click: clicks,
        track_url: `https://track.example/${day.day}/${link}`,
        sales: decimal(views * 3),
        ...(isFrom(day, 0.55) && { new_to_brand: number % 3 }),
        ...(isFrom(day, 0.8, 0.82) ? {} : { units: number % 7 }),
      };
      // The store counts for weeks, slightly less each time.
      const restatements = [...clicksOfLink];
      for (let age = 0.3; age < 29; age += random.between(0.5, 2 + age))
        restatements.push({
          fromMs: day.startMs + age * lifeDayMs,
          change: {
            dpv: count(views + Math.floor(age * 2)),
            sales: decimal(views * 3 + Math.floor(age * 11)),
          },
        });
      const appearsMs =
        day.startMs + random.between(0.2, product === 3 ? 6 * (lifeDayMs / DAY_MS) : 1) * DAY_MS;
      return {
        atMs: day.startMs,
        versions: versionsOf(appearsMs, record, restatements, Number.POSITIVE_INFINITY),
      };
    });
  }).flat();
}

interface Restatement {
  fromMs: number;
  change: JsonObject;
}

/** The record as it appears, and after each restatement. Earlier changes are part of its first form. */
function versionsOf(
  appearsMs: number,
  record: JsonObject,
  restatements: readonly Restatement[],
  goneMs: number,
): Version[] {
  const versions: Version[] = [];
  let current = record;
  for (const { fromMs, change } of [{ fromMs: appearsMs, change: {} }, ...restatements].toSorted(
    (a, b) => a.fromMs - b.fromMs,
  )) {
    current = { ...current, ...change };
    if (fromMs < appearsMs || fromMs >= goneMs) continue;
    versions.push({ fromMs, record: current });
  }
  return goneMs === Number.POSITIVE_INFINITY ? versions : [...versions, { fromMs: goneMs }];
}

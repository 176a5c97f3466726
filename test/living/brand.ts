/**
 * Plays a brand that lives for some days, all of which follow from a seed:
 * - amounts and states are restated for weeks;
 * - records come late or are removed, sometimes a whole day of them;
 * - clicks never change, and some lookups of their details are refused.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, addDays, daysFrom, endOfDay, startOfDay } from '../../shared/days.ts';
import { type Json, type JsonObject, rawNumber } from '../../shared/json.ts';
import type { Random } from '../simulation/random.ts';
import {
  type HeldTable,
  type Living,
  type LivingBrand,
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
  return { timeZone, days, held };
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

/** A number in hundredths, with both places: `12.50`. */
function decimal(hundredths: number): Json {
  return rawNumber(`${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, '0')}`);
}

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
    const record: JsonObject = { id, pbtid: '', created_time: new Date(atMs).toUTCString() };
    const detail: JsonObject = { id: rawNumber(id), price: decimal(number * 7) };
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
    const record: JsonObject = {
      transid: 9_100_000 + number,
      amount: decimal(hundredths),
      commission: decimal(Math.floor(hundredths / 10)),
      status: 'new',
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
      { fromMs: finalMs, change: { status: random.chance(0.8) ? 'effective' : 'void' } },
      ...(random.chance(0.05) ? [{ fromMs: finalMs + later(1, 4), change: { status: 'void' } }] : []),
    ];
    const goneMs = random.chance(0.02) ? atMs + later(1, 13) : Number.POSITIVE_INFINITY;
    const living: Living = { atMs, versions: versionsOf(appearsMs, record, restatements, goneMs) };
    return random.chance(0.03) ? removed(living, [atMs + later(1, 5), atMs + later(6, 9)]) : living;
  });
}

function transactionsOf(day: DayOfLife, maker: Maker): Living[] {
  const { random, next, lifeDayMs } = maker;
  const later = (from: number, to: number) => random.between(from, to) * lifeDayMs;
  return instants(day, countOf('transactions', day), random).flatMap((atMs) => {
    const number = next();
    const hundredths = random.whole(100, 9000);
    const record: JsonObject = {
      order_id: `ORD-${number % 40}`,
      order_status: 'new',
      sku: `B00${number % 25}`,
      sku_status: 'new',
      commission: decimal(hundredths),
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
      { fromMs: endMs, change: { order_status: end, sku_status: end } },
      ...(random.chance(0.08)
        ? [{ fromMs: endMs + later(1, 9), change: { order_status: 'void', sku_status: 'void' } }]
        : []),
    ];
    const appearsMs = appearance(atMs, maker);
    const goneMs = random.chance(0.02) ? atMs + later(1, 18) : Number.POSITIVE_INFINITY;
    const living: Living = { atMs, versions: versionsOf(appearsMs, record, restatements, goneMs) };
    // Without a key, equal rows are separate facts: here they appear, change and vanish together or separately.
    const copies = random.pick([1, 1, 1, 2, 3]);
    return Array<Living>(copies).fill(living);
  });
}

function attributionOf(day: DayOfLife, { random, lifeDayMs }: Maker): Living[] {
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
      const views = random.whole(1, 90);
      const record: JsonObject = {
        date: day.day.replaceAll('-', ''),
        adGroupId: `group-${link}`,
        asin: `B0${product}`,
        dpv: views,
        click: clicks,
        track_url: `https://track.example/${day.day}/${link}`,
        sales: decimal(views * 3),
      };
      // The store counts for weeks, slightly less each time.
      const restatements = [...clicksOfLink];
      for (let age = 0.3; age < 29; age += random.between(0.5, 2 + age))
        restatements.push({
          fromMs: day.startMs + age * lifeDayMs,
          change: {
            dpv: views + Math.floor(age * 2),
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

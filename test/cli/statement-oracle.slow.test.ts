import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { type Comparison, erasedTotalsOf, totalsAt } from '../../cli/close-sums.ts';
import { literal } from '../../cli/sql-files.ts';
import { ENTRIES_TABLE, addEntries } from '../../cli/statement.ts';
import { closesRows } from '../../shared/catalog/closes-table.ts';
import type { Close, MoneyTable } from '../../shared/lake/close.ts';
import { orders } from '../../shared/reports/orders.ts';
import { transactions } from '../../shared/reports/transactions.ts';
import { sinceClose } from '../../shared/reports/views/since-close.ts';

/**
 * Replays random lives in plain JavaScript: every reading is kept as a list of records, and each total is added up from
 * these lists. It has no places, no changes and no SQL. The program gets the changes and the closes of the same life.
 */
interface Item {
  key: string | null;
  order: string;
  product: string;
  publisher: string | null;
  currency: string;
  /** By settings: the commission in thousandths, `null` if it cannot be read. */
  commission: readonly [number | null, number | null];
  isVoid: boolean;
}

type Table = MoneyTable;
const TABLES: readonly Table[] = ['orders', 'transactions'];
const REPORTS = { orders, transactions };
const MONTHS = ['2026-01', '2026-02', '2026-03', '2026-04'];
const DAYS = MONTHS.flatMap((month) => [`${month}-05`, `${month}-20`]);
const NOW = 1_000_000_000;
const BRAND = 'acme';

interface Change {
  place: number;
  what: 'altered' | 'removed' | 'added';
  key: string | null;
  item: Item | undefined;
}

/** What was read of a day, and its changes in the form of the lake. */
class Day {
  readings: Item[][] = [];
  changes: Change[] = [];
  place = 0;
  anew = 0;

  read(held: readonly Item[]): void {
    const next = held.map((item) => ({ ...item }));
    const before = this.readings.at(-1);
    this.readings.push(next);
    if (!before || textOf(before) === textOf(next)) return;
    this.place += 1;
    const keys = new Set([...before, ...next].map(({ key }) => key));
    for (const key of keys) {
      const [old, now] = [before, next].map((items) => items.filter((item) => item.key === key));
      if (!old || !now) continue;
      if (key === null) {
        for (const item of minus(old, now)) this.add('removed', key, item);
        for (const item of minus(now, old)) this.add('added', key, item);
      } else if (old.length === 0) this.add('added', key, undefined);
      else if (textOf(old) !== textOf(now))
        for (const item of old) this.add(now.length === 0 ? 'removed' : 'altered', key, item);
    }
  }

  private add(what: Change['what'], key: string | null, item: Item | undefined): void {
    this.changes.push({ place: this.place, what, key, item });
  }

  get current(): Item[] {
    return this.readings.at(-1) ?? [];
  }
}

function minus(some: readonly Item[], others: readonly Item[]): Item[] {
  const left = others.map((item) => JSON.stringify(item));
  return some.filter((item) => {
    const at = left.indexOf(JSON.stringify(item));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function textOf(items: readonly Item[]): string {
  return items
    .map((item) => JSON.stringify(item))
    .sort()
    .join();
}

/** What the oracle keeps of a close: the records of each day, and how they were shown. */
interface Shown {
  month: string;
  settings: 0 | 1;
  days: Map<string, Item[]>;
  sources: Map<string, Table>;
  counted: Sums;
  statement: Sums;
  /** The opening balance, and later first readings of days before the first close. */
  zero: Sums;
  entries: string[];
  erased: Set<string>;
}
type Sums = Map<string, number>;

function countedOf({ commission, isVoid }: Item, settings: 0 | 1): number {
  return isVoid ? 0 : (commission[settings] ?? 0);
}

function add(sums: Sums, items: readonly Item[], settings: 0 | 1, sign = 1): Sums {
  for (const item of items) {
    const id = JSON.stringify([item.publisher, item.currency]);
    sums.set(id, (sums.get(id) ?? 0) + sign * countedOf(item, settings));
  }
  return sums;
}

function plus(...all: readonly (readonly [Sums, number])[]): Sums {
  const sum: Sums = new Map();
  for (const [sums, sign] of all)
    for (const [id, value] of sums) sum.set(id, (sum.get(id) ?? 0) + sign * value);
  return sum;
}

function nonZero(sums: Sums): Record<string, number> {
  return Object.fromEntries(
    [...sums].filter(([, value]) => value !== 0).sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

class Life {
  private seed: number;
  readonly held = new Map<string, Item[]>();
  readonly read = new Map<string, Day>();
  readonly shown: Shown[] = [];
  readonly closes: Close[] = [];
  readonly erasedDays = new Set<string>();
  settings: 0 | 1 = 0;
  private orders = 0;

  constructor(seed: number) {
    this.seed = seed * 7919 + 13;
    for (const table of TABLES) for (const day of DAYS) this.held.set(`${table} ${day}`, []);
    for (const day of DAYS) for (let n = this.upTo(4); n > 0; n -= 1) this.order(day);
  }

  random(): number {
    this.seed = (Math.imul(this.seed ^ (this.seed >>> 15), 2246822519) + 0x9e3779b9) | 0;
    return ((this.seed ^ (this.seed >>> 13)) >>> 0) / 2 ** 32;
  }
  upTo(count: number): number {
    return Math.floor(this.random() * count);
  }
  pick<T>(list: readonly T[]): T {
    const found = list[this.upTo(list.length)];
    if (found === undefined) throw new Error('an empty list');
    return found;
  }

  private money(): [number | null, number | null] {
    const amount = this.random() < 0.06 ? null : this.upTo(20_000) - 500;
    return [amount, this.random() < 0.5 ? amount : this.upTo(9_000)];
  }

  order(day: string): void {
    this.orders += 1;
    const hasKey = this.random() > 0.15;
    const item = {
      order: `o${this.orders}`,
      publisher: this.random() < 0.1 ? null : this.pick(['A', 'B', 'C']),
      currency: this.pick(['USD', 'EUR']),
      isVoid: this.random() < 0.2,
      product: 'p',
    };
    const commission = this.money();
    const copies = this.random() < 0.1 ? 2 : 1;
    for (let n = 0; n < copies; n += 1)
      this.held.get(`orders ${day}`)?.push({ ...item, commission, key: hasKey ? item.order : null });
    // A transaction may have another commission, or be missing.
    if (this.random() < 0.9)
      this.held.get(`transactions ${day}`)?.push({
        ...item,
        commission: this.random() < 0.7 ? commission : this.money(),
        key: hasKey ? `${item.order}/p` : null,
      });
  }

  mutate(): void {
    const table = this.pick(TABLES);
    const from = this.held.get(`${table} ${this.pick(DAYS)}`) ?? [];
    const what = this.random();
    if (what < 0.25 || from.length === 0) {
      this.order(this.pick(DAYS));
      return;
    }
    const at = this.upTo(from.length);
    const [item] = from.splice(at, 1);
    if (!item) return;
    if (what < 0.4) return;
    if (what < 0.45) from.push(item);
    const day = what < 0.6 ? this.pick(DAYS) : undefined;
    const to = day === undefined ? from : this.held.get(`${table} ${day}`);
    to?.push({
      ...item,
      ...(what >= 0.6 && what < 0.75 && { commission: this.money() }),
      ...(what >= 0.75 && what < 0.85 && { isVoid: !item.isVoid }),
      ...(what >= 0.85 && what < 0.92 && { publisher: this.pick(['A', 'B', 'D']) }),
      ...(what >= 0.92 && { currency: this.pick(['USD', 'GBP']) }),
    });
  }

  readDay(table: Table, day: string): void {
    const id = `${table} ${day}`;
    if (this.erasedDays.has(id)) return;
    const known = this.read.get(id) ?? new Day();
    this.read.set(id, known);
    known.read(this.held.get(id) ?? []);
  }

  sources(): Map<string, Table> {
    return new Map(
      MONTHS.flatMap((month) => {
        const days = DAYS.filter((day) => day.startsWith(month));
        const has = (table: Table) => days.filter((day) => this.read.has(`${table} ${day}`));
        if (has('orders').length + has('transactions').length === 0) return [];
        const covers = has('orders').every(
          (day) => this.read.has(`transactions ${day}`) || this.wasErased(`transactions ${day}`),
        );
        const hasRows = has('transactions').some(
          (day) => (this.read.get(`transactions ${day}`)?.current.length ?? 0) > 0,
        );
        return [[month, covers && hasRows ? 'transactions' : 'orders'] as const];
      }),
    );
  }

  wasErased(id: string): boolean {
    return this.shown.some(({ erased }) => erased.has(id));
  }

  /** The records of the days up to a month that count. */
  table(month: string): Map<string, Item[]> {
    const sources = this.sources();
    return new Map(
      [...this.read].flatMap(([id, { current }]) => {
        const [table, day = ''] = id.split(' ');
        const counts =
          day.slice(0, 7) <= month && sources.get(day.slice(0, 7)) === table && !this.wasErased(id);
        return counts ? [[id, current.map((item) => ({ ...item }))] as const] : [];
      }),
    );
  }

  /** What counts now by these settings, minus what counted at the latest close by `then`; what a first reading adds is not in it. */
  difference(month: string, settings: 0 | 1, first: string): { now: Sums; zero: Sums } {
    const last = this.shown.at(-1);
    const now = this.table(month);
    const wasNamed = (id: string) => this.shown.some(({ days }) => days.has(id)) || this.named.has(id);
    const zero: Sums = new Map();
    const isOpening = (id: string) => !wasNamed(id) && id.slice(-10, -3) < first;
    const ofOrders = (days: ReadonlyMap<string, Item[]>, counts: (id: string) => boolean) =>
      Map.groupBy(
        [...days].flatMap(([id, items]) => (counts(id) ? items : [])),
        ({ order }) => order,
      );
    const then = ofOrders(last?.days ?? new Map(), (id) => !this.wasErased(id));
    const left = ofOrders(now, (id) => !isOpening(id));
    const hasMoved = ({ order }: Item) => (then.get(order)?.length ?? 0) > (left.get(order)?.length ?? 0);
    for (const [id, items] of now)
      if (isOpening(id))
        add(
          zero,
          items.filter((item) => !hasMoved(item)),
          settings,
        );
    const sums: Sums = new Map();
    for (const items of now.values()) add(sums, items, settings);
    return { now: sums, zero };
  }

  /** All days of which a close has the place, whether or not they count. */
  readonly named = new Set<string>();
}

function draftOf(life: Life, month: string): Close {
  const known = new Map(
    life.closes.flatMap(({ days }) => days.map(({ report, day, place }) => [`${report} ${day}`, place])),
  );
  const before: Record<string, string> = Object.assign({}, ...life.closes.map(({ sources }) => sources));
  const days = [...life.read].flatMap(([id, { place }]) => {
    const [table = '', day = ''] = id.split(' ');
    const report = table === 'orders' ? orders.name : transactions.name;
    const isNamed =
      day.slice(0, 7) <= month && known.get(`${report} ${day}`) !== place && !life.wasErased(id);
    return isNamed ? [{ report, day, place, snapshot: 's' }] : [];
  });
  const sources = [...life.sources()].filter(([of, source]) => of <= month && before[of] !== source);
  return {
    ...{ brand: BRAND, month, closedAt: `${month}-28T12:00:00.000Z`, by: 'ann' },
    ...{
      sources: Object.fromEntries(sources),
      totals: [],
      days,
      exceptions: [],
      faults: [],
      erased: [],
    },
    ...{ recentWrites: [], settings: String(life.settings).repeat(64) },
  };
}

function comparisonAt(life: Life, index: number, draft?: Close): Comparison {
  const at = draft ?? life.closes[index];
  if (!at) throw new Error('no close');
  return {
    brand: BRAND,
    month: at.month,
    before: life.closes.slice(0, index),
    at,
    openDays: [],
    anew: new Map(),
  };
}

function decimal(thousandths: number | null): string {
  return thousandths === null ? 'NULL' : (thousandths / 1000).toFixed(3);
}

async function fill(connection: DuckDBConnection, life: Life, settings: 0 | 1): Promise<void> {
  for (const table of TABLES) {
    const name = `${table.slice(0, -1)}_history`;
    await connection.run(`CREATE OR REPLACE TABLE ${name} (brand varchar, dt varchar, key varchar, place bigint, what varchar,
      order_id varchar, product varchar, kind varchar, publisher_id varchar, publisher_name varchar, currency varchar,
      state varchar, amount decimal(29,9), commission decimal(29,9), counted decimal(29,9))`);
    const rows = [...life.read].flatMap(([id, day]) => {
      const [of, dt] = id.split(' ');
      if (of !== table) return [];
      const now = day.current.map((item) => ({ place: NOW, what: 'now', key: item.key, item }));
      return [...day.changes, ...now].map(({ place, what, key, item }) => {
        const texts = [item?.order, item?.product, 'sale', item?.publisher, item?.publisher, item?.currency];
        const commission = decimal(item?.commission[settings] ?? null);
        const state = item && (item.isVoid ? 'void' : 'effective');
        const counted = item?.isVoid ? '0' : commission;
        return `(${literal(BRAND)}, ${literal(dt)}, ${literal(key)}, ${place}, ${literal(what)}, ${texts.map(literal).join(', ')}, ${literal(state)}, 1, ${commission}, ${counted})`;
      });
    });
    if (rows.length > 0) await connection.run(`INSERT INTO ${name} VALUES ${rows.join(', ')}`);
  }
  await connection.run(
    'CREATE OR REPLACE TABLE coverage (brand varchar, report varchar, month varchar, dt varchar, rows bigint, state varchar, committed_state varchar, anew_place bigint, place bigint)',
  );
  for (const [id, { current, place }] of life.read) {
    const [table, day] = idParts(id);
    await connection.run(
      `INSERT INTO coverage VALUES (${[BRAND, REPORTS[table].name, day.slice(0, 7), day].map(literal).join(', ')}, ${current.length}, 'complete', 'complete', NULL, ${place})`,
    );
  }
}

async function entriesOf(
  connection: DuckDBConnection,
  comparison: Comparison,
  close: Close,
): Promise<string[]> {
  await connection.run('DELETE FROM entries');
  await addEntries(connection, comparison, close, undefined);
  const found = await connection.runAndReadAll(
    'SELECT entry, day, key, order_id, publisher_id, currency, records, counted_then, counted_now, counted, state_then, state, known FROM entries ORDER BY ALL',
  );
  return found.getRowsJson().map((row) => JSON.stringify(row));
}

function sumsOf(
  rows: readonly { publisher_id: string | null; currency: string | null; value: string }[],
): Sums {
  return plus(
    ...rows.map(
      ({ publisher_id, currency, value }) =>
        [new Map([[JSON.stringify([publisher_id, currency]), Math.round(Number(value) * 1000)]]), 1] as const,
    ),
  );
}

let connection: DuckDBConnection;
beforeEach(async () => {
  connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(ENTRIES_TABLE);
});
afterEach(() => connection.closeSync());

const LIVES = Number(process.env.CLOSE_LIVES ?? 12);

describe.each(Array.from({ length: LIVES }, (_, index) => index))('life %i', (seed) => {
  test('statements are the differences of what counted, and add up', async () => {
    const life = new Life(seed);
    const months = life.random() < 0.3 ? ['2026-02', '2026-04'] : ['2026-02', '2026-03', '2026-04'];
    for (const month of months) {
      await liveUntil(life, month);
      await fill(connection, life, life.settings);
      const draft = draftOf(life, month);
      const index = life.closes.length;
      const first = life.closes[0]?.month ?? month;
      const last = life.shown.at(-1);
      const { now, zero } = life.difference(month, life.settings, first);
      const paid = new Map(last?.counted);
      for (const id of last?.erased ?? []) add(paid, last?.days.get(id) ?? [], last?.settings ?? 0, -1);
      const statement = plus([now, 1], [zero, -1], [paid, -1]);
      const comparison = comparisonAt(life, index, draft);
      draft.totals = await totalsAt(connection, comparison);
      const shownSums = (name: 'counted' | 'statement') =>
        nonZero(sumsOf(draft.totals.map((total) => ({ ...total, value: total[name] }))));
      expect(shownSums('counted')).toEqual(nonZero(now));
      expect(shownSums('statement')).toEqual(nonZero(statement));
      const entries = await entriesOf(connection, comparison, draft);
      expect(nonZero(ofEntries(entries, () => true))).toEqual(nonZero(statement));
      // Only settings move a total without a record.
      const rest = nonZero(ofEntries(entries, (entry) => entry === 'rest'));
      if (last === undefined || last.settings === life.settings) expect(rest).toEqual({});
      expect(carriedIn(entries)).toEqual(carriedOf(life, month));
      const shown = { month, settings: life.settings, days: life.table(month), sources: life.sources() };
      life.shown.push({ ...shown, counted: now, statement, zero, entries, erased: new Set() });
      for (const { report, day } of draft.days)
        life.named.add(`${report === orders.name ? 'orders' : 'transactions'} ${day}`);
      life.closes.push(draft);
    }
    const last = life.shown.at(-1);
    const paid = life.shown.flatMap(({ statement, zero }) => [[statement, 1] as const, [zero, 1] as const]);
    if (life.shown.every(({ erased }) => erased.size === 0))
      expect(nonZero(plus(...paid))).toEqual(nonZero(last?.counted ?? new Map()));
    for (let n = 0; n < 12; n += 1) life.mutate();
    for (const id of life.read.keys()) if (life.random() < 0.6) life.readDay(...idParts(id));
    for (const [index, { entries, statement, settings }] of life.shown.entries()) {
      await fill(connection, life, settings);
      const again = await entriesOf(
        connection,
        comparisonAt(life, index),
        life.closes[index] ?? draftOf(life, ''),
      );
      expect(nonZero(ofEntries(again, () => true))).toEqual(nonZero(statement));
      const isErased = life.shown.some(({ erased }) => erased.size > 0);
      if (!isErased) expect(again).toEqual(entries);
    }
    await expectSinceClose(life);
  });
});

function idParts(id: string): [Table, string] {
  const [table, day = ''] = id.split(' ');
  return [table === 'orders' ? 'orders' : 'transactions', day];
}

async function liveUntil(life: Life, month: string): Promise<void> {
  // Transactions may come later than orders, days may fail, and a backfill may reach further back.
  const hasTransactions = life.random() < 0.5;
  for (let n = 0; n < 15; n += 1) {
    for (let m = life.upTo(4); m > 0; m -= 1) life.mutate();
    const day = life.pick(DAYS.filter((each) => each.slice(0, 7) <= month));
    life.readDay('orders', day);
    if (hasTransactions) life.readDay('transactions', day);
  }
  if (hasTransactions && life.random() < 0.5)
    for (const day of DAYS.filter((each) => each.slice(0, 7) <= month)) life.readDay('transactions', day);
  if (life.random() < 0.3) life.settings = life.settings === 0 ? 1 : 0;
  if (life.closes.length > 0 && life.random() < 0.4) await eraseDay(life);
}

async function eraseDay(life: Life): Promise<void> {
  const last = life.closes.at(-1);
  const id = life.pick([...life.named]);
  if (!last || life.wasErased(id)) return;
  const [table, day] = idParts(id);
  const report = REPORTS[table].name;
  const erased: Close[] = [];
  for (const [index, close] of life.closes.entries()) {
    const upTo = life.closes.slice(0, index + 1);
    const place = upTo
      .flatMap(({ days }) => days)
      .findLast((each) => each.report === report && each.day === day)?.place;
    if (place === undefined) {
      erased.push(close);
      continue;
    }
    await fill(connection, life, life.shown[index]?.settings ?? 0);
    const totals = await erasedTotalsOf(connection, upTo, [{ report, day, place }]);
    const entry = {
      report,
      day,
      erasedAt: `${last.month}-28T13:00:00.000Z`,
      totals: totals.get(`${report} ${day}`) ?? [],
    };
    erased.push({
      ...close,
      days: close.days.filter((each) => each.report !== report || each.day !== day),
      erased: [...close.erased, entry],
    });
    life.shown[index]?.erased.add(id);
  }
  life.closes.splice(0, life.closes.length, ...erased);
  life.read.delete(id);
  // It is read again: the changes of before are gone.
  if (life.random() < 0.5) life.readDay(table, day);
  else life.erasedDays.add(id);
}

function ofEntries(entries: readonly string[], isWanted: (entry: string) => boolean): Sums {
  const rows = entries.map((entry) => JSON.parse(entry) as (string | null)[]);
  return sumsOf(
    rows
      .filter(([entry]) => isWanted(entry ?? ''))
      .map(([, , , , publisher_id = null, currency = null, , , , , , , known]) => ({
        publisher_id,
        currency,
        value: String(known),
      })),
  );
}

/** Day, key or order, publisher, currency, then and now of each entry of an earlier month. */
function carriedIn(entries: readonly string[]): string[] {
  return entries
    .map((entry) => JSON.parse(entry) as (string | null)[])
    .filter(([entry]) => entry === 'carried')
    .map(([, day, key, order, publisher, currency, , then, now]) =>
      JSON.stringify([key === null ? null : day, key ?? order, publisher, currency, milli(then), milli(now)]),
    )
    .sort();
}

function milli(value: string | null | undefined): number | null {
  return value === null || value === undefined ? null : Math.round(Number(value) * 1000);
}

function carriedOf(life: Life, month: string): string[] {
  const [last, now] = [life.shown.at(-1), life.table(month)];
  const sources = life.sources();
  const first = life.closes[0]?.month ?? month;
  const groups = new Map<string, { old: Item[]; now: Item[] }>();
  const collect = (side: 'old' | 'now', id: string, items: readonly Item[]) => {
    const [, day] = idParts(id);
    const of = day.slice(0, 7);
    const thenSource = last?.sources.get(of);
    const isSwitched =
      thenSource !== undefined &&
      [...life.closes].some(({ sources: named }) => named[of]) &&
      thenSource !== sources.get(of);
    for (const item of items) {
      const who = [item.publisher, item.currency];
      const what = isSwitched
        ? [null, item.order, ...who, 'switched', of]
        : item.key === null
          ? [null, item.order, ...who, day]
          : [day, item.key, ...who];
      const group = groups.get(JSON.stringify(what)) ?? { old: [], now: [] };
      groups.set(JSON.stringify(what), group);
      group[side].push(item);
    }
  };
  for (const [id, items] of last?.days ?? []) if (!life.wasErased(id)) collect('old', id, items);
  const keys = new Set(
    [...(last?.days ?? [])]
      .filter(([id]) => !life.wasErased(id))
      .flatMap(([id, items]) =>
        items.flatMap(({ key }) => (key === null ? [] : [`${idParts(id)[0]} ${key}`])),
      ),
  );
  const switchedOrders = new Set(
    [...(last?.days ?? [])]
      .filter(([id]) => !life.wasErased(id) && sources.get(idParts(id)[1].slice(0, 7)) !== idParts(id)[0])
      .flatMap(([, items]) => items.map(({ order }) => order)),
  );
  for (const [id, items] of now) {
    const [table, day] = idParts(id);
    if (day.startsWith(month)) continue;
    const isOpening = !life.named.has(id) && day.slice(0, 7) < first;
    collect(
      'now',
      id,
      isOpening
        ? items.filter(
            ({ key, order }) => (key !== null && keys.has(`${table} ${key}`)) || switchedOrders.has(order),
          )
        : items,
    );
  }
  const sum = (items: readonly Item[]) =>
    items.some((item) => !item.isVoid && item.commission[life.settings] === null)
      ? null
      : items.reduce((total, item) => total + countedOf(item, life.settings), 0);
  const unknown = (items: readonly Item[]) =>
    items.filter((item) => !item.isVoid && item.commission[life.settings] === null).length;
  const known = (items: readonly Item[]) =>
    items.reduce((total, item) => total + countedOf(item, life.settings), 0);
  return [...groups]
    .map(([what, { old, now: own }]): [string, { old: Item[]; now: Item[] }] => {
      const [day, , , , switched] = JSON.parse(what) as (string | null)[];
      const isKeyed = day !== null || switched === 'switched';
      return [what, isKeyed ? { old, now: own } : { old: minus(old, own), now: minus(own, old) }];
    })
    .filter(([, { old, now: own }]) => known(old) !== known(own) || unknown(old) !== unknown(own))
    .map(([what, { old, now: own }]) => {
      const [day, key, publisher, currency] = JSON.parse(what) as (string | null)[];
      return JSON.stringify([day, key, publisher, currency, sum(old), sum(own)]);
    })
    .sort();
}

async function expectSinceClose(life: Life): Promise<void> {
  await fill(connection, life, life.settings);
  await connection.run(
    `CREATE OR REPLACE TABLE closes (brand varchar, report varchar, month varchar, dt varchar, place bigint, counts boolean, closed_at timestamp)`,
  );
  for (const { month } of life.closes)
    for (const report of Object.values(REPORTS))
      for (const { dt, place, counts, closed_at: at } of closesRows(life.closes, report, month)) {
        const values = [BRAND, report.name, month, dt].map((value) => literal(String(value)));
        await connection.run(
          `INSERT INTO closes VALUES (${values.join(', ')}, ${place ?? 'NULL'}, ${counts}, ${literal(at instanceof Date ? at : null)})`,
        );
      }
  const last = life.shown.at(-1);
  const month = last?.month ?? '';
  const { now, zero } = life.difference(month, life.settings, life.closes[0]?.month ?? '');
  const then: Sums = new Map();
  for (const [id, items] of last?.days ?? []) if (!life.wasErased(id)) add(then, items, life.settings);
  const found = await connection.runAndReadAll(
    `SELECT publisher_id, currency, CAST(sum(coalesce(counted_now, 0) - coalesce(counted_then, 0)) AS varchar) AS value, bool_or(unknown_amounts > 0) AS is_unknown FROM (${sinceClose.sql}) GROUP BY ALL`,
  );
  const rows = found.getRowObjectsJson();
  // Sums with an unknown amount are NULL, so only publishers without one can be compared.
  const unknown = new Set(
    rows
      .filter((row) => row.is_unknown === true)
      .map((row) => JSON.stringify([row.publisher_id, row.currency])),
  );
  const known = (sums: Sums) => new Map([...sums].filter(([id]) => !unknown.has(id)));
  const shown = rows.map((row) => ({
    publisher_id: typeof row.publisher_id === 'string' ? row.publisher_id : null,
    currency: typeof row.currency === 'string' ? row.currency : null,
    value: String(row.value),
  }));
  expect(nonZero(known(sumsOf(shown)))).toEqual(nonZero(known(plus([now, 1], [zero, -1], [then, -1]))));
}

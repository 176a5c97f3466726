/** Compares exports of the sample service with a lake of the same orders, and counts what the comparison gets wrong. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { CAUSES_SQL, sumsSql, compare, rowsOf } from '../../cli/reconcile/match.ts';
import { MEASURES, type Measure, loadFile } from '../../cli/reconcile/file.ts';
import { literal } from '../../cli/sql-tables.ts';
import { typeSpec } from '../../shared/column-types.ts';
import { type Json, type JsonObject, isRawNumber } from '../../shared/json.ts';
import { lifecycleShape } from '../../shared/lifecycle/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { seedBrand } from '../../sample/seed.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { FORMATS, type ShownOrder } from './exports.ts';
import { KINDS, type Kind, type Known, keyOf, withFaults } from './faults.ts';

/** What a seed showed in one format. */
export interface Measured {
  format: string;
  faults: number;
  found: number;
  rightCause: number;
  /** Differences of orders without a fault, with and without faults elsewhere. */
  falseAlarms: number;
  /** Currencies whose differences by cause do not add up to the difference of the sums. */
  wrongSums: number;
  wrong: string[];
}

const ZONE = 'America/New_York';
const MONTH = '2026-10';

/** Every format with and without faults. @param seed decides orders and faults */
export async function measure(seed: number): Promise<Measured[]> {
  const folder = await temporaryFolder();
  const file = join(folder.path, 'export.csv');
  const chance = randomOf(seed);
  const held = heldOf(seed, chance);
  const lake = await DuckDBInstance.create(':memory:');
  const connection = await lake.connect();
  await fillLake(connection, 'order_states', held.orders);
  await fillLake(connection, 'transaction_states', held.transactions);
  const measured: Measured[] = [];
  for (const [format, { of = 'orders', namesCurrency, write }] of Object.entries(FORMATS)) {
    const kinds = KINDS.filter((kind) => kind !== 'other_currency' || namesCurrency);
    const result: Measured = {
      format,
      faults: 0,
      found: 0,
      rightCause: 0,
      falseAlarms: 0,
      wrongSums: 0,
      wrong: [],
    };
    for (const injected of [[], kinds]) {
      const { shown, expected } = withFaults(held[of], MONTH, injected, chance);
      await writeFile(file, write(shown));
      // Its temporary tables end with the connection.
      const own = await lake.connect();
      await compareOne(own, {
        file,
        table: of === 'orders' ? 'order_states' : 'transaction_states',
        expected,
        result,
      });
      own.closeSync();
    }
    measured.push(result);
  }
  lake.closeSync();
  await folder.remove();
  return measured;
}

interface Export {
  file: string;
  table: string;
  expected: ReadonlyMap<string, Kind>;
  result: Measured;
}

async function compareOne(
  connection: DuckDBConnection,
  { file, table, expected, result }: Export,
): Promise<void> {
  const { columns } = await loadFile(connection, file, {});
  const days = { from: `${MONTH}-01`, to: `${MONTH}-31` };
  const missing = MEASURES.filter((measure) => columns[measure] === undefined);
  await compare(connection, { table, brand: 'acme', ...days, missing, timeZone: ZONE });
  const isIn = `dt LIKE '${MONTH}-%'`;
  const inMonth = await rowsOf(
    connection,
    `SELECT concat(order_id, ' ', product) FROM ${table} WHERE ${isIn}`,
  );
  const rows = await rowsOf(connection, "SELECT concat(order_id, ' ', product), cause FROM differences");
  const causes = Map.groupBy(rows, ([key]) => String(key));
  for (const [key, cause] of expected) {
    // An export without days does not show another one.
    if (cause === 'other_day' && !columns.created && inMonth.flat().includes(key)) continue;
    // An order that is missing as a whole is compared as a whole.
    const own = causes.get(key) ?? causes.get(`${key.split(' ', 1)[0]} `) ?? [];
    const found = new Set(own.map((row) => String(row[1])));
    result.faults += 1;
    result.found += found.size > 0 ? 1 : 0;
    const isRight = found.size === 1 && found.has(cause);
    result.rightCause += isRight ? 1 : 0;
    if (!isRight) result.wrong.push(`${key} is ${cause}, found: ${[...found].join(', ') || 'nothing'}`);
  }
  const ids = new Set([...expected.keys()].map((key) => `${key.split(' ', 1)[0]} `));
  const alarms = [...causes].filter(([key]) => !expected.has(key) && !ids.has(key));
  result.falseAlarms += alarms.length;
  result.wrong.push(
    ...alarms.map(([key, own]) => `${key} is right, found: ${own.map((row) => row[1]).join(', ')}`),
  );
  result.wrongSums += await wrongSums(
    connection,
    MEASURES.filter((measure) => !missing.includes(measure)),
  );
}

async function wrongSums(connection: DuckDBConnection, measures: readonly Measure[]): Promise<number> {
  const causes = await rowsOf(connection, CAUSES_SQL);
  const sums = await rowsOf(connection, sumsSql(measures));
  return sums.filter(([currency, measure, , , difference]) => {
    const at = 4 + measures.findIndex((each) => each === measure);
    const own = causes.filter(([of]) => of === currency);
    return own.reduce((all, row) => all + units(row[at]), 0n) !== units(difference);
  }).length;
}

/** Billionths. */
function units(decimal: unknown): bigint {
  const [whole = '0', places = ''] = String(decimal).split('.');
  return BigInt(whole + places.padEnd(9, '0'));
}

/** Orders and transactions of the month and of the days beside it. Some were voided or re-priced after the first reading. */
function heldOf(seed: number, chance: () => number) {
  const range = { from: new Date('2026-09-30T12:00:00Z'), to: new Date('2026-11-02T04:00:00Z') };
  const { order_list, transaction_list } = seedBrand({ seed, timeZone: ZONE, ...range, clicksPerDay: 20 });
  const orders = order_list.map(({ at, record }) => shownOf(at, record, ['transid', 'status', 'amount']));
  const pieces = transaction_list.map(({ at, record }) => {
    return { ...shownOf(at, record, ['order_id', 'sku_status', 'sale_amount']), product: textOf(record.sku) };
  });
  return { orders: knownOf(orders, chance), transactions: knownOf(pieces, chance) };
}

function shownOf(at: number, record: JsonObject, [id, status, amount]: [string, string, string]): ShownOrder {
  const cents = (name: string) => Math.round(Number(textOf(record[name])) * 100);
  const day = new Intl.DateTimeFormat('en-CA', { timeZone: ZONE }).format(at);
  return {
    ...{ id: textOf(record[id]), at, day, status: textOf(record[status]), currency: 'USD' },
    ...{ amount: cents(amount), commission: cents('commission') },
  };
}

function textOf(value: Json | undefined): string {
  return isRawNumber(value) ? value.rawJSON : String(value);
}

function knownOf(shown: readonly ShownOrder[], chance: () => number): Known[] {
  return [...Map.groupBy(shown, keyOf).values()].map((before) => {
    const fate = chance();
    const part = 0.3 + 0.6 * chance();
    if (fate < 0.1) return { before, now: before.map((line) => ({ ...line, status: 'void' })) };
    if (fate > 0.2) return { before, now: before };
    const now = before.map((line) => {
      const [amount, commission] = [Math.floor(line.amount * part), Math.floor(line.commission * part)];
      return { ...line, amount, commission };
    });
    return { before, now };
  });
}

async function fillLake(connection: DuckDBConnection, table: string, known: readonly Known[]): Promise<void> {
  const partition = ['brand', 'dt'].map((name) => ({ name, type: 'string' as const }));
  const columns = [...(lifecycleShape(orders)?.columns ?? []), ...partition];
  const types = columns.map(({ name, type }) => `${name} ${typeSpec(type).duckdb}`);
  await connection.run(`CREATE TABLE ${table} (${types.join(', ')})`);
  const rows = known.map((each) => lifecycleRow(each, table === 'order_states' ? 'USD' : null));
  const values = rows.map((row) => `(${columns.map(({ name }) => literal(row[name])).join(', ')})`);
  await connection.run(`INSERT INTO ${table} VALUES ${values.join(', ')}`);
}

/** Two readings: the first on the next day, the second a week later. */
function lifecycleRow({ before, now }: Known, currency: string | null): Record<string, string | null> {
  const [first] = now;
  if (!first) throw new Error('an order has a line');
  const reading = (days: number) => new Date(first.at + days * 86_400_000).toISOString().slice(0, 19);
  const sums = (prefix: string, lines: readonly ShownOrder[]) => {
    const sum = (name: 'amount' | 'commission') =>
      (lines.reduce((all, line) => all + line[name], 0) / 100).toFixed(2);
    return { [`${prefix}amount`]: sum('amount'), [`${prefix}commission`]: sum('commission') };
  };
  const was = (state: string, after: string | null, by: string, lines: readonly ShownOrder[]) => ({
    [`${state}_after`]: after,
    [`${state}_by`]: by,
    ...sums(`${state}_`, lines),
  });
  const stateOf = (lines: readonly ShownOrder[]) =>
    lines.every(({ status }) => status === lines[0]?.status) ? (lines[0]?.status ?? '') : 'mixed';
  const [stateBefore, state] = [stateOf(before), stateOf(now)];
  const isKept = (name: string) => ['effective', 'locked', 'paid', 'void'].includes(name);
  return {
    ...{
      key: keyOf(first),
      records: String(now.length),
      order_id: first.id,
      product: first.product ?? null,
      kind: 'sale',
    },
    ...{ publisher_id: '1234', brand: 'acme', dt: first.day, currency, seen_currency: currency, state },
    ...sums('', now),
    ...was('seen', null, reading(1), before),
    ...(isKept(stateBefore) && was(stateBefore, null, reading(1), before)),
    ...(state !== stateBefore && isKept(state) && was(state, reading(1), reading(8), now)),
  };
}

/** mulberry32 */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

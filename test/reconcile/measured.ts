/** Compares exports of the sample service with a lake of the same orders, and counts what the comparison gets wrong. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { CAUSES_SQL, sumsSql, compare, rowsOf } from '../../cli/reconcile/match.ts';
import { MEASURES, type Measure, loadFile } from '../../cli/reconcile/file.ts';
import { literal } from '../../cli/sql-tables.ts';
import { typeSpec } from '../../shared/column-types.ts';
import { lifecycleShape } from '../../shared/lifecycle/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { seedBrand } from '../../sample/seed.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { FORMATS, type ShownOrder } from './exports.ts';
import { KINDS, type KnownOrder, withFaults } from './faults.ts';

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

export const ZONE = 'America/New_York';
const MONTH = '2026-10';

/** Every format with and without faults. @param seed decides orders and faults */
export async function measure(seed: number): Promise<Measured[]> {
  const folder = await temporaryFolder();
  const chance = randomOf(seed);
  const known = ordersOf(seed, chance);
  const lake = await DuckDBInstance.create(':memory:');
  await fillLake(await lake.connect(), known);
  const measured: Measured[] = [];
  for (const [format, { namesCurrency, write }] of Object.entries(FORMATS)) {
    const kinds = KINDS.filter((kind) => kind !== 'other_currency' || namesCurrency);
    const file = join(folder.path, 'export.csv');
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
      const { shown, expected } = withFaults(known, MONTH, injected, chance);
      await writeFile(file, write(shown));
      // Its temporary tables end with the connection.
      const connection = await lake.connect();
      await compareOne(connection, file, { known, expected, result });
      connection.closeSync();
    }
    measured.push(result);
  }
  lake.closeSync();
  await folder.remove();
  return measured;
}

async function compareOne(
  connection: DuckDBConnection,
  file: string,
  {
    known,
    expected,
    result,
  }: { known: readonly KnownOrder[]; expected: ReadonlyMap<string, string>; result: Measured },
) {
  const { columns } = await loadFile(connection, file, {});
  const days = { from: `${MONTH}-01`, to: `${MONTH}-31` };
  const missing = MEASURES.filter((measure) => columns[measure] === undefined);
  await compare(connection, { table: 'order_states', brand: 'acme', ...days, missing, timeZone: ZONE });
  const rows = await rowsOf(connection, 'SELECT order_id, cause FROM differences');
  const causes = Map.groupBy(rows, ([id]) => String(id));
  for (const [id, cause] of expected) {
    // An export without days shows no shift within the month.
    if (
      cause === 'other_day' &&
      !columns.created &&
      known.some(({ now }) => now.id === id && now.day.startsWith(MONTH))
    )
      continue;
    result.faults += 1;
    const found = new Set((causes.get(id) ?? []).map((row) => String(row[1])));
    result.found += found.size > 0 ? 1 : 0;
    result.rightCause += found.size === 1 && found.has(cause) ? 1 : 0;
    if (found.size !== 1 || !found.has(cause))
      result.wrong.push(`${id} is ${cause}, found: ${[...found].join(', ') || 'nothing'}`);
  }
  const alarms = [...causes.keys()].filter((id) => !expected.has(id));
  result.falseAlarms += alarms.length;
  result.wrong.push(...alarms.map((id) => `${id} is right, found: ${causes.get(id)?.map((row) => row[1])}`));
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

/** The orders of the month and of the days beside it. Some were voided or re-priced after the first reading. */
function ordersOf(seed: number, chance: () => number): KnownOrder[] {
  const range = { from: new Date('2026-09-30T12:00:00Z'), to: new Date('2026-11-02T04:00:00Z') };
  const { order_list: held } = seedBrand({ seed, timeZone: ZONE, ...range, clicksPerDay: 20 });
  return held.map(({ at, record }): KnownOrder => {
    const cents = (name: string) => Math.round(Number(JSON.parse(JSON.stringify(record[name]))) * 100);
    const day = new Intl.DateTimeFormat('en-CA', { timeZone: ZONE }).format(at);
    const before: ShownOrder = {
      ...{ id: String(record.transid), at, day, status: String(record.status), currency: 'USD' },
      ...{ amount: cents('amount'), commission: cents('commission') },
    };
    const fate = before.status === 'void' ? 1 : chance();
    if (fate < 0.1) return { before, now: { ...before, status: 'void' } };
    const part = 0.3 + 0.6 * chance();
    const [amount, commission] = [Math.floor(before.amount * part), Math.floor(before.commission * part)];
    return { before, now: fate < 0.2 ? { ...before, amount, commission } : before };
  });
}

async function fillLake(connection: DuckDBConnection, known: readonly KnownOrder[]): Promise<void> {
  const columns = [
    ...(lifecycleShape(orders)?.columns ?? []),
    { name: 'brand', type: 'string' as const },
    { name: 'dt', type: 'string' as const },
  ];
  await connection.run(
    `CREATE TABLE order_states (${columns.map(({ name, type }) => `${name} ${typeSpec(type).duckdb}`).join(', ')})`,
  );
  const rows = known.map(({ before, now }) => lifecycleRow(before, now));
  const values = rows.map((row) => `(${columns.map(({ name }) => literal(row[name])).join(', ')})`);
  await connection.run(`INSERT INTO order_states VALUES ${values.join(', ')}`);
}

/** Two readings: the first on the next day, the second a week later. */
function lifecycleRow(before: ShownOrder, now: ShownOrder): Record<string, string | null> {
  const money = (cents: number) => (cents / 100).toFixed(2);
  const reading = (days: number) => new Date(now.at + days * 86_400_000).toISOString().slice(0, 19);
  const was = (state: string, after: string | null, by: string, { amount, commission }: ShownOrder) => ({
    [`${state}_after`]: after,
    [`${state}_by`]: by,
    [`${state}_amount`]: money(amount),
    [`${state}_commission`]: money(commission),
  });
  const isNew = before.status === 'new';
  return {
    ...{
      key: now.id,
      records: '1',
      order_id: now.id,
      kind: 'sale',
      publisher_id: '1234',
      brand: 'acme',
      dt: now.day,
    },
    ...{ currency: 'USD', seen_currency: 'USD', state: now.status },
    ...{ amount: money(now.amount), commission: money(now.commission) },
    ...was('seen', null, reading(1), before),
    ...(isNew ? {} : was(before.status, null, reading(1), before)),
    ...(now.status === before.status ? {} : was(now.status, reading(1), reading(8), now)),
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

/** Compares exports of the sample service with the lake that it filled, and counts wrong results. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { MEASURES, type Measure, loadFile } from '../../cli/reconcile/file.ts';
import { CAUSES_SQL, compare, rowsOf, sumsSql } from '../../cli/reconcile/match.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { addDays, dayOf } from '../../shared/days.ts';
import { type Json, type JsonObject, isRawNumber, parseJson } from '../../shared/json.ts';
import { reports } from '../../shared/reports/index.ts';
import type { Held } from '../../sample/brand.ts';
import { runCli } from '../cli/run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from '../cli/sample-brand.ts';
import { FORMATS, type ShownOrder } from './exports.ts';
import { KINDS, type Kind, type Known, type Span, keyOf, withFaults } from './faults.ts';

/** The results for exports in one format. */
export interface Measured {
  format: string;
  faults: number;
  found: number;
  rightCause: number;
  /** Differences of orders without a fault, with and without faults elsewhere. */
  falseAlarms: number;
  /** Sums whose differences by cause do not add up to their difference. */
  wrongSums: number;
  wrong: string[];
}

/** A lake that has read each day twice: some records were voided or re-priced in between. */
export interface MeasuredLake {
  sample: SampleBrandForCli;
  span: Span;
  orders: Known[];
  transactions: Known[];
  close(): Promise<void>;
}

const ZONE = 'America/New_York';
const DAYS = 10;

/** Reads ten days of the sample service and the days around them, changes its records, and reads the days again. */
export async function fillLake(): Promise<MeasuredLake> {
  const sample = await serveSampleBrand({ daysBefore: DAYS + 3 });
  const { acme } = sample;
  const span = { from: addDays(sample.today, -DAYS - 2), to: addDays(sample.today, -3) };
  const days = ['--from', addDays(span.from, -1), '--to', addDays(span.to, 1)];
  const read = async () => {
    const reports = ['order_list', 'transaction_list'];
    const { code, stderr } = await runCli(['sync', ...reports, ...days, ...sample.flags]);
    if (code !== 0) throw new Error(stderr);
  };
  const chance = randomOf(1);
  const isRead = ({ at }: Held) =>
    dayOf(at, ZONE) >= addDays(span.from, -1) && dayOf(at, ZONE) <= addDays(span.to, 1);
  const known = (before: readonly Held[], now: readonly Held[], names: Names) => {
    const [first, second] = [before, now].map((held) =>
      Map.groupBy(
        held.filter(isRead).map((each) => shownOf(each, names)),
        keyOf,
      ),
    );
    return [...(first ?? [])].map(([key, lines]): Known => ({ before: lines, now: second?.get(key) ?? [] }));
  };
  await read();
  const { order_list: orders, transaction_list: transactions } = acme.records;
  acme.records.order_list = changed(orders, ORDERS, chance);
  acme.records.transaction_list = changed(transactions, TRANSACTIONS, chance);
  await read();
  return {
    ...{ sample, span, close: () => sample.close() },
    orders: known(orders, acme.records.order_list, ORDERS),
    transactions: known(transactions, acme.records.transaction_list, TRANSACTIONS),
  };
}

/** The fields of a record. */
interface Names {
  id: string;
  product?: string;
  status: string;
  amount: string;
}
const ORDERS: Names = { id: 'transid', status: 'status', amount: 'amount' };
const TRANSACTIONS: Names = { id: 'order_id', product: 'sku', status: 'sku_status', amount: 'sale_amount' };

function shownOf({ at, record }: Held, { id, product, status, amount }: Names): ShownOrder {
  return {
    ...{ id: textOf(record[id]), at, day: dayOf(at, ZONE), status: textOf(record[status]), currency: 'USD' },
    ...{ amount: centsOf(record, amount), commission: centsOf(record, 'commission') },
    ...(product !== undefined && { product: textOf(record[product]) }),
  };
}

function centsOf(record: JsonObject, name: string): number {
  return Math.round(Number(textOf(record[name])) * 100);
}

function textOf(value: Json | undefined): string {
  return isRawNumber(value) ? value.rawJSON : String(value);
}

/** Every tenth order or product is void, and every tenth costs less. */
function changed(held: readonly Held[], names: Names, chance: () => number): Held[] {
  return [...Map.groupBy(held, (each) => keyOf(shownOf(each, names))).values()].flatMap((lines) => {
    const fate = chance();
    const part = 0.3 + 0.6 * chance();
    return lines.map(({ at, record }): Held => {
      const less = (name: string) => parseJson((Math.floor(centsOf(record, name) * part) / 100).toFixed(2));
      const money: JsonObject =
        fate < 0.1 || fate > 0.2
          ? {}
          : { [names.amount]: less(names.amount), commission: less('commission') };
      return { at, record: { ...record, ...money, ...(fate < 0.1 && { [names.status]: 'void' }) } };
    });
  });
}

/** Every format with and without faults. @param seed decides the faults */
export async function measure(lake: MeasuredLake, seed: number): Promise<Measured[]> {
  const file = join(lake.sample.folder, 'export.csv');
  const chance = randomOf(seed);
  const { store } = await openLake(lake.sample.lake);
  const measured: Measured[] = [];
  for (const [format, own] of Object.entries(FORMATS)) {
    const { of = 'orders', namesCurrency } = own;
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
    const table = of === 'orders' ? 'order_states' : 'transaction_states';
    for (const injected of [[], kinds]) {
      const { shown, expected } = withFaults(lake[of], lake.span, injected, chance);
      await writeFile(file, own.write(shown));
      const connection = await createSqlConnection(
        { store, reports, settings: undefined, nowMs: Date.now() },
        `FROM ${table}`,
      );
      await compareOne(connection, { file, table, span: lake.span, expected, result });
      connection.closeSync();
    }
    measured.push(result);
  }
  return measured;
}

interface Export {
  file: string;
  table: string;
  span: Span;
  expected: ReadonlyMap<string, Kind>;
  result: Measured;
}

async function compareOne(
  connection: DuckDBConnection,
  { file, table, span, expected, result }: Export,
): Promise<void> {
  const { columns } = await loadFile(connection, file, {});
  const measures = MEASURES.filter((measure) => columns[measure] !== undefined);
  await compare(connection, { table, brand: 'acme', ...span, measures, timeZone: ZONE });
  const inMonth = await rowsOf(
    connection,
    `SELECT concat(order_id, ' ', product) FROM ${table} WHERE dt BETWEEN '${span.from}' AND '${span.to}'`,
  );
  const rows = await rowsOf(connection, "SELECT concat(order_id, ' ', product), cause FROM differences");
  const causes = Map.groupBy(rows, ([key]) => String(key));
  for (const [key, cause] of expected) {
    // An export without days cannot show another day.
    if (cause === 'other_day' && !columns.created && inMonth.flat().includes(key)) continue;
    // An order that is missing completely is compared as a whole.
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
  result.wrongSums += await wrongSums(connection, measures);
}

async function wrongSums(connection: DuckDBConnection, measures: readonly Measure[]): Promise<number> {
  const causes = await rowsOf(connection, CAUSES_SQL);
  const sums = await rowsOf(connection, sumsSql(measures));
  return sums.filter(([currency, measure, , , difference]) => {
    const at = 4 + (measure === measures[0] ? 0 : 1);
    const own = causes.filter(([of]) => of === currency);
    return own.reduce((all, row) => all + units(row[at]), 0n) !== units(difference);
  }).length;
}

/** In billionths. */
function units(decimal: unknown): bigint {
  const [whole = '0', places = ''] = String(decimal).split('.');
  return BigInt(whole + places.padEnd(9, '0'));
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

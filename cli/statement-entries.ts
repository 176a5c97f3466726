/**
 * Collects the entries of statements in DuckDB: the lines of a month, and what became of lines of months that were closed
 * before. Both come from exactly named objects: a close names them, or the ledgers if the month is not closed. So the
 * statement of a closed month stays the same as long as the close exists.
 */
import type { DuckDBConnection, Json } from '@duckdb/node-api';
import { monthOf } from '../shared/days.ts';
import { BrandReportsError } from '../shared/errors.ts';
import { type Close, type ClosedDay, namedDays } from '../shared/lake/documents/close.ts';
import { versionKey } from '../shared/lake/paths.ts';
import { orders } from '../shared/reports/orders.ts';
import { transactions } from '../shared/reports/transactions.ts';
import { printedCommand } from './printed-command.ts';
import type { SnapshotFiles } from './snapshot-cache.ts';
import { PARTITION_COLUMNS, literal, rowsOfFiles } from './sql-tables.ts';

/** The reports that have the money of the same orders: of a month, the first one that has records. */
export const SOURCES = [transactions, orders];

/** What the statement of a brand and month is made from. */
export interface StatementSource {
  /** The close of the month, or what a close would name now. */
  at: Close;
  isClosed: boolean;
  /** The closes before it, in their order. */
  before: readonly Close[];
}

const TABLE_SQL = `CREATE TABLE entries (brand varchar, month varchar, closed_at timestamp, publisher_id varchar,
  publisher_name varchar, entry varchar, day varchar, order_id varchar, product varchar, kind varchar, records integer,
  state_then varchar, state varchar, amount decimal(38,9), commission decimal(38,9), counted_then decimal(38,9),
  counted_now decimal(38,9), counted decimal(38,9), currency varchar, key varchar)`;

/** Entries in an order that never changes, by publisher, its lines first. */
export function entriesSql(columns: string, where = 'true'): string {
  return `SELECT ${columns} FROM entries WHERE ${where}
ORDER BY brand, publisher_id NULLS LAST, entry DESC, currency NULLS LAST, day, order_id, product, kind, key, state, amount`;
}

/**
 * The sums by publisher (`is_all`: of all), currency and `part`: the state of lines, or the month from which entries are
 * carried over. The `entry` `total` has what counts of both.
 */
export const TOTALS_SQL = `SELECT brand, publisher_id, max(publisher_name) AS publisher_name, grouping(publisher_id) = 1 AS is_all,
  currency, coalesce(entry, 'total') AS entry, part, CAST(sum(records) AS varchar) AS records, sum(amount) AS amount,
  sum(commission) AS commission, sum(counted) AS counted
FROM (SELECT *, CASE entry WHEN 'line' THEN state ELSE substr(day, 1, 7) END AS part FROM entries)
GROUP BY GROUPING SETS ((brand, publisher_id, currency, entry, part), (brand, publisher_id, currency),
  (brand, currency, entry, part), (brand, currency))
ORDER BY brand, is_all, publisher_id NULLS LAST, currency NULLS LAST, entry = 'total', entry DESC, part NULLS LAST`;

/** A row of a result: decimals are text, with all their digits. */
export type Fact = Readonly<Record<string, Json>>;

/** What one publisher gets. Rows have the columns of `entries`. */
export interface PublisherPart {
  id: Json;
  name: Json;
  totals: Fact[];
  lines: Fact[];
  carried: Fact[];
}

/** The sums of all brands. */
export async function readTotals(connection: DuckDBConnection): Promise<Fact[]> {
  return (await connection.runAndReadAll(TOTALS_SQL)).getRowObjectsJson();
}

/** The publishers of a brand, one by one, so that memory holds the rows of one of them. */
export async function* publisherParts(
  connection: DuckDBConnection,
  brand: string,
  totals: readonly Fact[],
): AsyncGenerator<PublisherPart> {
  const own = totals.filter((total) => total.brand === brand && total.is_all === false);
  for (const [id = null, ofPublisher] of Map.groupBy(own, (total) => total.publisher_id)) {
    const publisher = typeof id === 'string' ? id : null;
    const rowsOf = async (entry: string, columns: string) => {
      const where = `brand = ${literal(brand)} AND publisher_id IS NOT DISTINCT FROM ${literal(publisher)} AND entry = '${entry}'`;
      return (await connection.runAndReadAll(entriesSql(columns, where))).getRowObjectsJson();
    };
    yield {
      id,
      name: ofPublisher[0]?.publisher_name ?? null,
      totals: ofPublisher.map(sumsOf),
      lines: await rowsOf('line', `${RECORD}, state, records, amount, commission, counted, currency`),
      carried: await rowsOf(
        'carried',
        `${RECORD}, state_then, state, counted_then, counted_now, counted, currency`,
      ),
    };
  }
}

const RECORD = 'day, order_id, product, kind';

/** The sums of a row of totals, without whose they are. */
export function sumsOf({
  brand: _brand,
  publisher_id: _id,
  publisher_name: _name,
  is_all: _all,
  ...sums
}: Fact): Fact {
  return sums;
}

/** What a record adds to the sum that the publisher gets. */
const COUNTED_SQL = `CASE WHEN records = 0 OR state = 'void' THEN 0 ELSE commission END`;

/**
 * Fills the table `entries`.
 * @param publisher only this one
 * @throws BrandReportsError `config` if an object is missing or damaged: a statement without its rows would be wrong
 */
export async function addEntries(
  connection: DuckDBConnection,
  files: SnapshotFiles,
  sources: readonly StatementSource[],
  publisher: string | undefined,
): Promise<void> {
  await connection.run(TABLE_SQL);
  for (const source of sources) {
    const { brand, month, closedAt } = source.at;
    const head = [brand, month, source.isClosed ? new Date(closedAt) : null].map(literal).join(', ');
    const rowsOf = async (side: string, days: readonly ClosedDay[]) => {
      const keys = days.flatMap((day) => keyOf(brand, day));
      const paths = await files.pathsOf(keys);
      const byKey = new Map(keys.map((key, index) => [key, paths[index] ?? '']));
      const more = [`${COUNTED_SQL} AS counted`, `${literal(side)} AS side`].join(', ');
      return keys.length === 0 ? [] : [rowsOfFiles(byKey, PARTITION_COLUMNS, more)];
    };
    const [then, now] = changedDays(source);
    const rows = [
      ...(await rowsOf('line', daysAt([source.at], month).days)),
      ...(await rowsOf('then', then)),
      ...(await rowsOf('now', now)),
    ];
    const only = publisher === undefined ? 'true' : `publisher_id = ${literal(publisher)}`;
    const from = `FROM (${rows.join(' UNION ALL BY NAME ')}) WHERE ${only}`;
    if (rows.length > 0)
      await connection
        .run(`INSERT INTO entries ${linesSql(head, from)} UNION ALL ${carriedSql(head, from)}`)
        .catch(unreadable);
  }
}

function linesSql(head: string, from: string): string {
  return `SELECT ${head}, publisher_id, publisher_name, 'line', dt, order_id, product, kind, records, NULL, state, amount, commission,
  NULL, counted, counted, currency, key ${from} AND side = 'line' AND records > 0`;
}

/** The records whose value differs between the close before and this one; one that is not there counts 0. */
function carriedSql(head: string, from: string): string {
  const of = (side: string) => `coalesce(sum(counted) FILTER (side = '${side}'), 0)`;
  const stateOf = (side: string) => `max(state) FILTER (side = '${side}' AND records > 0)`;
  return `SELECT ${head}, publisher_id, max(publisher_name), 'carried', dt, max(order_id), max(product), kind, NULL,
  ${stateOf('then')}, coalesce(${stateOf('now')}, 'gone'), NULL, NULL, ${of('then')}, ${of('now')}, ${of('now')} - ${of('then')}, currency, key
${from} AND side <> 'line' GROUP BY publisher_id, dt, kind, currency, key HAVING ${of('then')} <> ${of('now')}`;
}

/** The versions of a month's days that the last of these name, and which report the statement is made from. */
export function daysAt(stated: readonly Close[], month: string) {
  const named = stated.flatMap(namedDays);
  const ofMonth = named.filter(({ day }) => monthOf(day) === month);
  const newest = [...new Map(ofMonth.map((each) => [`${each.report} ${each.day}`, each])).values()];
  // Orders and transactions are the same money.
  const source = newest.some(({ report, rows }) => report === transactions.name && rows > 0)
    ? transactions
    : orders;
  return { source, days: newest.filter(({ report }) => report === source.name) };
}

/** The days of earlier closed months that are not as the close before has them: as they were then, and as they are. */
function changedDays({ at, before }: StatementSource): [then: ClosedDay[], now: ClosedDay[]] {
  const sides = [...new Set(before.map(({ month }) => month))].map((month) => {
    const then = daysAt(before, month).days;
    const now = daysAt([...before, at], month).days;
    const without = (days: ClosedDay[], others: ClosedDay[]) =>
      days.filter((day) => !others.some(({ lifecycle }) => lifecycle?.snapshot === day.lifecycle?.snapshot));
    return [without(then, now), without(now, then)] as const;
  });
  return [sides.flatMap(([then]) => then), sides.flatMap(([, now]) => now)];
}

/** @throws BrandReportsError `config` for a version that an older program wrote: what became of its records is not known */
function keyOf(brand: string, { report, day, rows, lifecycle }: ClosedDay): string[] {
  const { table } = SOURCES.find(({ name }) => name === report)?.lifecycle ?? {};
  if (table !== undefined && lifecycle) return [versionKey(table, brand, day, lifecycle.snapshot)];
  if (rows === 0) return [];
  const rebuild = printedCommand('rebuild', [report, '--brand', brand, '--from', day, '--to', day]);
  const message = `${report} ${day} of ${brand} has no states of records: an older program wrote it. Next step: ${rebuild}`;
  throw new BrandReportsError('config', 'no_states', message);
}

function unreadable(thrown: unknown): never {
  const [why] = (thrown instanceof Error ? thrown.message : String(thrown)).split('\n', 1);
  const message = `Rows of the statement cannot be read: ${why}. "${printedCommand('verify')}" shows what to do.`;
  throw new BrandReportsError('config', 'statement_unreadable', message);
}

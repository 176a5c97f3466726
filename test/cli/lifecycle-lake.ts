/**
 * Writes a lake in a folder whose ledgers and closes name lifecycle tables, without a service: a test provides the rows of each
 * version.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { literal } from '../../cli/sql-tables.ts';
import { typeSpec } from '../../shared/column-types.ts';
import { monthOf } from '../../shared/days.ts';
import type { Close, ClosedDay } from '../../shared/lake/documents/close.ts';
import { LAKE_FORMAT } from '../../shared/lake/documents/lake-format.ts';
import { FORMAT_KEY, closeKey, ledgerKey, schemaKey, versionKey } from '../../shared/lake/paths.ts';
import { baseSchema } from '../../shared/lake/table/columns.ts';
import { lifecycleShape } from '../../shared/lifecycle/index.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { transactions } from '../../shared/reports/transactions.ts';

export const BRAND = 'acme';

/** A record of a version; missing columns are NULL, except `records`, which is 1. */
export type StateRow = Partial<
  Record<
    | 'key'
    | 'order_id'
    | 'product'
    | 'kind'
    | 'publisher_id'
    | 'publisher_name'
    | 'currency'
    | 'state'
    | 'amount'
    | 'commission'
    | 'counted_commission',
    string | null
  >
> & { records?: number };

/** The counted amounts of a row with one record. */
export function countedIn({ records, state, commission }: StateRow): string {
  return records === 0 || state === 'void' ? '0' : (commission ?? '0');
}

/** Writes a version of a day. @returns its entry for a close */
export async function writeVersion(
  folder: string,
  report: 'order_list' | 'transaction_list',
  day: string,
  snapshot: string,
  rows: readonly StateRow[],
): Promise<ClosedDay> {
  const shape = lifecycleShape(reports[report] ?? {});
  if (!shape) throw new Error(`${report} has states`);
  const object = { snapshot, rows: rows.length, bytes: 1, digest: snapshot };
  const read = { report, day, ...object, readFrom: `${day}T23:00:00.000Z`, timeZone: 'UTC' };
  if (rows.length === 0) return read;
  const path = join(folder, versionKey(shape.name, BRAND, day, snapshot));
  await mkdir(dirname(path), { recursive: true });
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const columns = shape.columns.map(({ name, type }) => `${name} ${typeSpec(type).duckdb}`).join(', ');
  const inserts = rows.map((row) => {
    const values = Object.entries({ records: 1, kind: 'sale', counted_commission: countedIn(row), ...row });
    const cells = values.map(([, value]) => (value === null ? 'NULL' : literal(String(value))));
    return `INSERT INTO rows (${values.map(([name]) => name).join(', ')}) VALUES (${cells.join(', ')})`;
  });
  const copy = `COPY rows TO ${literal(path)} (FORMAT parquet)`;
  await connection.run([`CREATE TABLE rows (${columns})`, ...inserts, copy].join('; '));
  connection.closeSync();
  return { ...read, lifecycle: object };
}

/**
 * Replaces the ledgers by ledgers that name these versions, each day once.
 * @param fields of the records, besides their commission
 */
export async function writeLedgers(
  folder: string,
  days: readonly ClosedDay[],
  fields: readonly string[] = ['status'],
): Promise<void> {
  await write(folder, FORMAT_KEY, { format: LAKE_FORMAT });
  const discovered = ['commission', ...fields].map((name) => ({ name, type: 'string', field: name }));
  for (const { table } of [orders, transactions]) {
    const columns = [...discovered, ...baseSchema([]).columns];
    await write(folder, schemaKey(table), { version: 1, table, columns, recentWrites: [] });
  }
  const ledgers = Map.groupBy(days, ({ report, day }) => ledgerKey(report, BRAND, monthOf(day)));
  for (const [key, own] of ledgers) {
    const [first] = own;
    if (!first) continue;
    const entries = own.map(({ report: _report, day, lifecycle, ...version }) => {
      const read = { readTo: version.readFrom, attempt: version.snapshot, pages: 1, queryFingerprint: 'q' };
      const committed = {
        ...version,
        ...read,
        published: true,
        state: 'closed',
        ...(lifecycle && { lifecycle: { ...lifecycle, basis: 'b' } }),
      };
      return [day, { committed }];
    });
    const scope = { report: first.report, brand: BRAND, month: monthOf(first.day) };
    await write(folder, key, { version: 1, ...scope, days: Object.fromEntries(entries), recentWrites: [] });
  }
}

export async function writeClose(
  folder: string,
  month: string,
  named: Partial<Pick<Close, 'days' | 'carried' | 'exceptions' | 'closedAt'>>,
): Promise<void> {
  const closedAt = `${month}-28T12:00:00.000Z`;
  const head = { version: 1, brand: BRAND, month, closedAt, tables: {}, recentWrites: [] };
  await write(folder, closeKey(BRAND, month), { ...head, days: [], carried: [], exceptions: [], ...named });
}

async function write(folder: string, key: string, document: unknown): Promise<void> {
  await mkdir(dirname(join(folder, key)), { recursive: true });
  await writeFile(join(folder, key), JSON.stringify(document));
}

import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { literal } from '../../cli/sql-tables.ts';
import { type Value, typeSpec } from '../../shared/column-types.ts';
import { decimalText } from '../../shared/exact-values.ts';
import { findingSql } from '../../shared/findings/index.ts';
import { lifecycleShape } from '../../shared/lifecycle/index.ts';
import { LIFECYCLE_CHECKS } from '../../shared/reports/lifecycle-checks.ts';
import { reports } from '../../shared/reports/index.ts';
import { transactions } from '../../shared/reports/transactions.ts';
import { runs } from '../fixtures/property-runs.ts';

type Row = Record<string, Value | null>;

const COLUMNS = lifecycleShape(transactions)?.columns ?? [];
const place = {
  ...{ brand: 'acme', day: '2026-10-15', report: transactions, reports, hasChanges: false },
  ...{ columnsOf: () => new Set<string>(), fieldsOf: () => ({}), state: { fields: [], words: [] } },
};

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(':memory:')).connect();
  const columns = COLUMNS.map(({ name, type }) => `${name} ${typeSpec(type).duckdb}`).join(', ');
  await connection.run(`CREATE TABLE transaction_states (${columns}, brand varchar, dt varchar)`);
});
afterAll(() => connection.closeSync());

/** The keys of the rows that each check’s query returns, and the keys of the rows that it counts. */
async function found(rows: readonly Row[]): Promise<Record<'shown' | 'counted', Record<string, string>>> {
  await connection.run('DELETE FROM transaction_states');
  const keyed = rows.map((row, index): Row => ({ ...row, key: String(index) }));
  for (const row of keyed) {
    const cells = Object.entries(row).map(([name, value]) =>
      /amount|commission/.test(name) && typeof value === 'bigint' ? decimalText(value, 9) : literal(value),
    );
    const names = Object.keys(row).join();
    await connection.run(
      `INSERT INTO transaction_states (${names}, brand, dt) VALUES (${cells.join()}, 'acme', '2026-10-15')`,
    );
  }
  await connection.run(
    `INSERT INTO transaction_states SELECT * REPLACE ('globex' AS brand) FROM transaction_states`,
  );
  const shown: Record<string, string> = {};
  const counted: Record<string, string> = {};
  for (const check of LIFECYCLE_CHECKS) {
    if (check.rule !== 'lifecycle') throw new Error(`${check.name} is none`);
    const read = await connection.runAndReadAll(findingSql(check.name, place) ?? 'no query');
    const keys = read
      .getRowObjectsJson()
      .map(({ key }) => Number(key))
      .sort((a, b) => a - b);
    if (keys.length > 0) shown[check.name] = keys.join();
    const own = keyed.flatMap((row, index) => (check.holds(row) ? [index] : []));
    if (own.length > 0) counted[check.name] = own.join();
  }
  return { shown, counted };
}

const at = (hours: number) => new Date(Date.UTC(2026, 9, 20) + hours * 3_600_000);
const SALE: Row = {
  kind: 'sale',
  records: 1n,
  state: 'new',
  amount: 100n,
  commission: 10n,
  currency: 'USD',
  seen_currency: 'USD',
};
const PAID: Row = { ...SALE, state: 'paid', locked_by: at(0), paid_after: at(0), paid_by: at(30) };
const { locked_by: _locked, ...UNLOCKED } = PAID;

describe('an odd lifecycle row', () => {
  it.each<[string, Row, check: string | undefined]>([
    ['a record that was locked and paid', PAID, undefined],
    ['a paid record that is void', { ...PAID, state: 'void' }, 'reversed_after_paid'],
    ['a paid record that is gone', { ...PAID, records: 0n }, 'reversed_after_paid'],
    ['a void record that was never paid', { ...SALE, state: 'void' }, undefined],
    ['a record that was paid between readings and never locked', UNLOCKED, 'paid_without_locked'],
    ['a record that was first seen as paid', { ...UNLOCKED, paid_after: null }, undefined],
    [
      'a record read so seldom that a lock may have come and gone',
      { ...UNLOCKED, paid_by: at(36) },
      undefined,
    ],
    ['a bonus, which is never locked', { ...UNLOCKED, kind: 'bonus' }, undefined],
    ['a commission above the amount', { ...SALE, commission: 101n }, 'commission_above_amount'],
    ['a commission equal to the amount', { ...SALE, commission: 100n }, undefined],
    ['a bonus, which has no amount of its own', { ...SALE, kind: 'bonus', commission: 101n }, undefined],
    ['an amount of 0', { ...SALE, amount: 0n }, undefined],
    ['no amount', { ...SALE, amount: null }, undefined],
    ['a refund', { ...SALE, amount: -100n, commission: -10n }, undefined],
    ['a currency other than the first', { ...SALE, currency: 'EUR' }, 'currency_changed'],
    ['a currency that was added later', { ...SALE, seen_currency: null }, undefined],
  ])('is judged for %s', async (_name, row, check) => {
    const expected = check === undefined ? {} : { [check]: '0' };
    expect(await found([row])).toEqual({ shown: expected, counted: expected });
  });

  it('is counted by the same condition as in its query, whatever its values', async () => {
    const nullable = <T>(...values: T[]) => fc.constantFrom(...values, null);
    const row: fc.Arbitrary<Row> = fc.record({
      ...{ kind: nullable('sale', 'bonus'), records: nullable(0n, 1n, 2n), state: nullable('void', 'paid') },
      ...{ amount: nullable(-1n, 0n, 1n, 10n ** 37n), commission: nullable(-2n, 0n, 1n, 10n ** 37n + 1n) },
      ...{ currency: nullable('USD', 'EUR'), seen_currency: nullable('USD', 'EUR') },
      ...{
        locked_by: nullable(at(0)),
        paid_after: nullable(at(0), at(1)),
        paid_by: nullable(at(1), at(36), at(37)),
      },
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 20, maxLength: 20 }), async (rows) => {
        const { shown, counted } = await found(rows);
        expect(counted).toEqual(shown);
      }),
      runs(15),
    );
  });
});

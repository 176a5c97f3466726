import type { ReportView } from '../definition.ts';
import { changedSql } from './reversed.ts';
import { SUM } from './view-sql.ts';

/** Between readings that are further apart, a lock may have appeared and vanished. */
const LOCK_HOURS = 36;
const TABLES = ['orders', 'transactions'] as const;

/** The checks of one row of `order_states` or `transaction_states`, by name. */
const CHECKS: Readonly<Record<string, string>> = {
  paid_without_locked: `kind = 'sale' AND locked_by IS NULL AND has_locked = 1 AND paid_by < paid_after + INTERVAL '${LOCK_HOURS}' HOUR`,
  commission_above_amount: "kind = 'sale' AND records > 0 AND amount > 0 AND commission > amount",
  currency_changed: 'records > 0 AND currency <> seen_currency',
};

/** Facts about a record that anyone who pays publishers needs. */
export const lifecycleChecks: ReportView = {
  name: 'lifecycle_checks',
  description:
    'Records that look wrong before they are paid: reversed after paid, paid without locked, commission above amount, currency changed',
  columns: [
    ['brand', 'string', 'The brand'],
    ['report', 'string', 'orders or transactions'],
    ['dt', 'string', 'The day of the record; of a reversed record, the day on which it was first paid'],
    ['key', 'string', 'The key of the record; NULL: it was paid, has no key and is gone'],
    ['what', 'string', 'reversed_after_paid, paid_without_locked, commission_above_amount, currency_changed'],
    ['order_id', 'string', 'The id of the order'],
    ['product', 'string', 'The product of the line; NULL: the line has no product'],
    ['publisher_id', 'string', 'The id of the publisher'],
    ['currency', 'string', 'The currency of the commission'],
    ['commission', SUM, 'The commission; of a reversed record, what no longer counts; NULL: not known'],
  ],
  tables: ['order_history', 'transaction_history', 'order_states', 'transaction_states', 'coverage'],
  sql: `${TABLES.map(checksSql).join('\nUNION ALL\n')}
UNION ALL
SELECT brand, CAST(report AS varchar), dt, key, CAST('reversed_after_paid' AS varchar), order_id, product, publisher_id, currency, paid
FROM (${changedSql([], ['order_id', 'product'])}) AS changed
WHERE unknown > 0 OR paid > 0`,
};

function checksSql(table: (typeof TABLES)[number]): string {
  const cases = Object.entries(CHECKS).map(([name, sql]) => `WHEN '${name}' THEN ${sql}`);
  const names = Object.keys(CHECKS).map((name) => `(CAST('${name}' AS varchar))`);
  return `SELECT brand, CAST('${table}' AS varchar) AS report, dt, key, what, order_id, product, publisher_id, currency, commission
FROM (
  SELECT *, max(CASE WHEN locked_by IS NULL THEN 0 ELSE 1 END) OVER (PARTITION BY brand, dt) AS has_locked
  FROM ${table.slice(0, -1)}_states
) AS of_days CROSS JOIN (VALUES ${names.join(', ')}) AS checks(what)
WHERE CASE what ${cases.join(' ')} END`;
}

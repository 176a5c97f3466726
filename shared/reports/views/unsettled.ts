import { FINAL_STATES, type ReportView } from '../definition.ts';
import { SUM, NOW_SQL, UNKNOWN_AMOUNTS, listSql, recordsSql, sumSql, unknownAmountsSql } from './view-sql.ts';

const FIELDS = ['state', 'currency', 'commission', 'has_states'];
const commissionOf = (table: string) => ({
  amount: 'commission',
  of: `origin = '${table}'`,
  known: `has_states OR origin <> '${table}'`,
});

/**
 * An order and its transactions are the same money, so they have separate columns: in separate rows they would be added
 * up.
 */
export const unsettled: ReportView = {
  name: 'unsettled',
  description:
    'Orders and transactions that can still change, and their sums, by day, age and state; both tables have the same money, so do not add them up',
  columns: [
    ['brand', 'string', 'The brand'],
    ['dt', 'string', "The day of the order, in the brand's time zone"],
    ['age_days', 'bigint', 'The age of the day in days, up to today in UTC'],
    ['age', 'string', '0 to 30 days, 31 to 60 days, 61 to 90 days, over 90 days'],
    ['state', 'string', `Any state but ${FINAL_STATES.join(', ')}; NULL: no state`],
    ['currency', 'string', 'The currency of the sums; NULL: not known'],
    ['orders', 'bigint', 'Orders in this state, including bonuses'],
    ['orders_commission', SUM, 'Their commission'],
    ['transactions', 'bigint', 'Transactions in this state, including bonuses'],
    ['transactions_commission', SUM, 'Their commission'],
    UNKNOWN_AMOUNTS,
  ],
  tables: ['order_history', 'transaction_history'],
  sql: `SELECT brand, dt, age_days,
  CAST(CASE
    WHEN age_days <= 30 THEN '0 to 30 days'
    WHEN age_days <= 60 THEN '31 to 60 days'
    WHEN age_days <= 90 THEN '61 to 90 days'
    ELSE 'over 90 days'
  END AS varchar) AS age,
  state, currency, orders, orders_commission, transactions, transactions_commission, unknown_amounts
FROM (
  SELECT brand, dt,
    CAST(greatest(date_diff('day', CAST(dt AS date), CAST(${NOW_SQL} AS date)), 0) AS bigint) AS age_days,
    state, currency,
    CAST(count(CASE WHEN origin = 'orders' THEN 1 END) AS bigint) AS orders,
    ${sumSql(commissionOf('orders'))} AS orders_commission,
    CAST(count(CASE WHEN origin = 'transactions' THEN 1 END) AS bigint) AS transactions,
    ${sumSql(commissionOf('transactions'))} AS transactions_commission,
    ${unknownAmountsSql(commissionOf('orders'), commissionOf('transactions'))}
  FROM (
    ${recordsSql('orders', FIELDS)}
    UNION ALL
    ${recordsSql('transactions', FIELDS)}
  ) AS records
  WHERE state IS NULL OR state NOT IN (${listSql(FINAL_STATES)})
  GROUP BY brand, dt, state, currency
) AS sums`,
};

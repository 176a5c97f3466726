import type { ReportView } from '../definition.ts';
import { SUM, UNKNOWN_AMOUNTS, recordsSql, allSql, sumSql, unknownAmountsSql } from './view-sql.ts';

const FIELDS = [
  'kind',
  'publisher_id',
  'publisher_name',
  'currency',
  'state',
  'has_states',
  'amount',
  'commission',
];
const COUNTS = ['orders', 'orders_new', 'orders_effective', 'orders_void'];
const SUMS = ['amount', 'commission', 'commission_new', 'commission_effective', 'commission_void', 'bonus'];
const SHOWN = [...COUNTS, ...SUMS, UNKNOWN_AMOUNTS[0]].join(', ');

const NOT_VOID = "state IS DISTINCT FROM 'void'";
const AMOUNT = {
  amount: 'amount',
  of: `kind = 'sale' AND ${NOT_VOID}`,
  known: 'has_states',
};
const COMMISSION = {
  amount: 'commission',
  of: "kind <> 'click'",
  known: 'has_states',
};

function ordersSql(state: string): string {
  const orders = `count(CASE WHEN kind = 'sale' AND state = '${state}' THEN 1 END)`;
  return `CAST(CASE WHEN ${allSql('has_states')} THEN ${orders} END AS bigint) AS orders_${state}`;
}

function commissionSql(of: string): string {
  return sumSql({ ...COMMISSION, of });
}

/**
 * Adds up clicks and orders of a day separately and stacks them instead of joining them: a join would repeat one side
 * for each row of the other. Bonuses are not orders, and void orders bring no commission. Amounts in two currencies are
 * never added. Clicks have no currency, and appear in the first row of their publisher and day.
 */
export const publisherPerformance: ReportView = {
  name: 'publisher_performance',
  description: 'Clicks, orders by state, amounts and commissions, by day, publisher and currency',
  columns: [
    ['brand', 'string', 'The brand'],
    ['dt', 'string', "The day of the click or order in the brand's time zone; its click may be earlier"],
    ['publisher_id', 'string', 'The publisher; NULL: records without one'],
    ['publisher_name', 'string', 'The name of the publisher in its orders of the day; NULL: no order has it'],
    ['currency', 'string', 'The currency of the amounts; NULL: not known, or the row has only clicks'],
    ['clicks', 'bigint', 'Clicks; if a publisher has several currencies on a day, the first row has all'],
    ['orders', 'bigint', 'Orders in any state, without bonuses and campaign payments'],
    ['orders_new', 'bigint', 'Orders in the state new, which may still become effective or void'],
    ['orders_effective', 'bigint', 'Orders in the state effective'],
    ['orders_void', 'bigint', 'Orders that were cancelled'],
    ['amount', SUM, 'The amount of the orders that are not void'],
    ['commission', SUM, 'Commission that is not void, including bonuses and campaign payments'],
    ['commission_new', SUM, 'The part of commission in the state new, which may still become void'],
    ['commission_effective', SUM, 'The part of commission in the state effective'],
    ['commission_void', SUM, 'Commission that was cancelled; not part of commission'],
    ['bonus', SUM, 'The part of commission that is for bonuses and campaign payments'],
    UNKNOWN_AMOUNTS,
  ],
  tables: ['click_channels', 'order_history'],
  sql: `SELECT brand, dt, publisher_id, publisher_name, currency,
  CAST(CASE WHEN row_of_publisher = 1 THEN clicks ELSE 0 END AS bigint) AS clicks,
  ${SHOWN}
FROM (
  SELECT brand, dt, publisher_id, currency,
    sum(clicks) OVER (PARTITION BY brand, dt, publisher_id) AS clicks,
    row_number() OVER (
      PARTITION BY brand, dt, publisher_id ORDER BY has_orders DESC, currency NULLS LAST
    ) AS row_of_publisher,
    has_orders, publisher_name, ${SHOWN}
  FROM (
    SELECT brand, dt, publisher_id, currency,
      max(CASE WHEN kind = 'click' THEN 0 ELSE 1 END) AS has_orders,
      CAST(max(publisher_name) AS varchar) AS publisher_name,
      CAST(count(CASE WHEN kind = 'click' THEN 1 END) AS bigint) AS clicks,
      CAST(count(CASE WHEN kind = 'sale' THEN 1 END) AS bigint) AS orders,
      ${['new', 'effective', 'void'].map(ordersSql).join(',\n      ')},
      ${sumSql(AMOUNT)} AS amount,
      ${commissionSql(NOT_VOID)} AS commission,
      ${commissionSql("state = 'new'")} AS commission_new,
      ${commissionSql("state = 'effective'")} AS commission_effective,
      ${commissionSql("state = 'void'")} AS commission_void,
      ${commissionSql(`kind = 'bonus' AND ${NOT_VOID}`)} AS bonus,
      ${unknownAmountsSql(AMOUNT, COMMISSION)}
    FROM (
    ${recordsSql('clicks', FIELDS)}
    UNION ALL
    ${recordsSql('orders', FIELDS)}
    ) AS records
    GROUP BY brand, dt, publisher_id, currency
  ) AS sums
) AS numbered
WHERE has_orders = 1 OR row_of_publisher = 1`,
};

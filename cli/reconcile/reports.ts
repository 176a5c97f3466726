/*
 * Compares the reports of a brand with each other. Transactions take the place of the file and are compared with orders, order
 * by order. Attribution has no money and different publisher ids, so only its days and clicks are compared.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { literal } from '../sql-tables.ts';
import { type Comparison, compare, rowsOf } from './match.ts';

/** The tables and views that `compareReports` reads. */
export const REPORT_RELATIONS = [
  'order_states',
  'transaction_states',
  'coverage',
  'attribution_daily',
  'publisher_performance',
];

/** Creates the tables of `compare`, and the table `days`. @returns the compared days, and notes for people */
export async function compareReports(connection: DuckDBConnection, comparison: Comparison) {
  const isOwn = `brand = ${literal(comparison.brand)}`;
  const { publisher } = comparison;
  const isRead = publisher === undefined ? isOwn : `${isOwn} AND publisher_id = ${literal(publisher)}`;
  await connection.run(`CREATE TEMP TABLE theirs AS SELECT row_number() OVER () AS line, order_id AS id, NULL::varchar AS product, dt AS created, currency, unnest(CASE WHEN state = 'void' THEN [true] WHEN counted_commission <> commission THEN [true, false] ELSE [false] END) AS is_void,
    0::decimal(38,9) AS amount, 1 AS amount_unit, CASE WHEN is_void THEN COALESCE(commission, 0) - counted_commission ELSE counted_commission END AS commission, CAST(0.01 * records AS decimal(38,9)) AS commission_unit FROM transaction_states WHERE ${isRead} AND records > 0`);
  const { from, to, notes } = await compare(connection, comparison);
  const isIn = `dt BETWEEN ${literal(from)} AND ${literal(to)}`;
  const isMissing = (report: string, day: string) =>
    `NOT EXISTS (SELECT 1 FROM coverage AS c WHERE c.${isOwn} AND c.report = '${report}' AND c.dt = CAST(${day} AS varchar) AND rows IS NOT NULL)`;
  const of = (table: string, kind: string) =>
    `order_id IN (SELECT order_id FROM ${table} WHERE ${isRead} AND kind = '${kind}')`;
  await connection.run(`UPDATE differences SET cause = CASE
      WHEN cause = 'missing_here' AND ${isMissing('order_list', 'file_day')} OR cause = 'missing_there' AND ${isMissing('transaction_list', 'lake_day')} THEN 'day_missing'
      WHEN cause = 'missing_here' AND ${of('transaction_states', 'bonus')} OR cause = 'missing_there' AND ${of('order_states', 'bonus')} THEN 'bonus'
      WHEN cause IN ('unexplained', 'voided_since') AND abs((SELECT sum(commission) FROM theirs WHERE id = differences.order_id) - (SELECT sum(last_commission) FROM our_lines WHERE id = differences.order_id))
        < (SELECT sum(commission_unit) FROM theirs WHERE id = differences.order_id) THEN 'void_on_one_side' ELSE cause END;
    UPDATE differences SET explained = cause = 'bonus' WHERE cause IN ('bonus', 'void_on_one_side')`);
  const only =
    "COALESCE(currency, (SELECT CASE WHEN count(DISTINCT cur) = 1 THEN min(cur) END FROM our_groups), '')";
  const side = (table: string, values: string) =>
    `SELECT dt, publisher_id, ${only} AS currency, ${values} FROM ${table} WHERE ${isRead} AND records > 0 AND ${isIn}`;
  await connection.run(`CREATE TEMP TABLE days AS
    WITH sides AS (${side('order_states', `order_id AS ordered, NULL AS transacted, counted_commission AS orders_commission, 0 AS transactions_commission`)}
      UNION ALL ${side('transaction_states', `NULL, order_id, 0, counted_commission`)}),
    causes AS (SELECT dt, publisher_id, string_agg(DISTINCT cause, ', ' ORDER BY cause) AS causes FROM differences JOIN (SELECT DISTINCT dt, publisher_id, COALESCE(ordered, transacted) AS order_id FROM sides) USING (order_id) GROUP BY dt, publisher_id)
    SELECT dt, publisher_id, currency, count(DISTINCT ordered) AS orders, count(DISTINCT transacted) AS orders_of_transactions, sum(orders_commission) AS orders_commission,
      sum(transactions_commission) AS transactions_commission, sum(transactions_commission - orders_commission) AS difference, any_value(causes) AS causes
    FROM sides LEFT JOIN causes USING (dt, publisher_id) GROUP BY dt, publisher_id, currency HAVING orders <> orders_of_transactions OR difference <> 0 ORDER BY ALL`);
  for (const name of ['file_day', 'lake_day', 'lake_state', 'file_commission', 'lake_commission']) {
    const own = name.replace('file_', 'transactions_').replace('lake_', 'orders_');
    await connection.run(`ALTER TABLE differences RENAME ${name} TO ${own}`);
  }
  await connection.run('ALTER TABLE differences DROP line');
  return { from, to, notes: [...notes, ...(await attributionNotes(connection, `${isOwn} AND ${isIn}`))] };
}

async function attributionNotes(connection: DuckDBConnection, condition: string): Promise<string[]> {
  const clicks = (view: string) =>
    `(SELECT dt, sum(clicks) AS clicks FROM ${view} WHERE ${condition} GROUP BY dt)`;
  const sql = `SELECT concat('attribution has no money and different publisher ids; it has ', COALESCE(sum(s.clicks), 0), ' clicks on ', count(s.clicks), ' days, and there are ', COALESCE(sum(o.clicks), 0), ' own clicks on ', count(o.clicks), ' days'),
    'attribution has nothing on ' || string_agg(dt, ', ' ORDER BY dt) FILTER (s.dt IS NULL)
    FROM ${clicks('attribution_daily')} AS s FULL JOIN ${clicks('publisher_performance')} AS o USING (dt)`;
  return (await rowsOf(connection, sql)).flat().filter((text) => typeof text === 'string');
}

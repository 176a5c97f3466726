import type { ReportView } from '../definition.ts';
import { allSql, recordsSql } from './view-sql.ts';

const FIELDS = ['kind', 'channel_id', 'state', 'has_states'];
const SALES = "count(CASE WHEN kind = 'sale' THEN 1 END)";
const VOID = "count(CASE WHEN kind = 'sale' AND state = 'void' THEN 1 END)";

/**
 * The days whose clicks and orders are both whole, with the range of their month. Before the first record of a report,
 * its days without records prove nothing: the service may have no records of that time.
 */
const DAYS_SQL = `SELECT brand AS of_brand, dt AS of_dt, min(dt) OVER of_month AS from_day, max(dt) OVER of_month AS to_day, count(*) OVER of_month AS days
  FROM (
    SELECT brand, dt
    FROM (
      SELECT CAST(brand AS varchar) AS brand, CAST(dt AS varchar) AS dt, committed_state,
        CAST(min(CASE WHEN "rows" > 0 THEN dt END) OVER (PARTITION BY brand, report) AS varchar) AS first_dt
      FROM coverage WHERE report IN ('clicks_list', 'order_list')
    ) AS days_of_reports
    WHERE committed_state IN ('complete', 'settled') AND dt >= first_dt
    GROUP BY brand, dt
    HAVING count(*) = 2
  ) AS days_of_both
  WINDOW of_month AS (PARTITION BY brand, substr(dt, 1, 7))`;

/** By month, because most orders of a day do not follow a click of that day, so that a day's rate would mean little. */
export const channelConversion: ReportView = {
  name: 'channel_conversion',
  description: 'How many clicks become orders, by month and channel, on days with both reports complete',
  columns: [
    ['brand', 'string', 'The brand'],
    ['month', 'string', 'The month of the click or of the order, YYYY-MM'],
    ['channel_id', 'string', 'The channel; NULL: records without one'],
    ['clicks', 'bigint', 'Clicks'],
    ['orders', 'bigint', 'Orders in any state, without bonuses and campaign payments'],
    ['orders_void', 'bigint', 'Orders that were cancelled'],
    ['conversion_rate', 'double', 'Orders that are not void, divided by clicks; NULL: no clicks'],
    ['from_day', 'string', 'The first day of the month that counts'],
    ['to_day', 'string', 'The last day of the month that counts'],
    ['days', 'bigint', 'The days that count: clicks and orders are complete, and both had records by then'],
  ],
  tables: ['click_channels', 'order_history', 'coverage'],
  sql: `SELECT brand, month, channel_id, clicks, orders, orders_void,
  CASE WHEN clicks > 0 THEN CAST(orders - orders_void AS double) / CAST(clicks AS double) END AS conversion_rate,
  from_day, to_day, days
FROM (
  SELECT brand, month, channel_id,
    CAST(count(CASE WHEN kind = 'click' THEN 1 END) AS bigint) AS clicks,
    CAST(${SALES} AS bigint) AS orders,
    CAST(CASE WHEN ${allSql('has_states')} THEN ${VOID} END AS bigint) AS orders_void,
    CAST(max(from_day) AS varchar) AS from_day, CAST(max(to_day) AS varchar) AS to_day, CAST(max(days) AS bigint) AS days
  FROM (
    ${recordsSql('clicks', FIELDS)}
    UNION ALL
    ${recordsSql('orders', FIELDS)}
  ) AS records
  JOIN (
  ${DAYS_SQL}
  ) AS counted ON of_brand = brand AND of_dt = dt
  WHERE kind <> 'bonus'
  GROUP BY brand, month, channel_id
) AS sums`,
};

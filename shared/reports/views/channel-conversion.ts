import type { ReportView } from '../definition.ts';
import { recordsSql } from './view-sql.ts';

const FIELDS = ['kind', 'channel_id', 'state'];

/** By month, because most orders of a day do not follow a click of that day, so that a day's rate would mean little. */
export const channelConversion: ReportView = {
  name: 'channel_conversion',
  description: 'How many clicks become orders, by month and channel',
  columns: [
    ['brand', 'string', 'The brand'],
    ['month', 'string', 'The month of the click or of the order, YYYY-MM'],
    ['channel_id', 'string', 'The channel; NULL: records without one'],
    ['clicks', 'bigint', 'Clicks'],
    ['orders', 'bigint', 'Orders in any state, without bonuses and campaign payments'],
    ['orders_void', 'bigint', 'Orders that were cancelled'],
    ['conversion_rate', 'double', 'Orders that are not void, divided by clicks; NULL: no clicks'],
  ],
  tables: ['clicks', 'orders'],
  sql: `SELECT brand, month, channel_id, clicks, orders, orders_void,
  CASE WHEN clicks > 0 THEN CAST(orders - orders_void AS double) / CAST(clicks AS double) END AS conversion_rate
FROM (
  SELECT brand, month, channel_id,
    CAST(count(CASE WHEN kind = 'click' THEN 1 END) AS bigint) AS clicks,
    CAST(count(CASE WHEN kind = 'sale' THEN 1 END) AS bigint) AS orders,
    CAST(count(CASE WHEN kind = 'sale' AND state = 'void' THEN 1 END) AS bigint) AS orders_void
  FROM (
    ${recordsSql('clicks', FIELDS)}
    UNION ALL
    ${recordsSql('orders', FIELDS)}
  ) AS records
  WHERE kind <> 'bonus'
  GROUP BY brand, month, channel_id
) AS sums`,
};

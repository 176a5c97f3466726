import type { ReportDefinition } from './definition.ts';
import { channelConversion } from './views/channel-conversion.ts';
import { orderHistory } from './views/history.ts';
import { publisherPerformance } from './views/publisher-performance.ts';
import { orderStates } from './views/states.ts';
import { unsettled } from './views/unsettled.ts';
import { SUM, UNKNOWN_AMOUNTS, recordsSql, sumSql, unknownAmountsSql } from './views/view-sql.ts';

/** Nobody bought anything for a bonus, so that it may lack an amount. */
const AMOUNT = {
  amount: 'amount',
  of: "kind = 'sale' OR amount IS NOT NULL",
};
const COMMISSION = { amount: 'commission' };

export const orders: ReportDefinition = {
  name: 'order_list',
  action: 'report/order_list',
  table: 'orders',
  description: 'Orders that publishers brought, with their current status',
  section: '4.3',
  enabledByDefault: true,
  // Ascending, so that an order that arrives while pages are read is added at the end and moves no other order.
  paging: {
    style: 'numbered',
    pageSize: { field: 'page_size', min: 20, max: 100, default: 100 },
    fixedFields: { sort_col: 'transid', sort_dir: 'asc' },
  },
  day: { by: 'timestamps' },
  openDay: 'pass',
  primaryKey: { field: 'transid', always: false },
  filters: {
    status: { kind: 'enum', values: ['new', 'void', 'effective'] },
    type: {
      kind: 'enum',
      values: [
        'trans',
        'manual_trans',
        'bonus',
        'campaign_proposal_pay',
        'campaign_bonus',
        'campaign_proposal_bonus',
      ],
    },
    publisher_id: { kind: 'text' },
    channel_id: { kind: 'text' },
  },
  // No field of a record is documented: all of them are discovered.
  columns: [],
  states: ['state'],
  refresh: [
    { untilAgeDays: 2, every: 'run' },
    { untilAgeDays: 35, every: '1 day' },
    { untilAgeDays: 120, every: '7 days' },
  ],
  views: [
    orderHistory,
    {
      name: 'orders_daily',
      description: 'Orders, amounts and commissions by day, status and currency',
      columns: [
        ['brand', 'string', 'The brand'],
        ['dt', 'string', "The day of the order, in the brand's time zone"],
        ['status', 'string', 'new, effective or void'],
        ['orders', 'bigint', 'Orders of any type, including bonuses and campaign payments'],
        ['amount', SUM, 'The sum of their amounts'],
        ['commission', SUM, 'The sum of their commissions'],
        ['currency', 'string', 'The currency of the sums; NULL: not known'],
        UNKNOWN_AMOUNTS,
      ],
      tables: ['order_history'],
      sql: `SELECT brand, dt, state AS status,
  CAST(count(*) AS bigint) AS orders,
  ${sumSql(AMOUNT)} AS amount,
  ${sumSql(COMMISSION)} AS commission,
  currency,
  ${unknownAmountsSql(AMOUNT, COMMISSION)}
FROM (
    ${recordsSql('orders', ['kind', 'state', 'currency', 'amount', 'commission'])}
) AS records
GROUP BY brand, dt, state, currency`,
    },
    publisherPerformance,
    channelConversion,
    unsettled,
    orderStates,
  ],
};

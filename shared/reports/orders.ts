import type { ReportDefinition } from './definition.ts';

export const orders: ReportDefinition = {
  name: 'order_list',
  action: 'report/order_list',
  table: 'orders',
  description: 'Orders that publishers brought, with their present status',
  section: '4.3',
  enabledByDefault: true,
  schedule: 'rate(1 hour)',
  // Ascending, so that an order that arrives while pages are read is added at the end and moves no other.
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
  states: { column: 'status', final: ['void', 'effective', 'paid'] },
  measure: 'commission',
  refresh: [
    { untilAgeDays: 2, every: 'run' },
    { untilAgeDays: 35, every: '1 day' },
    { untilAgeDays: 120, every: '7 days' },
  ],
  pagesAreSnapshot: false,
  views: [
    {
      name: 'orders_daily',
      description: 'Orders, amounts and commissions by day and status',
      columns: [
        ['brand', 'string'],
        ['dt', 'string'],
        ['status', 'string'],
        ['orders', 'bigint'],
        ['amount', 'decimal(38,9)'],
        ['commission', 'decimal(38,9)'],
      ],
      needs: ['status', 'amount', 'commission'],
      // Through text, because a discovered column may have any type: the first commit decides. Trimmed, because DuckDB
      // takes an amount with spaces around it for a number and Trino does not.
      sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(dt AS varchar) AS dt,
  CAST(status AS varchar) AS status,
  CAST(count(*) AS bigint) AS orders,
  CAST(sum(TRY_CAST(trim(CAST(amount AS varchar)) AS decimal(38,9))) AS decimal(38,9)) AS amount,
  CAST(sum(TRY_CAST(trim(CAST(commission AS varchar)) AS decimal(38,9))) AS decimal(38,9)) AS commission
FROM orders
GROUP BY brand, dt, status`,
    },
  ],
  checks: [],
};

import { orders } from './orders.ts';
import type { ReportDefinition } from './definition.ts';
import { commissionDue } from './views/commission-due.ts';
import { transactionHistory } from './views/history.ts';
import { lifecycleChecks } from './views/lifecycle-checks.ts';
import { payouts } from './views/payouts.ts';
import { transactionStates } from './views/states.ts';
import { sinceClose } from './views/since-close.ts';

export const transactions: ReportDefinition = {
  name: 'transaction_list',
  action: 'report/transaction_list',
  table: 'transactions',
  description: 'Transactions ready for settlement, by the day on which the order was made',
  section: '4.4',
  enabledByDefault: true,
  paging: { style: 'cursor', pageSize: { field: 'limit', min: 1, max: 200, default: 200 } },
  day: { by: 'dates' },
  openDay: 'pass',
  primaryKey: undefined,
  likelyKeys: ['transaction_id', 'id'],
  filters: {
    order_status: { kind: 'enum', values: ['new', 'void', 'mixed', 'locked', 'paid'] },
    sku_status: { kind: 'enum', values: ['new', 'void', 'locked', 'paid'] },
    transaction_type: {
      kind: 'enum',
      values: [
        'bonus',
        'manually_added',
        'normal',
        'campaign_bonus',
        'campaign_payment',
        'performance_bonus',
      ],
    },
    amazon_country: { kind: 'text' },
    amazon_brand: { kind: 'text' },
    order_id: { kind: 'text' },
    sku: { kind: 'text' },
    publisher_id: { kind: 'text' },
    group_id: { kind: 'text' },
  },
  // No field of a record is documented: all of them are discovered.
  columns: [],
  // The state of the line, because the state of its order may be `mixed`.
  states: ['line_state', 'state'],
  refresh: orders.refresh,
  views: [transactionHistory, commissionDue, sinceClose, payouts, transactionStates, lifecycleChecks],
};

import type { Action } from './action.ts';
import { attribution } from './attribution.ts';
import { clicksDetail } from './clicks-detail.ts';
import { clicksList } from './clicks-list.ts';
import { orderList } from './order-list.ts';
import { transactionList } from './transaction-list.ts';

/** docs/explanation/interface.md, section 4. The example's `order/new` is missing, since its fields are not documented. */
export const actions: ReadonlyMap<string, Action> = new Map([
  ['report/clicks_list', clicksList],
  ['report/clicks_detail', clicksDetail],
  ['report/order_list', orderList],
  ['report/transaction_list', transactionList],
  ['report/amazon_attribution_report', attribution],
]);

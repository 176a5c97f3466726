import type { Action } from './action.ts';
import { attribution } from './attribution.ts';
import { clicksDetail } from './clicks-detail.ts';
import { clicksList } from './clicks-list.ts';
import { orderList } from './order-list.ts';
import { transactionList } from './transaction-list.ts';

/** Section 4. `order/new` of the document's example is missing: its fields are not given. */
export const actions: ReadonlyMap<string, Action> = new Map([
  ['report/clicks_list', clicksList],
  ['report/clicks_detail', clicksDetail],
  ['report/order_list', orderList],
  ['report/transaction_list', transactionList],
  ['report/amazon_attribution_report', attribution],
]);

import { day, integer, oneOf, text } from '../fields.ts';
import type { Action } from './action.ts';
import { cursorPage } from './cursor-page.ts';
import { dateConflict, dateRange, select } from './select.ts';

const filters = {
  order_status: oneOf('new', 'void', 'mixed', 'locked', 'paid'),
  sku_status: oneOf('new', 'void', 'locked', 'paid'),
  transaction_type: oneOf(
    'bonus',
    'manually_added',
    'normal',
    'campaign_bonus',
    'campaign_payment',
    'performance_bonus',
  ),
  amazon_country: text,
  amazon_brand: text,
  order_id: text,
  sku: text,
  publisher_id: text,
  group_id: text,
};

/** docs/explanation/interface.md, section 4.4: the settlement-ready export, paged by cursor. */
export const transactionList: Action = {
  rules: { limit: integer(1, 200), cursor: text, start_date: day, end_date: day, ...filters },
  conflict: dateConflict,
  answer: (query) =>
    cursorPage(
      select(query.brand.records.transaction_list, dateRange(query), query, Object.keys(filters)),
      query,
      query.interpretations.listKey,
    ),
};

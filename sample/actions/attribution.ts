import { day, integer, text } from '../fields.ts';
import type { Action } from './action.ts';
import { cursorPage } from './cursor-page.ts';
import { dateConflict, dateRange, select } from './select.ts';

const filters = { publisher_uid: integer(), country_code: text, asin: text };

/**
 * docs/explanation/interface.md, section 4.5: page views and clicks by day, tracking link and product, paged by cursor.
 */
export const attribution: Action = {
  rules: { limit: integer(1, 200), cursor: text, start_date: day, end_date: day, ...filters },
  conflict: dateConflict,
  answer: (query) =>
    cursorPage(
      select(query.brand.records.amazon_attribution_report, dateRange(query), query, Object.keys(filters)),
      query,
      'list',
    ),
};

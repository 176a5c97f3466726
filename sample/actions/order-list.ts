import type { JsonObject } from '../../shared/base/json.ts';
import { success } from '../envelope.ts';
import { integer, oneOf, text } from '../fields.ts';
import type { Action, Query } from './action.ts';
import { recordOf, select, textOf, timeConflict, timeRange } from './select.ts';

/** docs/explanation/interface.md, section 4.3: orders, paged by number. */
export const orderList: Action = {
  rules: {
    start_time: integer(),
    end_time: integer(),
    page_number: integer(),
    page_size: integer(20, 100),
    sort_dir: oneOf('desc', 'asc'),
    sort_col: oneOf('transid', 'commission', 'amount'),
    status: oneOf('new', 'void', 'effective'),
    type: oneOf(
      'trans',
      'manual_trans',
      'bonus',
      'campaign_proposal_pay',
      'campaign_bonus',
      'campaign_proposal_bonus',
    ),
    publisher_id: text,
    channel_id: text,
  },
  conflict: (query) =>
    Number(query.fields.page_number) < query.interpretations.firstPage
      ? `page_number: pages are counted from ${query.interpretations.firstPage}`
      : timeConflict(query),
  answer(query) {
    const { brand, fields, interpretations } = query;
    const filters = ['status', 'type', 'publisher_id', 'channel_id'];
    const orders = select(brand.records.order_list, timeRange(query), query, filters)
      .map(recordOf)
      .sort(order(query));
    const start = pageStart(orders.length, query);
    const list = orders.slice(start, start + pageSize(query));
    return success({
      page_number: Number(fields.page_number ?? interpretations.firstPage),
      total: orders.length,
      [interpretations.listKey]: list,
    });
  },
};

function pageSize({ fields, interpretations }: Query): number {
  return Math.min(Number(fields.page_size ?? 20), interpretations.pageCap);
}

function pageStart(total: number, query: Query): number {
  const { fields, interpretations } = query;
  const page = fields.page_number === undefined ? 0 : Number(fields.page_number) - interpretations.firstPage;
  const lastPage = Math.max(0, Math.ceil(total / pageSize(query)) - 1);
  return (interpretations.pastLastPage === 'repeat' ? Math.min(page, lastPage) : page) * pageSize(query);
}

function order({ fields: { sort_col = 'transid', sort_dir = 'desc' } }: Query) {
  const sign = sort_dir === 'asc' ? 1 : -1;
  return (a: JsonObject, b: JsonObject): number =>
    sign *
    (sort_col === 'transid'
      ? byTransid(a, b)
      : Number(textOf(a[sort_col])) - Number(textOf(b[sort_col])) || byTransid(a, b));
}

/** Compares transaction ids as digits, because they exceed 2^53. */
function byTransid(a: JsonObject, b: JsonObject): number {
  const [one, other] = [textOf(a.transid) ?? '', textOf(b.transid) ?? ''];
  return one.length - other.length || (one < other ? -1 : one > other ? 1 : 0);
}

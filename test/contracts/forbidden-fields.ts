/**
 * Fields that docs/explanation/interface.md forbids, with a word of the reason. Each of the two services refuses them
 * with its own code, so that a misunderstanding of the document goes unnoticed only if both have it.
 */
import { type JsonObject, rawNumber } from '../../shared/json.ts';

const clicks = 'report/clicks_list';
const detail = 'report/clicks_detail';
const orders = 'report/order_list';
const transactions = 'report/transaction_list';
const attribution = 'report/amazon_attribution_report';

export const forbiddenFields: readonly [name: string, action: string, fields: JsonObject, reason: string][] =
  [
    ['a page size of 19', clicks, { page_size: 19 }, 'page_size'],
    ['a page size of 101', orders, { page_size: 101 }, 'page_size'],
    ['an integer as text', clicks, { page_size: '20' }, 'page_size'],
    ['a fraction', clicks, { start_time: 1.5 }, 'start_time'],
    ['an integer with a point', clicks, { page_size: rawNumber('20.0') }, 'page_size'],
    ['an integer with an exponent', clicks, { page_size: rawNumber('2e1') }, 'page_size'],
    ['a time below zero', clicks, { start_time: -1 }, 'start_time'],
    ['a position below zero', clicks, { first: -1 }, 'first'],
    ['a position as text', clicks, { first: '0' }, 'first'],
    ['a position that no answer gave', clicks, { first: 'abc' }, 'first'],
    ['text as a number', clicks, { publisher_id: 1234 }, 'publisher_id'],
    ['null', clicks, { channel_id: null }, 'channel_id'],
    ['a list', orders, { status: ['new'] }, 'status'],
    ['a field of another action', clicks, { cursor: 'x' }, 'cursor'],
    ['the name of a built-in property', clicks, { constructor: 'x' }, 'constructor'],
    ['a click without id and pbtid', detail, {}, 'pbtid'],
    ['a click id as text', detail, { id: '12' }, 'id'],
    ['an unknown status', orders, { status: 'paid' }, 'status'],
    ['an unknown type', orders, { type: 'normal' }, 'type'],
    ['an unknown column to sort by', orders, { sort_col: 'status' }, 'sort_col'],
    ['an unknown direction', orders, { sort_dir: 'up' }, 'sort_dir'],
    ['a page before the first', orders, { page_number: 0 }, 'page_number'],
    ['a limit of 201', transactions, { limit: 201 }, 'limit'],
    ['a limit of nothing', attribution, { limit: 0 }, 'limit'],
    ['an unknown order status', transactions, { order_status: 'effective' }, 'order_status'],
    ['an unknown status of a product', transactions, { sku_status: 'mixed' }, 'sku_status'],
    ['an unknown type of transaction', transactions, { transaction_type: 'trans' }, 'transaction_type'],
    ['a day with hyphens', transactions, { start_date: '2026-11-01' }, 'start_date'],
    ['a day as a number', attribution, { end_date: 20261101 }, 'end_date'],
    ['a day that no calendar has', attribution, { end_date: '20260229' }, 'end_date'],
    [
      'a last day before the first',
      transactions,
      { start_date: '20261102', end_date: '20261101' },
      'start_date',
    ],
    [
      'a last day before the first there too',
      attribution,
      { start_date: '20261102', end_date: '20261101' },
      'start_date',
    ],
    ['a publisher as text', attribution, { publisher_uid: '81' }, 'publisher_uid'],
    ['a cursor that is null', transactions, { cursor: null }, 'cursor'],
  ];

import type { ReportView } from '../definition.ts';
import { AMOUNT, ZERO } from './view-sql.ts';

/** The place of a current row: no day has as many changes. */
export const NOW_PLACE = 1_000_000_000;

const CONTROL = 'brand, dt, key, place, what, changed_after, changed_by, cause';
const ROLES = ['order_id', 'product', 'kind', 'publisher_id', 'publisher_name', 'channel_id', 'currency'];

/**
 * The base of everything about money: each current record, and each record that a change replaced, with its roles. Roles
 * are applied here and nowhere else (I13): a stored meaning would stay wrong after its setting was corrected. The records of
 * a group at a place are the rows with the smallest place after it.
 */
function historyView(table: 'orders' | 'transactions', name: string, description: string): ReportView {
  const ofLine = table === 'transactions';
  const state = ofLine ? 'COALESCE({transactions.line_state}, {transactions.state})' : '{orders.state}';
  const known = ofLine ? '({transactions.line_state?} OR {transactions.state?})' : '{orders.state?}';
  return {
    name,
    description,
    columns: [
      ['brand', 'string', 'The brand'],
      ['dt', 'string', "The day of the record, in the brand's time zone"],
      ['key', 'string', 'The key of the record, by which its changes belong together; NULL: no key'],
      ['place', 'bigint', `Which change of the day replaced the record: 1, 2, 3 …; ${NOW_PLACE}: none yet`],
      ['what', 'string', 'now: current; altered, removed: before that change; added: its key was not there'],
      ['changed_after', 'timestamp', 'The change happened after this time; NULL: a current record'],
      ['changed_by', 'timestamp', 'The change happened by this time; NULL: a current record'],
      ['cause', 'string', 'What replaced the version: reading, rollback or rebuild'],
      ['order_id', 'string', 'The id of the order'],
      ['product', 'string', 'The product of the line; NULL: the line has no product'],
      ['kind', 'string', 'sale, or bonus (a bonus or a campaign payment)'],
      ['publisher_id', 'string', 'The id of the publisher'],
      ['publisher_name', 'string', 'The name of the publisher'],
      ['channel_id', 'string', 'The id of the channel'],
      ['currency', 'string', 'The currency of the amounts, in capitals; NULL: not known'],
      [
        'state',
        'string',
        ofLine
          ? 'The state of the line, or of its order if the line has no state, in the words of the interface'
          : 'The state in the words of the interface',
      ],
      ...(ofLine
        ? [['order_state', 'string', 'The state of the order, in the words of the interface'] as const]
        : []),
      ['type', 'string', 'The kind in the words of the service'],
      ['has_states', 'boolean', 'Whether the records of the brand have a field for their state'],
      ['amount', AMOUNT, 'The amount; NULL: missing, or not a number below 10^20'],
      ['commission', AMOUNT, 'The commission in any state; NULL: missing, or not a number below 10^20'],
      ['counted', AMOUNT, 'The commission that counts: 0 if the record is void; NULL: not known'],
    ],
    tables: [table, `${table}_before`, 'coverage'],
    sql: `{${table}.rows of ${table.slice(0, -1)}_list}SELECT *, CASE WHEN has_states THEN CASE WHEN state = 'void' THEN ${ZERO} ELSE commission END END AS counted
FROM (
<<SELECT ${CONTROL}, ${ROLES.map((role) => `{${table}.${role}} AS ${role}`).join(', ')}, ${state} AS state, ${ofLine ? '{transactions.state} AS order_state, ' : ''}{${table}.type} AS type, ${known} AS has_states, {${table}.amount} AS amount, {${table}.commission} AS commission FROM record_values>>
) AS records`,
  };
}

export const orderHistory = historyView(
  'orders',
  'order_history',
  'Each current order, and each order that a change replaced, with the meaning of its fields by the settings',
);

export const transactionHistory = historyView(
  'transactions',
  'transaction_history',
  'Each current transaction, and each transaction that a change replaced, with the meaning of its fields by the settings',
);

/** The publisher and the channel of each click, by the roles of its brand. */
export const clickChannels: ReportView = {
  name: 'click_channels',
  description: 'The publisher and the channel of each click, with the meaning of its fields by the settings',
  columns: [
    ['brand', 'string', 'The brand'],
    ['dt', 'string', "The day of the click, in the brand's time zone"],
    ['publisher_id', 'string', 'The id of the publisher'],
    ['channel_id', 'string', 'The id of the channel'],
  ],
  tables: ['clicks'],
  sql: '{clicks.current of clicks_list}<<SELECT brand, dt, {clicks.publisher_id} AS publisher_id, {clicks.channel_id} AS channel_id FROM record_values>>',
};

/** The rows of both histories, with the name of their table in `report`. @param where a condition in each part */
export function historiesSql(columns: string, where = 'true'): string {
  const parts = ['orders', 'transactions'].map(
    (table) =>
      `SELECT brand, '${table}' AS report, dt, ${columns} FROM ${table.slice(0, -1)}_history WHERE ${where}`,
  );
  return `(${parts.join(' UNION ALL ')})`;
}

/** The first close of each day, and the ends of these ages. */
export function daysSql(ages: readonly number[]): string {
  return `(
      SELECT brand AS of_brand, substr(report, 1, length(report) - 5) || 's' AS of_report, dt AS of_dt, first_by, anew_by${ages.map((age) => `, age_${age}`).join('')} FROM coverage
    ) AS days`;
}

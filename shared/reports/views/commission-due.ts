import type { ReportView } from '../definition.ts';
import { SUM, UNKNOWN_AMOUNTS, recordsSql, sumSql, unknownAmountsSql } from './view-sql.ts';

const COMMISSION = { amount: 'commission', known: 'has_states' };

/** Uses transactions, because only they record what is locked and what is paid. */
export const commissionDue: ReportView = {
  name: 'commission_due',
  description: 'Commission by month, publisher and state: locked is owed, new may become void, paid is done',
  columns: [
    ['brand', 'string', 'The brand'],
    ['month', 'string', 'The month in which the order was made, YYYY-MM, whenever it is paid'],
    ['publisher_id', 'string', 'The publisher; NULL: transactions without one'],
    ['state', 'string', 'The state of the line, or else of its order: new, mixed, locked, paid, void'],
    ['currency', 'string', 'The currency of the commission; NULL: not known'],
    ['transactions', 'bigint', 'Lines of orders, including bonuses'],
    ['commission', SUM, 'Their commission, including bonuses and campaign payments'],
    ['bonus', SUM, 'The part of commission that is for bonuses and campaign payments'],
    UNKNOWN_AMOUNTS,
  ],
  tables: ['transaction_history'],
  sql: `SELECT brand, month, publisher_id, state, currency,
  CAST(count(*) AS bigint) AS transactions,
  ${sumSql(COMMISSION)} AS commission,
  ${sumSql({ ...COMMISSION, of: "kind = 'bonus'" })} AS bonus,
  ${unknownAmountsSql(COMMISSION)}
FROM (
    ${recordsSql('transactions', ['kind', 'publisher_id', 'state', 'currency', 'commission', 'has_states'])}
) AS records
GROUP BY brand, month, publisher_id, state, currency`,
};

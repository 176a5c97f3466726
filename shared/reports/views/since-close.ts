import type { ReportView } from '../definition.ts';
import { UNKNOWN_AMOUNTS, countedSql, storedAmountSql, sumSql, unknownAmountsSql } from './view-sql.ts';

const AMOUNTS = ['amount_then', 'amount_now', 'commission_then', 'commission_now'];
/** A sum of two amounts is unknown if one of them is. */
const UNKNOWN = [
  'amount_then',
  'amount_now',
  ...['then', 'now'].map((side) => `commission_${side} + counted_${side}`),
];

/**
 * Stacks the rows of the closed month and the current rows, and adds them up by record, instead of joining them. A join
 * would lose records without a key, and would keep a condition on the close from reaching the partitions of both
 * tables. So a difference of the sums is the sum of the differences, whatever key the records have. A day that was
 * missing at the close is in the month, too. A day that was erased since is not: neither its rows of then nor those of a
 * later reading count, so that nobody is billed or credited for an erasure.
 */
export const sinceClose: ReportView = {
  name: 'since_close',
  description:
    'What changed in a month after it was closed, with the correction to book; orders and transactions are the same money, so do not add them up',
  columns: [
    ['brand', 'string', 'The brand'],
    ['close', 'string', 'The closed month, YYYY-MM'],
    ['report', 'string', 'orders or transactions: the same money twice'],
    ['publisher_id', 'string', 'The publisher; NULL: records without one'],
    ['publisher_name', 'string', 'The name of the publisher'],
    ['currency', 'string', 'The currency of the amounts; NULL: not known'],
    ['state', 'string', 'The state now; NULL: no state, or the records are gone'],
    ['what', 'string', 'added, removed, voided, restored, repriced, moved or state_changed'],
    ['records', 'bigint', 'The number of records'],
    ['amount_then', 'decimal(38,9)', 'Their amount at the close; 0: they were not there'],
    ['amount_now', 'decimal(38,9)', 'Their amount now; 0: they are gone'],
    ['commission_then', 'decimal(38,9)', 'Their commission at the close, in any state'],
    ['commission_now', 'decimal(38,9)', 'Their commission now, in any state'],
    [
      'correction',
      'decimal(38,9)',
      'Commission that counts now minus commission that counted at the close; void counts 0',
    ],
    UNKNOWN_AMOUNTS,
  ],
  tables: [
    'order_states',
    'order_states_closed',
    'transaction_states',
    'transaction_states_closed',
    'coverage',
  ],
  sql: `SELECT brand, close, report, publisher_id, CAST(max(publisher_name) AS varchar) AS publisher_name,
  currency, state_now AS state, what,
  CAST(sum(CASE WHEN what IN ('added', 'removed') THEN abs(records_now - records_then)
    ELSE greatest(records_then, records_now) END) AS bigint) AS records,
  ${AMOUNTS.map((amount) => `${sumSql({ amount })} AS ${amount}`).join(',\n  ')},
  ${sumSql({ amount: 'counted_now - counted_then' })} AS correction,
  ${unknownAmountsSql(...UNKNOWN.map((amount) => ({ amount })))}
FROM (
  SELECT *, CAST(CASE
    WHEN records_then = 0 AND records_now = 0 THEN NULL
    WHEN key IS NOT NULL AND is_left = 1 AND is_reached = 1 AND (records_then = 0 OR records_now = 0) THEN 'moved'
    WHEN records_now = 0 THEN 'removed'
    WHEN records_then = 0 AND was_known = 0 THEN 'added'
    WHEN records_then = 0 THEN 'restored'
    WHEN state_now = 'void' AND state_then IS DISTINCT FROM 'void' THEN 'voided'
    WHEN state_then = 'void' AND state_now IS DISTINCT FROM 'void' THEN 'restored'
    WHEN records_now > records_then THEN 'added'
    WHEN records_now < records_then THEN 'removed'
    WHEN amount_now IS DISTINCT FROM amount_then OR commission_now IS DISTINCT FROM commission_then THEN 'repriced'
    WHEN state_now IS DISTINCT FROM state_then OR counted_now IS DISTINCT FROM counted_then THEN 'state_changed'
  END AS varchar) AS what
  FROM (
    SELECT *, max(was_known) OVER (PARTITION BY brand, close) AS is_closed,
      max(is_erased) OVER (PARTITION BY brand, close, report, dt) AS has_left,
      max(CASE WHEN records_then > 0 AND records_now = 0 THEN 1 ELSE 0 END) OVER of_key AS is_left,
      max(CASE WHEN records_then = 0 AND records_now > 0 THEN 1 ELSE 0 END) OVER of_key AS is_reached
    FROM (
      SELECT brand, close, report, dt, key, kind, publisher_id, currency, max(publisher_name) AS publisher_name,
        max(CASE WHEN side = 'then' THEN 1 ELSE 0 END) AS was_known,
        max(CASE WHEN side = 'erased' THEN 1 ELSE 0 END) AS is_erased,
        ${sumsSql('then')},
        ${sumsSql('now')}
      FROM (
        ${['orders', 'transactions']
          .flatMap((table) => [rowsSql(table, 'then'), rowsSql(table, 'now'), erasedSql(table)])
          .join(`
        UNION ALL
        `)}
      ) AS stacked
      GROUP BY brand, close, report, dt, key, kind, publisher_id, currency
    ) AS records_of_keys
    WINDOW of_key AS (PARTITION BY brand, close, report, dt, key)
  ) AS compared
  WHERE is_closed = 1 AND has_left = 0
) AS changed
WHERE what IS NOT NULL
GROUP BY brand, close, report, publisher_id, currency, state_now, what`,
};

type Side = 'then' | 'now';

/** Rows of records that no longer existed at that time add nothing. */
function sumsSql(side: Side): string {
  const of = `side = '${side}' AND records > 0`;
  const ofSide = `CASE WHEN ${of} THEN`;
  return `CAST(sum(${ofSide} records ELSE 0 END) AS bigint) AS records_${side},
        CASE WHEN min(${ofSide} state END) <> max(${ofSide} state END) THEN 'mixed' ELSE max(${ofSide} state END) END AS state_${side},
        ${['amount', 'commission', 'counted'].map((amount) => `${sumSql({ amount, of })} AS ${amount}_${side}`).join(', ')}`;
}

/** The current rows are of all months: only the rows of closes show which months are closed. */
function rowsSql(table: string, side: Side): string {
  const close = side === 'then' ? 'CAST(close AS varchar)' : 'substr(CAST(dt AS varchar), 1, 7)';
  return `SELECT CAST(brand AS varchar) AS brand, ${close} AS close, CAST(dt AS varchar) AS dt, '${table}' AS report, '${side}' AS side,
          key, CASE WHEN key IS NULL THEN kind END AS kind, publisher_id, publisher_name, currency, state, records,
          COALESCE(${storedAmountSql('amount')}, CASE WHEN kind = 'bonus' THEN 0 END) AS amount, ${storedAmountSql('commission')} AS commission, ${countedSql(table)} AS counted
        FROM ${table.slice(0, -1)}_states${side === 'then' ? '_closed' : ''}`;
}

function erasedSql(table: string): string {
  const none = (type: string, names: readonly string[]) =>
    names.map((name) => `CAST(NULL AS ${type}) AS ${name}`).join(', ');
  return `SELECT CAST(brand AS varchar) AS brand, CAST(month AS varchar) AS close, CAST(dt AS varchar) AS dt, '${table}' AS report, 'erased' AS side,
          ${none('varchar', ['key', 'kind', 'publisher_id', 'publisher_name', 'currency', 'state'])}, CAST(0 AS bigint) AS records,
          ${none('decimal(29,9)', ['amount', 'commission', 'counted'])}
        FROM coverage WHERE report = '${table.slice(0, -1)}_list' AND left_close`;
}

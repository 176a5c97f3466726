import { FINAL_STATES, type ReportView } from '../definition.ts';
import {
  NOW_SQL,
  UNKNOWN_AMOUNTS,
  countedKnown,
  countedSql,
  listSql,
  storedAmountSql,
  sumSql,
} from './view-sql.ts';

/**
 * Ages in days after the end of a day, or of a month: the commission that counted then is compared with the commission
 * that counts now.
 */
const AGES = [0, 30, 60, 90] as const;
const SHOWN_AGES = AGES.filter((age) => age > 0);
const FINAL = FINAL_STATES.filter((state) => state !== 'void');
const PARTS: readonly (readonly [sum: string, of: string, amount: string])[] = [
  ['commission', 'true', 'counted'],
  ['final', `state IN (${listSql(FINAL)})`, 'counted'],
  ['may_change', `state IS NULL OR state NOT IN (${listSql(FINAL)})`, 'counted'],
  ['void', "records > 0 AND (commission IS NOT NULL OR state = 'void')", 'commission - counted'],
  ['reversed_after_paid', "paid_by IS NOT NULL AND (records = 0 OR state = 'void')", 'paid_commission'],
];
const SUMS = PARTS.map(([sum]) => sum);
const sumsSql = SUMS.map((sum) => `${sumSql({ amount: sum })} AS ${sum}`).join(',\n    ');
const ofAges = (sqlOf: (age: number) => string, separator = ',\n    ') => AGES.map(sqlOf).join(separator);

/**
 * Adds up by day first: a day that was first read when it was older than an age has no earlier value for that age, and
 * would look as if it had never changed.
 */
export const payouts: ReportView = {
  name: 'payouts',
  description:
    'Whether the payout of a month is final: commission by publisher and currency, what may still change, and how much earlier months changed',
  columns: [
    ['brand', 'string', 'The brand'],
    ['month', 'string', 'The month in which the order was made, YYYY-MM, whenever it is paid'],
    ['publisher_id', 'string', 'The publisher; NULL: records without one'],
    ['publisher_name', 'string', 'The name of the publisher'],
    ['currency', 'string', 'The currency of the commission; NULL: not known'],
    [
      'report',
      'string',
      'transactions, which have the states locked and paid; orders if the month has no transactions',
    ],
    ['commission', 'decimal(38,9)', 'Commission that counts: of records that are neither void nor gone'],
    ['final', 'decimal(38,9)', `The part of commission that can no longer change: ${FINAL.join(' or ')}`],
    ['may_change', 'decimal(38,9)', 'The part of commission in any other state, or without a state'],
    ['void', 'decimal(38,9)', 'Commission that was cancelled; not part of commission'],
    [
      'reversed_after_paid',
      'decimal(38,9)',
      'Commission that was paid for records that are now void or gone; not part of commission',
    ],
    ...SHOWN_AGES.map((age) => {
      const share = `The share of the commission that counted ${age} days after each day and changed later`;
      return [
        `changed_after_${age}`,
        'double',
        `${share}; NULL: the month is not that old, or was not read by then`,
      ] as const;
    }),
    [
      'may_move_low',
      'decimal(38,9)',
      'What may still change, as in the earlier month that changed least; NULL: no such month',
    ],
    [
      'may_move_high',
      'decimal(38,9)',
      'What may still change, as in the earlier month that changed most; NULL: no such month',
    ],
    UNKNOWN_AMOUNTS,
  ],
  tables: ['order_states', 'transaction_states'],
  sql: `SELECT brand, month, publisher_id, publisher_name, currency, report, ${SUMS.join(', ')},
  ${SHOWN_AGES.map((age) => `${shareSql(`moved_${age}`, `at_${age}`)} AS changed_after_${age}`).join(',\n  ')},
  ${moveSql('least')} AS may_move_low,
  ${moveSql('most')} AS may_move_high,
  unknown_amounts
FROM (
  SELECT *,
    ${ofAges((age) => `min(share_${age}) OVER earlier AS least_${age}, max(share_${age}) OVER earlier AS most_${age}`)}
  FROM (
    SELECT *,
    ${ofAges((age) => `CASE WHEN count(moved_${age}) OVER of_month = count(*) OVER of_month THEN ${shareSql(`sum(moved_${age}) OVER of_month`, `sum(at_${age}) OVER of_month`)} END AS share_${age}`)}
    FROM (
    SELECT brand, month, month_age, publisher_id, currency, report, CAST(max(publisher_name) AS varchar) AS publisher_name,
    ${sumsSql}, CAST(sum(unknown) AS bigint) AS unknown_amounts,
    ${ofAges((age) => ['at', 'moved'].map((sum) => `${sumSql({ amount: `${sum}_${age}`, of: isComparableSql(age) })} AS ${sum}_${age}`).join(', '))}
    FROM (
    SELECT *, max(report) OVER (PARTITION BY brand, month) AS preferred,
    date_diff('day', CAST(CAST(month || '-01' AS date) + INTERVAL '1' MONTH AS date), CAST(${NOW_SQL} AS date)) AS month_age,
    date_diff('day', CAST(dt AS date), CAST(min(first_seen) OVER (PARTITION BY brand, report, dt) AS date)) AS read_at_age
    FROM (
    SELECT brand, dt, month, report, publisher_id, currency, max(publisher_name) AS publisher_name,
    min(seen_by) AS first_seen, ${sumsSql},
    sum(CASE WHEN commission IS NULL OR void IS NULL OR reversed_after_paid IS NULL THEN greatest(records, 1) ELSE 0 END) AS unknown,
    ${ofAges((age) => `${sumSql({ amount: `at_${age}` })} AS at_${age}, ${sumSql({ amount: `abs(at_${age} - commission)` })} AS moved_${age}`)}
    FROM (
    SELECT brand, dt, substr(dt, 1, 7) AS month, report, publisher_id, publisher_name, currency, records, seen_by,
    ${PARTS.map(([sum, of, amount]) => `CASE WHEN is_known AND (${of}) THEN ${amount} WHEN is_known THEN 0 END AS ${sum}`).join(',\n    ')},
    ${ofAges((age) => `COALESCE(commission_${age}, counted) AS at_${age}`, ', ')}
    FROM (${['orders', 'transactions'].map(recordsSql).join('\n    UNION ALL ')}) AS records_of_reports
    ) AS parts
    GROUP BY brand, dt, month, report, publisher_id, currency
    ) AS days
    ) AS aged
    WHERE report = preferred
    GROUP BY brand, month, month_age, publisher_id, currency, report
    ) AS months
    WINDOW of_month AS (PARTITION BY brand, currency, month)
  ) AS shares
  WINDOW earlier AS (PARTITION BY brand, currency ORDER BY month GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) AS moves`,
};

function shareSql(part: string, whole: string): string {
  return `CASE WHEN ${whole} > 0 THEN CAST(${part} AS double) / CAST(${whole} AS double) END`;
}

/** The share for the largest age that the month has reached. */
function moveSql(which: 'least' | 'most'): string {
  const share = AGES.toReversed().map((age) => `WHEN month_age >= ${age} OR ${age} = 0 THEN ${which}_${age}`);
  return `CAST(round(CAST(commission AS double) * CASE ${share.join(' ')} END, 2) AS decimal(38,9))`;
}

/** Whether the month is that old, and the day was first read by then: later, its change at that age is not known. */
function isComparableSql(age: number): string {
  return `month_age >= ${age} AND read_at_age <= ${age + 1}`;
}

function recordsSql(table: string): string {
  const amounts = ['commission', 'paid_commission', ...AGES.map((age) => `commission_${age}`)];
  return `SELECT CAST(brand AS varchar) AS brand, CAST(dt AS varchar) AS dt, '${table}' AS report,
    publisher_id, publisher_name, currency, state, records, seen_by, paid_by, ${countedKnown(table, 'commission')} AS is_known,
    ${amounts.map((amount) => `${storedAmountSql(amount)} AS ${amount}`).join(', ')}, ${countedSql(table)} AS counted
    FROM ${table.slice(0, -1)}_states`;
}

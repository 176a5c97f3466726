import { FINAL_STATES, type ReportView } from '../definition.ts';
import { NOW_SQL, listSql } from './view-sql.ts';

/**
 * Ages in days after the end of a day, or of a month: the commission that counted then is compared with the commission
 * that counts now.
 */
const AGES = [0, 30, 60, 90] as const;
const SHOWN_AGES = AGES.filter((age) => age > 0);
const FINAL = FINAL_STATES.filter((state) => state !== 'void');
const SUMS = ['commission', 'final', 'may_change', 'void', 'reversed_after_paid'];
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
  ],
  tables: ['order_states', 'transaction_states'],
  sql: `SELECT brand, month, publisher_id, publisher_name, currency, report, ${SUMS.join(', ')},
  ${SHOWN_AGES.map((age) => `${shareSql(`moved_${age}`, `at_${age}`)} AS changed_after_${age}`).join(',\n  ')},
  ${moveSql('least')} AS may_move_low,
  ${moveSql('most')} AS may_move_high
FROM (
  SELECT *,
    ${ofAges((age) => `min(share_${age}) OVER earlier AS least_${age}, max(share_${age}) OVER earlier AS most_${age}`)}
  FROM (
    SELECT *,
    ${ofAges((age) => `${shareSql(`sum(moved_${age}) OVER of_month`, `sum(at_${age}) OVER of_month`)} AS share_${age}`)}
    FROM (
    SELECT brand, month, month_age, publisher_id, currency, report, CAST(max(publisher_name) AS varchar) AS publisher_name,
    ${SUMS.map((sum) => `CAST(sum(${sum}) AS decimal(38,9)) AS ${sum}`).join(', ')},
    ${ofAges((age) => ['at', 'moved'].map((sum) => `sum(CASE WHEN ${isComparableSql(age)} THEN ${sum}_${age} END) AS ${sum}_${age}`).join(', '))}
    FROM (
    SELECT *, max(report) OVER (PARTITION BY brand, month) AS preferred,
    date_diff('day', CAST(CAST(month || '-01' AS date) + INTERVAL '1' MONTH AS date), CAST(${NOW_SQL} AS date)) AS month_age,
    date_diff('day', CAST(dt AS date), CAST(min(first_seen) OVER (PARTITION BY brand, report, dt) AS date)) AS read_at_age
    FROM (
    SELECT brand, dt, month, report, publisher_id, currency, max(publisher_name) AS publisher_name,
    min(seen_by) AS first_seen, sum(counted) AS commission,
    sum(CASE WHEN state IN (${listSql(FINAL)}) THEN counted ELSE 0 END) AS final,
    sum(CASE WHEN state IN (${listSql(FINAL)}) THEN 0 ELSE counted END) AS may_change,
    sum(CASE WHEN records > 0 THEN COALESCE(commission, 0) - counted ELSE 0 END) AS void,
    sum(CASE WHEN paid_by IS NOT NULL AND (records = 0 OR state = 'void') THEN COALESCE(paid_commission, 0) ELSE 0 END) AS reversed_after_paid,
    ${ofAges((age) => `sum(COALESCE(commission_${age}, counted)) AS at_${age}, sum(abs(COALESCE(commission_${age}, counted) - counted)) AS moved_${age}`)}
    FROM (${['order', 'transaction'].map(recordsSql).join('\n    UNION ALL ')}) AS records_of_reports
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

/**
 * Whether the month is that old, and the day was read by then. A first reading within a month counts as a reading at
 * its end.
 */
function isComparableSql(age: number): string {
  return `month_age >= ${age} AND read_at_age <= ${Math.max(age, 30) + 1}`;
}

function recordsSql(of: string): string {
  return `SELECT CAST(brand AS varchar) AS brand, CAST(dt AS varchar) AS dt, substr(CAST(dt AS varchar), 1, 7) AS month,
    '${of}s' AS report, publisher_id, publisher_name, currency, state, records, commission, seen_by, paid_by, paid_commission,
    ${ofAges((age) => `commission_${age}`, ', ')}, counted_commission AS counted
    FROM ${of}_states`;
}

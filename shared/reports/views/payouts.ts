import { FINAL_STATES, type ReportView } from '../definition.ts';
import { historiesSql } from './history.ts';
import { MONEY_DAYS } from './money-days.ts';
import { changedSql } from './reversed.ts';
import { AGES } from './states.ts';
import { SUM, NOW_SQL, UNKNOWN_AMOUNTS, allSql, listSql, sumSql } from './view-sql.ts';

/**
 * Ages in days after the end of a day, or of a month: the commission that counted then is compared with the commission
 * that counts now. 0 is the first close of the day.
 */
const ALL_AGES = [0, ...AGES] as const;
const FINAL = FINAL_STATES.filter((state) => state !== 'void');
const IS_FINAL = `state IN (${listSql(FINAL)})`;
const COUNTED = { amount: 'counted', known: 'has_states' };
const PARTS = {
  commission: sumSql(COUNTED),
  final: sumSql({ ...COUNTED, of: IS_FINAL }),
  may_change: sumSql({ ...COUNTED, of: `state IS NULL OR NOT ${IS_FINAL}` }),
  void: sumSql({ amount: 'commission', of: "state = 'void'", known: 'has_states' }),
};
const SUMS = [...Object.keys(PARTS), 'reversed_after_paid'];
const RECORD = 'brand, dt, report, publisher_id, currency';
const ofAges = (sqlOf: (age: number) => string, separator = ',\n    ') => ALL_AGES.map(sqlOf).join(separator);

/** Which report counts in a month, and how many days of it each report has. */
const daysOf = (report: string) =>
  `CAST(sum(CASE WHEN report = '${report}' THEN is_present ELSE 0 END) AS bigint) AS ${report}_days`;
const SOURCES_SQL = `SELECT brand, substr(dt, 1, 7) AS month, max(source) AS source, ${daysOf('orders')}, ${daysOf('transactions')}
    FROM (${MONEY_DAYS}) AS money_days
    GROUP BY brand, substr(dt, 1, 7)`;

/**
 * Adds up by day first: a day that was first closed when it was older than an age has no earlier value for that age, and
 * would look as if it had never changed. What counted at an age is what counts now, and the difference of the groups that
 * changed since: so only these are compared.
 */
export const payouts: ReportView = {
  name: 'payouts',
  description:
    'Whether the payout of a month is final: commission by publisher and currency, what may still change, and how much earlier months changed',
  columns: [
    ['brand', 'string', 'The brand'],
    ['month', 'string', 'The month in which the order was made, YYYY-MM, whenever it is paid'],
    ['publisher_id', 'string', 'The publisher; NULL: records without one'],
    ['publisher_name', 'string', 'The latest name of the publisher in the month; NULL: no record has a name'],
    ['currency', 'string', 'The currency of the commission; NULL: not known'],
    ['report', 'string', 'transactions, or orders if transactions lack a day that orders have'],
    ['commission', SUM, 'Commission that counts: of records that are neither void nor gone'],
    ['final', SUM, `The part of commission that can no longer change: ${FINAL.join(' or ')}`],
    ['may_change', SUM, 'The part of commission in any other state, or without a state'],
    ['void', SUM, 'Commission that was cancelled; not part of commission'],
    [
      'reversed_after_paid',
      SUM,
      'What counted for each key where one of its records was first paid, minus what counts for it now, on any day; negative: more counts now',
    ],
    ...AGES.map((age) => {
      const text = `Share of what counted ${age} days after each day and changed later; NULL: not so old, or not read then`;
      return [`changed_after_${age}`, 'double', text] as const;
    }),
    ['may_move_low', SUM, 'What may still change, as in the earlier month that changed least; NULL: none'],
    ['may_move_high', SUM, 'What may still change, as in the earlier month that changed most; NULL: none'],
    UNKNOWN_AMOUNTS,
    ['orders_days', 'bigint', 'The days of the month with a version of orders'],
    ['transactions_days', 'bigint', 'The days of the month with a version of transactions'],
  ],
  tables: ['order_history', 'transaction_history', 'coverage', 'closes'],
  sql: `SELECT brand, month, publisher_id, publisher_name, currency, CAST(report AS varchar) AS report, ${SUMS.join(', ')},
  ${AGES.map((age) => `${shareSql(`moved_${age}`, `at_${age}`)} AS changed_after_${age}`).join(',\n  ')},
  ${moveSql('least')} AS may_move_low,
  ${moveSql('most')} AS may_move_high,
  unknown_amounts, orders_days, transactions_days
FROM (
  SELECT *,
    ${ofAges((age) => `min(share_${age}) OVER earlier AS least_${age}, max(share_${age}) OVER earlier AS most_${age}`)}
  FROM (
    SELECT *,
    ${ofAges((age) => `CASE WHEN count(moved_${age}) OVER of_month = count(*) OVER of_month THEN ${shareSql(`sum(moved_${age}) OVER of_month`, `sum(at_${age}) OVER of_month`)} END AS share_${age}`)}
    FROM (
    SELECT brand, month, month_age, publisher_id, currency, report, substr(max(named), 11) AS publisher_name, sum(records) AS records,
    ${SUMS.map((sum) => `${sumSql({ amount: sum })} AS ${sum}`).join(', ')}, CAST(sum(unknown) AS bigint) AS unknown_amounts,
    ${ofAges((age) => ['at', 'moved'].map((sum) => `${sumSql({ amount: `${sum}_${age}`, of: isComparableSql(age) })} AS ${sum}_${age}`).join(', '))},
    CAST(max(orders_days) AS bigint) AS orders_days, CAST(max(transactions_days) AS bigint) AS transactions_days
    FROM (
    SELECT parts.*, substr(parts.dt, 1, 7) AS month, first_by, anew_by, ${AGES.map((age) => `age_${age}`).join(', ')}, orders_days, transactions_days,
    date_diff('day', CAST(CAST(substr(parts.dt, 1, 7) || '-01' AS date) + INTERVAL '1' MONTH AS date), CAST(${NOW_SQL} AS date)) AS month_age
    FROM (
    ${[nowSql(), laterSql()].join('\n    UNION ALL ')}
    ) AS parts
    LEFT JOIN (${SOURCES_SQL}) AS sources ON sources.brand = parts.brand AND sources.month = substr(parts.dt, 1, 7)
    LEFT JOIN coverage AS days ON days.brand = parts.brand AND days.report = substr(parts.report, 1, length(parts.report) - 1) || '_list' AND days.dt = parts.dt
    WHERE parts.report = COALESCE(source, 'orders')
    ) AS of_months
    GROUP BY brand, month, month_age, publisher_id, currency, report
    ) AS months
    WINDOW of_month AS (PARTITION BY brand, currency, month)
  ) AS shares
  WINDOW earlier AS (PARTITION BY brand, currency ORDER BY month GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) AS moves
WHERE records > 0 OR reversed_after_paid IS NULL OR reversed_after_paid <> 0
  OR ${AGES.map((age) => `(at_${age} > 0 AND moved_${age} IS NOT NULL)`).join(' OR ')}`,
};

/** What counts now, by day. */
function nowSql(): string {
  return `SELECT ${RECORD}, named, records, ${Object.keys(PARTS).join(', ')}, reversed_after_paid, unknown,
      ${ofAges((age) => `commission AS at_${age}, 0 AS moved_${age}`, ', ')}
    FROM (
      SELECT ${RECORD}, max(dt || publisher_name) AS named, count(*) AS records,
        ${Object.entries(PARTS)
          .map(([sum, sql]) => `${sql} AS ${sum}`)
          .join(',\n        ')},
        CASE WHEN ${allSql('has_states')} THEN 0 END AS reversed_after_paid,
        count(CASE WHEN counted IS NULL OR (state = 'void' AND commission IS NULL) THEN 1 END) AS unknown
      FROM ${historiesSql('what, publisher_id, publisher_name, currency, state, commission, counted, has_states')} AS records
      WHERE what = 'now'
      GROUP BY ${RECORD}
    ) AS current_days`;
}

/** What counted at each age, or when it was paid, minus what counts now. */
function laterSql(): string {
  return `SELECT ${RECORD}, CAST(NULL AS varchar) AS named, 0 AS records,
      ${Object.keys(PARTS)
        .map((name) => `0 AS ${name}`)
        .join(', ')},
      ${sumSql({ amount: 'paid' })} AS reversed_after_paid, sum(unknown) AS unknown,
      ${ofAges((age) => `${sumSql({ amount: `then_${age}` })} AS at_${age}, ${sumSql({ amount: `abs(then_${age})` })} AS moved_${age}`)}
    FROM (${changedSql(ALL_AGES)}) AS changed
    GROUP BY ${RECORD}`;
}

function shareSql(part: string, whole: string): string {
  return `CASE WHEN ${whole} > 0 THEN CAST(${part} AS double) / CAST(${whole} AS double) END`;
}

/** The share for the largest age that the month has reached. */
function moveSql(which: 'least' | 'most'): string {
  const share = ALL_AGES.toReversed().map(
    (age) => `WHEN month_age >= ${age} OR ${age} = 0 THEN ${which}_${age}`,
  );
  return `CAST(round(CAST(commission AS double) * CASE ${share.join(' ')} END, 2) AS ${SUM})`;
}

/** Whether the month is that old, and the history of the day reaches back to that age: for 0, to one day after its end. */
function isComparableSql(age: number): string {
  const at = age === 0 ? "age_30 - INTERVAL '29' DAY" : `age_${age}`;
  return `month_age >= ${age} AND first_by <= ${at} AND COALESCE(anew_by <= ${at}, true)`;
}

import type { ReportView } from '../definition.ts';
import { NOW_PLACE } from './history.ts';
import { UNKNOWN_AMOUNTS } from './view-sql.ts';

/** The place of a day as it is now: no day has as many changes, and current rows of a history have the next place. */
export const AS_OF_NOW = NOW_PLACE - 1;

const HISTORIES = { orders: 'order_history', transactions: 'transaction_history' };
const REPORTS = { orders: 'order_list', transactions: 'transaction_list' };
const DECIMAL = 'decimal(38,9)';
const VALUES = [
  ...['order_id', 'product', 'kind', 'publisher_id', 'publisher_name', 'currency'],
  ...['state', 'amount', 'commission', 'counted'],
];
const VALUE_LIST = VALUES.join(', ');
const H_VALUES = VALUES.map((name) => `h.${name}`).join(', ');

/** The rows of both histories. @param where a condition that the engine moves into each part */
function historySql(where: string): string {
  const parts = Object.entries(HISTORIES).map(
    ([table, view]) =>
      `SELECT brand, '${table}' AS report, dt, key, place, what, ${VALUE_LIST} FROM ${view} WHERE ${where}`,
  );
  return `(${parts.join(' UNION ALL ')})`;
}

const OF_DAY = 'd.brand = h.brand AND d.report = h.report AND d.dt = h.dt';
const IS_BETWEEN = 'd.then_place IS NOT NULL AND d.now_place IS NOT NULL';

/**
 * SQL of the first days (`first_dt`) of the history that is read: engines leave out the files of earlier days, which they do
 * not for the days of a join. Missing: all days.
 */
interface Since {
  /** Of days that have both places. */
  days?: string;
  /** Of records that changed. */
  changed: string;
  /** Of days that have one place. */
  whole?: string;
}

const IN_SESSION: Since = {
  changed: 'SELECT min(dt) AS first_dt FROM changed',
  whole: `SELECT min(dt) AS first_dt FROM days AS d WHERE NOT (${IS_BETWEEN})`,
};

function sinceSql(first: string | undefined): string {
  return first === undefined ? '' : `JOIN (${first}) AS since ON h.dt >= first_dt`;
}

/**
 * The difference of two tables as they were, as common table expressions: `differences` has the records of both, each with
 * the number of its copies then and now. Of days that have both, it has the records that changed in between, and no other
 * is read from the history.
 *
 * A record with a key at a place is a row of the first later change of its group, or a current row. Rows without a key at a
 * place are the current rows and the rows that were removed later, without the rows that were added later.
 * @param days SQL of the days, with these columns:
 * - `brand`, `report` (orders or transactions), `dt`;
 * - `source`: the report that counts now in its month; `is_switched`: another report counted then;
 * - `is_opening`: a record counts only if it counted on another day then; `is_anew`: its records then are not known;
 * - `then_place` and `now_place`; NULL: the day has no records then, or now
 * @param since missing: for an engine that computes each common table expression once
 */
export function differencesSql(days: string, since: Since = IN_SESSION): string {
  const changed = historySql("what <> 'now' AND key IS NOT NULL");
  const current = historySql('key IS NOT NULL');
  const wholePlace = 'coalesce(d.then_place, d.now_place)';
  return `days AS (${days}),
changed AS (
  SELECT brand, report, dt, key, source, is_switched, is_anew, first_place, coalesce(later_place, ${NOW_PLACE}) AS later_place
  FROM (
    SELECT h.brand, h.report, h.dt, h.key, d.source, d.is_switched, d.is_anew, d.now_place, min(h.place) AS first_place,
      min(CASE WHEN h.place > d.now_place THEN h.place END) AS later_place
    FROM ${changed} h ${sinceSql(since.days)} JOIN days d ON ${OF_DAY}
    WHERE ${IS_BETWEEN} AND h.place > d.then_place
    GROUP BY h.brand, h.report, h.dt, h.key, d.source, d.is_switched, d.is_anew, d.now_place
  ) AS places
  WHERE first_place <= now_place
),
whole AS (
  SELECT brand, report, dt, source, is_switched, is_opening, is_anew, key, ${VALUE_LIST},
    CASE WHEN then_place IS NULL THEN 0 ELSE copies END AS copies_then,
    CASE WHEN now_place IS NULL THEN 0 ELSE copies END AS copies_now
  FROM (
    SELECT *, CASE WHEN key IS NULL THEN CASE what WHEN 'added' THEN -1 ELSE 1 END
      WHEN place = first_place AND what <> 'added' THEN 1 ELSE 0 END AS copies
    FROM (
      SELECT d.*, h.key, h.place, h.what, ${H_VALUES},
        min(h.place) OVER (PARTITION BY h.brand, h.report, h.dt, h.key) AS first_place
      FROM ${historySql('true')} h ${sinceSql(since.whole)} JOIN days d ON ${OF_DAY}
      WHERE NOT (${IS_BETWEEN}) AND h.place > ${wholePlace}
    ) AS later
  ) AS counted_copies
  WHERE copies <> 0
),
opened AS (SELECT DISTINCT brand, report, key FROM whole WHERE is_opening AND key IS NOT NULL),
known_before AS (
  SELECT DISTINCT brand, report, key
  FROM (
    SELECT h.brand, h.report, h.dt, h.key, min(h.place) AS first_place,
      min(CASE WHEN h.what = 'added' THEN h.place END) AS added_place
    FROM ${current} h
    JOIN opened o ON o.brand = h.brand AND o.report = h.report AND o.key = h.key
    JOIN days d ON ${OF_DAY}
    WHERE h.place > d.then_place
    GROUP BY h.brand, h.report, h.dt, h.key
  ) AS groups_then
  WHERE added_place IS NULL OR added_place > first_place
),
orders_then AS (SELECT brand, order_id FROM whole WHERE order_id IS NOT NULL GROUP BY brand, order_id HAVING sum(copies_then) > 0),
differences AS (
  SELECT c.brand, c.report, c.dt, c.source, c.is_switched, c.is_anew, c.key, ${H_VALUES},
    CASE WHEN h.place = c.first_place THEN 1 ELSE 0 END AS copies_then,
    CASE WHEN h.place = c.later_place THEN 1 ELSE 0 END AS copies_now,
    0 AS copies_opening
  FROM ${current} h ${sinceSql(since.changed)} JOIN changed c ON c.brand = h.brand AND c.report = h.report AND c.dt = h.dt AND c.key = h.key
  WHERE h.what <> 'added' AND (h.place = c.first_place OR h.place = c.later_place)
  UNION ALL
  SELECT d.brand, d.report, d.dt, d.source, d.is_switched, d.is_anew, h.key, ${H_VALUES},
    CASE h.what WHEN 'removed' THEN 1 ELSE 0 END, CASE h.what WHEN 'added' THEN 1 ELSE 0 END, 0
  FROM ${historySql("what <> 'now' AND key IS NULL")} h ${sinceSql(since.days)} JOIN days d ON ${OF_DAY}
  WHERE ${IS_BETWEEN} AND h.place > d.then_place AND h.place <= d.now_place
  UNION ALL
  SELECT w.brand, w.report, w.dt, w.source, w.is_switched, w.is_anew, w.key, ${VALUES.map((name) => `w.${name}`).join(', ')},
    w.copies_then,
    CASE WHEN w.is_opening AND b.key IS NULL AND o.order_id IS NULL THEN 0 ELSE w.copies_now END,
    CASE WHEN w.is_opening AND b.key IS NULL AND o.order_id IS NULL THEN w.copies_now ELSE 0 END
  FROM whole w
  LEFT JOIN known_before b ON b.brand = w.brand AND b.report = w.report AND b.key = w.key
  LEFT JOIN orders_then o ON o.brand = w.brand AND o.order_id = w.order_id
)`;
}

/** The sum of what counted then, or counts now; a record whose commission is not known adds nothing. */
export function sumOfCopiesSql(copies: 'copies_then' | 'copies_now' | 'copies_opening'): string {
  return `CAST(coalesce(sum(CASE ${copies} WHEN 1 THEN counted WHEN 0 THEN NULL ELSE ${copies} * counted END), 0) AS ${DECIMAL})`;
}

export function unknownCopiesSql(copies: 'copies_then' | 'copies_now'): string {
  return `CAST(sum(CASE WHEN counted IS NULL THEN ${copies} ELSE 0 END) AS bigint)`;
}

/** The name of the latest record, now or else then; NULL: no record has a name. */
export function latestNameSql(): string {
  return `CAST(substr(max(CASE WHEN publisher_name IS NOT NULL THEN CASE WHEN copies_now > 0 THEN '1' ELSE '0' END || dt || publisher_name END), 12) AS varchar)`;
}

/** What identifies a record on both sides: if the source of its month changes, its order, whatever day it is on. */
export const SAME_RECORD = `brand, source, CASE WHEN is_switched THEN substr(dt, 1, 7) ELSE dt END,
    CASE WHEN is_switched THEN order_id ELSE key END, CASE WHEN key IS NULL AND NOT is_switched THEN order_id END,
    CASE WHEN key IS NULL AND NOT is_switched THEN product END, publisher_id, currency`;

const IS_MONEY = `report IN ('${REPORTS.orders}', '${REPORTS.transactions}')`;
const FACT = `CAST(brand AS varchar) AS brand, CASE report WHEN '${REPORTS.orders}' THEN 'orders' ELSE 'transactions' END AS report, CAST(dt AS varchar) AS dt`;
const OF_MONTH = 'OVER (PARTITION BY brand, substr(dt, 1, 7))';

/** The first and the latest closed month of each brand. */
const LATEST = `SELECT CAST(brand AS varchar) AS brand, CAST(max(month) AS varchar) AS close, CAST(min(month) AS varchar) AS first_close
    FROM closes GROUP BY brand`;

/**
 * The days of the latest close of each brand, and their records now. Transactions count in a month if they have a version of
 * each day of which orders have one, and any record (`sourcesOf`). An erased day lacks nothing.
 */
const DAYS = `SELECT brand, report, dt, source, is_opening, is_anew,
    coalesce(max(CASE WHEN counts = 1 THEN report END) ${OF_MONTH} <> source, false) AS is_switched,
    CASE WHEN NOT is_anew THEN place END AS then_place,
    CASE WHEN report = source AND is_present = 1 AND is_erased = 0 THEN ${AS_OF_NOW} END AS now_place
  FROM (
    SELECT c.brand, c.report, c.dt, c.counts, c.is_present, c.is_erased,
      CASE WHEN max(c.is_uncovered) OVER of_month = 0 AND max(c.transactions) OVER of_month > 0 THEN 'transactions' ELSE 'orders' END AS source,
      CASE WHEN c.counts = 1 THEN c.place END AS place,
      c.counts = 1 AND coalesce(c.anew_place > c.place, false) AS is_anew,
      c.is_named = 0 AND substr(c.dt, 1, 7) < l.first_close AS is_opening
    FROM (
      SELECT *, CASE WHEN report = 'transactions' THEN rows ELSE 0 END AS transactions,
        CASE WHEN report = 'orders' AND is_present = 1
          AND max(CASE WHEN report = 'transactions' AND (is_present = 1 OR is_erased = 1 OR is_gone = 1) THEN 1 ELSE 0 END) OVER (PARTITION BY brand, dt) = 0
          THEN 1 ELSE 0 END AS is_uncovered
      FROM (
        SELECT brand, report, dt, max(place) AS place, max(is_named) AS is_named, max(counts) AS counts, max(is_erased) AS is_erased,
          max(is_present) AS is_present, max(is_gone) AS is_gone, max(rows) AS rows, max(anew_place) AS anew_place
        FROM (
          SELECT ${FACT}, place, 1 AS is_named, CASE WHEN counts THEN 1 ELSE 0 END AS counts,
            CASE WHEN place IS NULL THEN 1 ELSE 0 END AS is_erased, 0 AS is_present, 0 AS is_gone, CAST(0 AS bigint) AS rows, CAST(NULL AS bigint) AS anew_place
          FROM (
            SELECT *, row_number() OVER (PARTITION BY brand, report, dt ORDER BY month DESC) AS nth FROM closes WHERE ${IS_MONEY}
          ) AS newest WHERE nth = 1
          UNION ALL
          SELECT ${FACT}, NULL, 0, 0, 0, CASE WHEN committed_state IS NOT NULL THEN 1 ELSE 0 END,
            CASE WHEN state = 'erased' THEN 1 ELSE 0 END, coalesce(rows, 0), anew_place
          FROM coverage WHERE ${IS_MONEY} AND (committed_state IS NOT NULL OR state = 'erased')
        ) AS facts
        GROUP BY brand, report, dt
      ) AS days_of_reports
    ) AS c
    JOIN (${LATEST}) AS l ON l.brand = c.brand AND substr(c.dt, 1, 7) <= l.close
    WINDOW of_month AS (PARTITION BY c.brand, substr(c.dt, 1, 7))
  ) AS judged`;

/** The first day that changed since it was named by a close. */
const REACHED = `SELECT min(named.dt) AS first_dt
      FROM (SELECT brand, report, dt, max(place) AS place FROM closes GROUP BY brand, report, dt) AS named
      JOIN coverage AS v ON v.brand = named.brand AND v.report = named.report AND v.dt = named.dt
      WHERE v.place > named.place`;

/**
 * The difference between the latest close of a brand and now. A day that no close names counts as it is now. In a month before
 * the first close, only records count that counted on another day, so that a longer backfill bills nobody twice.
 */
export const sinceClose: ReportView = {
  name: 'since_close',
  description:
    'What to book: what counts now minus what counted at the latest close of the brand, for all days up to the end of its month',
  columns: [
    ['brand', 'string', 'The brand'],
    ['close', 'string', 'The latest closed month of the brand, YYYY-MM'],
    [
      'report',
      'string',
      'The report whose commission counts now in the month of the order: orders or transactions',
    ],
    ['month', 'string', 'The month of the order, YYYY-MM'],
    ['publisher_id', 'string', 'The publisher; NULL: records without one'],
    ['publisher_name', 'string', 'The latest name of the publisher'],
    ['currency', 'string', 'The currency of the amounts; NULL: not known'],
    ['records', 'bigint', 'The number of records that count differently'],
    ['counted_then', 'decimal(38,9)', 'Their commission that counted at the close; void counts 0'],
    ['counted_now', 'decimal(38,9)', 'Their commission that counts now'],
    [
      'correction',
      'decimal(38,9)',
      'counted_now minus counted_then: what to pay or to take back. A commission that was not known at the close counts 0 then',
    ],
    UNKNOWN_AMOUNTS,
  ],
  tables: ['order_history', 'transaction_history', 'coverage', 'closes'],
  sql: `WITH ${differencesSql(DAYS, { days: REACHED, changed: REACHED })},
records AS (
  SELECT brand, source, max(dt) AS dt, publisher_id, currency, max(publisher_name) AS publisher_name,
    ${sumOfCopiesSql('copies_then')} AS counted_then, ${sumOfCopiesSql('copies_now')} AS counted_now,
    ${unknownCopiesSql('copies_then')} AS unknown_then, ${unknownCopiesSql('copies_now')} AS unknown_now,
    sum(CASE WHEN is_anew THEN copies_now ELSE 0 END) AS anew
  FROM differences
  GROUP BY ${SAME_RECORD}
)
SELECT r.brand, l.close, r.source AS report, substr(r.dt, 1, 7) AS month, r.publisher_id,
  CAST(max_by(r.publisher_name, r.dt) AS varchar) AS publisher_name, r.currency,
  CAST(count(*) AS bigint) AS records,
  CAST(CASE WHEN sum(r.unknown_then + r.anew) = 0 THEN sum(r.counted_then) END AS ${DECIMAL}) AS counted_then,
  CAST(CASE WHEN sum(r.unknown_now) = 0 THEN sum(r.counted_now) END AS ${DECIMAL}) AS counted_now,
  CAST(CASE WHEN sum(r.unknown_now + r.anew) = 0 THEN sum(r.counted_now - r.counted_then) END AS ${DECIMAL}) AS correction,
  CAST(sum(r.unknown_then + r.unknown_now + r.anew) AS bigint) AS ${UNKNOWN_AMOUNTS[0]}
FROM records r JOIN (${LATEST}) AS l ON l.brand = r.brand
WHERE r.counted_then <> r.counted_now OR r.unknown_then <> r.unknown_now OR r.anew > 0
GROUP BY r.brand, l.close, r.source, substr(r.dt, 1, 7), r.publisher_id, r.currency
HAVING sum(r.counted_now - r.counted_then) <> 0 OR sum(r.unknown_then + r.unknown_now + r.anew) <> 0`,
};

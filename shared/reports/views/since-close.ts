import type { ReportView } from '../definition.ts';
import { NOW_PLACE, historiesSql } from './history.ts';
import { MONEY_DAYS } from './money-days.ts';
import { SUM, JOIN_DAYS, UNKNOWN_AMOUNTS } from './view-sql.ts';

/** The place of a day as it is now: no day has as many changes, and current rows of a history have the next place. */
export const AS_OF_NOW = NOW_PLACE - 1;

const VALUES = [
  ...['order_id', 'product', 'kind', 'publisher_id', 'publisher_name', 'currency'],
  ...['state', 'amount', 'commission', 'counted'],
];
const VALUE_LIST = VALUES.join(', ');
const HISTORY = `key, place, what, ${VALUE_LIST}`;
const H_VALUES = VALUES.map((name) => `h.${name}`).join(', ');

const IS_BETWEEN = 'd.then_place IS NOT NULL AND d.now_place IS NOT NULL';
const FIRST_PLACE = 'coalesce(d.then_place, d.now_place)';

/**
 * The number of copies that a row is at a place. A record with a key is the row of the first later change of its group, or a
 * current row. Rows without a key are the current rows and the rows that were removed later, without the rows that were added
 * later; between two places, the rows that were added are copies at the second.
 */
function copiesSql(place: 'then_place' | 'now_place', keyless: string): string {
  return `CASE WHEN d.${place} IS NULL THEN 0 WHEN h.key IS NULL THEN CASE WHEN ${IS_BETWEEN} THEN CASE h.what ${keyless} END WHEN h.what = 'added' THEN -1 ELSE 1 END
      WHEN h.what <> 'added' AND h.place = coalesce(c.${place}, ${NOW_PLACE}) THEN 1 ELSE 0 END`;
}

/**
 * The difference of two tables as they were, as common table expressions: `differences` has the records of both, each with
 * the number of its copies then and now. Of days that have both, it has the records that changed in between. Engines that
 * put a common table expression wherever it is named plan long, so none of them reads the history more than once.
 * @param days SQL of the days, with these columns:
 * - `brand`, `report` (orders or transactions), `dt`;
 * - `source`: the report that counts now in its month; `is_switched`: another report counted then;
 * - `is_opening`: a record counts only if it moved here: fewer records of its order than then count on other days;
 * - `is_anew`: its records then are not known;
 * - `then_place` and `now_place`; NULL: the day has no records then, or now
 */
export function differencesSql(days: string): string {
  const lost = 'CASE WHEN is_opening THEN 0 ELSE copies_then - copies_now END';
  return `days AS (SELECT *, max(CASE WHEN is_opening THEN 1 ELSE 0 END) OVER (PARTITION BY brand) AS has_opening FROM (${days}) AS own),
changed AS (
  SELECT h.brand, h.report, h.dt, h.key, min(CASE WHEN h.place > d.then_place THEN h.place END) AS then_place,
    min(CASE WHEN h.place > d.now_place THEN h.place END) AS now_place
  FROM ${historiesSql(HISTORY, "what <> 'now' AND key IS NOT NULL")} h ${JOIN_DAYS}
  WHERE h.place > ${FIRST_PLACE}
  GROUP BY h.brand, h.report, h.dt, h.key
),
differences AS (
  SELECT brand, report, dt, source, is_switched, is_anew, key, ${VALUE_LIST}, copies_then,
    CASE WHEN counts THEN copies_now ELSE 0 END AS copies_now, CASE WHEN counts THEN 0 ELSE copies_now END AS copies_opening
  FROM (
    SELECT *, NOT is_opening OR (coalesce(order_id, key) IS NOT NULL AND sum(${lost}) OVER (PARTITION BY brand, CASE has_opening WHEN 1 THEN coalesce(order_id, key) END) > 0) AS counts
    FROM (
      SELECT d.brand, d.report, d.dt, d.source, d.is_switched, d.is_opening, d.has_opening, d.is_anew, h.key, ${H_VALUES},
        ${copiesSql('then_place', "WHEN 'removed' THEN 1 ELSE 0")} AS copies_then,
        ${copiesSql('now_place', "WHEN 'added' THEN 1 ELSE 0")} AS copies_now
      FROM ${historiesSql(HISTORY)} h ${JOIN_DAYS}
      LEFT JOIN changed c ON c.brand = h.brand AND c.report = h.report AND c.dt = h.dt AND c.key = h.key
      WHERE h.place > ${FIRST_PLACE} AND (NOT (${IS_BETWEEN}) OR c.key IS NOT NULL OR (h.key IS NULL AND h.place <= d.now_place))
    ) AS counted_copies
    WHERE copies_then <> copies_now
  ) AS judged
)`;
}

/** The sum of what counted then, or counts now; a record whose commission is not known adds nothing. */
export function sumOfCopiesSql(copies: 'copies_then' | 'copies_now' | 'copies_opening'): string {
  return `CAST(coalesce(sum(CASE ${copies} WHEN 1 THEN counted WHEN 0 THEN NULL ELSE ${copies} * counted END), 0) AS ${SUM})`;
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

/** The first and the latest closed month of each brand. */
const LATEST = `SELECT CAST(brand AS varchar) AS brand, CAST(max(month) AS varchar) AS close, CAST(min(month) AS varchar) AS first_close
    FROM closes GROUP BY brand`;

/** The days of the latest close of each brand, and their records now; without days that have not changed since. */
const DAYS = `SELECT brand, report, dt, source, is_switched, is_opening, is_anew, then_place, now_place
  FROM (
    SELECT c.brand, c.report, c.dt, c.source, c.last_place,
      coalesce(max(CASE WHEN c.counts = 1 THEN c.report END) OVER (PARTITION BY c.brand, substr(c.dt, 1, 7)) <> c.source, false) AS is_switched,
      c.is_named = 0 AND substr(c.dt, 1, 7) < l.first_close AS is_opening,
      c.counts = 1 AND coalesce(c.anew_place > c.close_place, false) AS is_anew,
      CASE WHEN c.counts = 1 AND NOT coalesce(c.anew_place > c.close_place, false) THEN c.close_place END AS then_place,
      CASE WHEN c.report = c.source AND c.is_present = 1 AND c.was_erased = 0 THEN ${AS_OF_NOW} END AS now_place
    FROM (${MONEY_DAYS}) AS c
    JOIN (${LATEST}) AS l ON l.brand = c.brand AND substr(c.dt, 1, 7) <= l.close
  ) AS judged
  WHERE then_place IS NULL OR now_place IS NULL OR coalesce(last_place, ${AS_OF_NOW}) > then_place`;

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
    ['report', 'string', 'The report that counts now in the month of the order: orders or transactions'],
    ['month', 'string', 'The month of the order, YYYY-MM'],
    ['publisher_id', 'string', 'The publisher; NULL: records without one'],
    ['publisher_name', 'string', 'The latest name of the publisher'],
    ['currency', 'string', 'The currency of the amounts; NULL: not known'],
    ['records', 'bigint', 'The number of records that count differently'],
    ['counted_then', SUM, 'Their commission that counted at the close; void counts 0'],
    ['counted_now', SUM, 'Their commission that counts now'],
    ['correction', SUM, 'counted_now minus counted_then (0 if not known): what to pay or to take back'],
    UNKNOWN_AMOUNTS,
  ],
  tables: ['order_history', 'transaction_history', 'coverage', 'closes'],
  sql: `WITH ${differencesSql(DAYS)},
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
  CAST(CASE WHEN sum(r.unknown_then + r.anew) = 0 THEN sum(r.counted_then) END AS ${SUM}) AS counted_then,
  CAST(CASE WHEN sum(r.unknown_now) = 0 THEN sum(r.counted_now) END AS ${SUM}) AS counted_now,
  CAST(CASE WHEN sum(r.unknown_now + r.anew) = 0 THEN sum(r.counted_now - r.counted_then) END AS ${SUM}) AS correction,
  CAST(sum(r.unknown_then + r.unknown_now + r.anew) AS bigint) AS ${UNKNOWN_AMOUNTS[0]}
FROM records r JOIN (${LATEST}) AS l ON l.brand = r.brand
WHERE r.counted_then <> r.counted_now OR r.unknown_then <> r.unknown_now OR r.anew > 0
GROUP BY r.brand, l.close, r.source, substr(r.dt, 1, 7), r.publisher_id, r.currency
HAVING sum(r.counted_now - r.counted_then) <> 0 OR sum(r.unknown_then + r.unknown_now + r.anew) <> 0`,
};

/** The days of orders and transactions, and which of the two counts in a month. */
const OF_MONTH = 'OVER (PARTITION BY brand, substr(dt, 1, 7))';
const ofReport = (report: string, condition: string) =>
  `CASE WHEN report = '${report}' AND (${condition}) THEN 1 ELSE 0 END`;

/**
 * One row for each day of each report, with `source`: the report that counts in its month, so that no money counts twice.
 * Transactions, which alone have the states locked and paid, count if they have a version of each day of which orders have one,
 * and any record. An erased day lacks nothing until it is read again: nobody is billed for an erasure.
 * @param days SQL of the days, with `brand`, `report` (orders or transactions), `dt`, 0 or 1 in `is_present` (it has a version)
 * and `is_erased`, and `rows`
 */
export function sourcesSql(days: string): string {
  return `SELECT *, CASE WHEN max(is_lacking) ${OF_MONTH} = 0 AND max(${ofReport('transactions', '"rows" > 0')}) ${OF_MONTH} > 0
      THEN 'transactions' ELSE 'orders' END AS source
  FROM (
    SELECT *, ${ofReport('orders', 'is_present = 1')}
      - ${ofReport('orders', 'is_present = 1')} * max(${ofReport('transactions', 'is_present = 1 OR is_erased = 1')}) OVER (PARTITION BY brand, dt) AS is_lacking
    FROM (${days}) AS own
  ) AS compared`;
}

const IS_MONEY = "report IN ('order_list', 'transaction_list')";
const DAY = `CAST(brand AS varchar) AS brand, substr(report, 1, length(report) - 5) || 's' AS report, CAST(dt AS varchar) AS dt`;

/**
 * The days of `coverage` and of closes, with their source. `counts`, `close_place`: what the latest close that names the day has
 * of it; `was_erased`: it was erased after that close, so its records are in no statement.
 */
export const MONEY_DAYS =
  sourcesSql(`SELECT brand, report, dt, max(is_named) AS is_named, max(counts) AS counts, max(close_place) AS close_place,
      max(was_erased) AS was_erased, max(is_present) AS is_present, max(is_erased) AS is_erased, max("rows") AS "rows",
      max(last_place) AS last_place, max(anew_place) AS anew_place
    FROM (
      SELECT ${DAY}, 1 AS is_named, CASE WHEN counts THEN 1 ELSE 0 END AS counts, place AS close_place, CASE WHEN place IS NULL THEN 1 ELSE 0 END AS was_erased,
        0 AS is_present, CASE WHEN place IS NULL THEN 1 ELSE 0 END AS is_erased, CAST(0 AS bigint) AS "rows", CAST(NULL AS bigint) AS last_place, CAST(NULL AS bigint) AS anew_place
      FROM (
        SELECT *, row_number() OVER (PARTITION BY brand, report, dt ORDER BY month DESC) AS nth FROM closes WHERE ${IS_MONEY} AND dt IS NOT NULL
      ) AS newest WHERE nth = 1
      UNION ALL
      SELECT ${DAY}, 0, 0, NULL, 0, CASE WHEN committed_state IS NOT NULL THEN 1 ELSE 0 END, CASE WHEN state = 'erased' THEN 1 ELSE 0 END,
        coalesce("rows", 0), place, anew_place
      FROM coverage WHERE ${IS_MONEY} AND (committed_state IS NOT NULL OR state = 'erased')
    ) AS facts
    GROUP BY brand, report, dt`);

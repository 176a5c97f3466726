import { daysSql } from './states.ts';

/**
 * By record, publisher and currency: what counted where the record was first paid, minus what counts for it now on all days
 * of the brand, so that a record that only moved to another day is in no row. `dt` is the day on which it was first paid. A
 * row with an unknown amount has no `difference`. Records that were paid, have no key and are gone are unknown.
 */
export function reversedSql(table: 'orders' | 'transactions'): string {
  const history = `${table.slice(0, -1)}_history`;
  // A current record that is where it was first paid has not changed, even if its amount is not known.
  const change =
    "CASE WHEN is_first = 1 AND state = 'paid' THEN CASE WHEN what = 'now' THEN 0 ELSE counted END WHEN what = 'now' THEN -counted ELSE 0 END";
  return `SELECT brand, first_dt AS dt, '${table}' AS report, key, publisher_id, currency, max(order_id) AS order_id, max(product) AS product,
      CASE WHEN count(*) = count(change) THEN sum(change) END AS difference, count(*) - count(change) AS unknown
    FROM (
      SELECT *, ${change} AS change
      FROM (
        SELECT *, min(CASE WHEN is_first = 1 THEN dt END) OVER (PARTITION BY brand, key) AS first_dt
        FROM (
          SELECT *, rank() OVER (PARTITION BY brand, key ORDER BY CASE WHEN state = 'paid' THEN 0 ELSE 1 END, began_by NULLS LAST, dt, place) AS is_first
          FROM (
            SELECT h.brand, h.dt, h.key, place, what, state, publisher_id, currency, counted, order_id, product,
              COALESCE(max(changed_by) OVER (
                PARTITION BY h.brand, h.dt, h.key ORDER BY place RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
              ), anew_by, first_by) AS began_by
            FROM ${history} AS h
            JOIN (
              SELECT brand, key FROM ${history}
              WHERE key IS NOT NULL AND (what = 'now' OR state = 'paid')
              GROUP BY brand, key
              HAVING count(CASE WHEN what <> 'now' THEN 1 END) > 0
                OR (count(CASE WHEN state = 'paid' THEN 1 END) > 0 AND count(*) > 1)
            ) AS paid ON paid.brand = h.brand AND paid.key = h.key
            LEFT JOIN ${daysSql(table)} ON of_brand = h.brand AND of_dt = h.dt
          ) AS begun
        ) AS ranked
      ) AS dated
    ) AS changed
    GROUP BY brand, first_dt, key, publisher_id, currency
    HAVING sum(change) <> 0 OR count(*) <> count(change)
    UNION ALL
    SELECT brand, dt, '${table}' AS report, key, publisher_id, currency, order_id, product, NULL AS difference, 1 AS unknown
    FROM ${history} WHERE key IS NULL AND what = 'removed' AND state = 'paid'`;
}

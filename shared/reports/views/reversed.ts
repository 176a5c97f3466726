import { historiesSql } from './history.ts';

/** Of the records of a group at a place, the first that is paid has the change before in the row before. */
const PAID_FIRST = "CASE WHEN state = 'paid' THEN 0 ELSE 1 END";

/** A current record that is where it was first paid has not changed, even if its amount is not known. */
const CHANGE =
  "CASE WHEN dt = first_dt AND place = first_place AND state = 'paid' THEN CASE WHEN what = 'now' THEN 0 ELSE counted END WHEN what = 'now' THEN -counted ELSE 0 END";

/**
 * By record, publisher and currency: what counted where the record was first paid, minus what counts for it now on all days
 * of the brand. So a record that only moved to another day is in no row. `dt` is the day on which it was first paid. A row
 * with an unknown amount has no `difference`. A record that was paid, has no key and is gone is unknown. Of records with a
 * key, the view compares the records that a change replaced when they were paid, and the records that are there twice.
 */
export const REVERSED_SQL = `SELECT brand, first_dt AS dt, report, key, publisher_id, currency, max(order_id) AS order_id, max(product) AS product,
    CASE WHEN count(*) = count(change) THEN sum(change) END AS difference, count(*) - count(change) AS unknown
  FROM (
    SELECT *, ${CHANGE} AS change
    FROM (
      SELECT *, first_value(dt) OVER of_record AS first_dt, first_value(place) OVER of_record AS first_place
      FROM (
        SELECT h.*, COALESCE(lag(COALESCE(changed_by, TIMESTAMP '9999-12-31 00:00:00')) OVER (
          PARTITION BY h.brand, h.report, h.dt, h.key ORDER BY h.place, ${PAID_FIRST}
        ), anew_by, first_by) AS began_by
        FROM ${historiesSql('key, place, what, changed_by, state, publisher_id, currency, counted, order_id, product')} AS h
        JOIN (
          SELECT brand, report, key FROM ${historiesSql('key, what, state')} AS keys
          WHERE key IS NOT NULL AND (what = 'now' OR state = 'paid')
          GROUP BY brand, report, key
          HAVING count(CASE WHEN what <> 'now' THEN 1 END) > 0
            OR (count(*) > 1 AND count(CASE WHEN state = 'paid' THEN 1 END) > 0)
        ) AS paid ON paid.brand = h.brand AND paid.report = h.report AND paid.key = h.key
        LEFT JOIN (
          SELECT brand AS of_brand, substr(report, 1, length(report) - 5) || 's' AS of_report, dt AS of_dt, first_by, anew_by FROM coverage
        ) AS days ON of_brand = h.brand AND of_report = h.report AND of_dt = h.dt
      ) AS begun
      WINDOW of_record AS (PARTITION BY brand, report, key ORDER BY ${PAID_FIRST}, began_by NULLS LAST, dt, place)
    ) AS ranked
  ) AS changed
  GROUP BY brand, report, first_dt, key, publisher_id, currency
  HAVING sum(change) <> 0 OR count(*) <> count(change)
  UNION ALL
  SELECT brand, dt, report, key, publisher_id, currency, order_id, product, NULL AS difference, 1 AS unknown
  FROM ${historiesSql('key, what, state, publisher_id, currency, order_id, product')} AS unkeyed
  WHERE key IS NULL AND what = 'removed' AND state = 'paid'`;

import { daysSql, historiesSql } from './history.ts';
import { sumSql } from './view-sql.ts';

/** Of the records of a group at a place, the first that is paid has the change before in the row before. */
const PAID_FIRST = "CASE WHEN state = 'paid' THEN 0 ELSE 1 END";
const IS_PAID = "state = 'paid'";
const RECORD = 'brand, dt, report, key, publisher_id, currency';
const FIELDS = ['key', 'place', 'what', 'changed_by', 'state', 'counted', 'publisher_id', 'currency'];
const PAID_PLACE = `min(CASE WHEN ${IS_PAID} AND what <> 'now' THEN place END)`;

/**
 * All records of the group count where one of them was first paid: the other lines of an order are not new because they are
 * paid later. A group that is still there has not changed, even if an amount is not known.
 */
const ON_DAY = `CASE WHEN place_paid IS NULL THEN 0 WHEN what = 'now' THEN -counted
      WHEN place = place_paid AND what <> 'added' THEN CASE is_unkeyed WHEN 1 THEN NULL ELSE counted END ELSE 0 END`;
const ON_ALL_DAYS = `CASE WHEN dt = first_dt AND place = first_place THEN CASE WHEN what = 'now' THEN 0 WHEN is_lost = 1 THEN NULL ELSE counted END
      WHEN what = 'now' THEN -counted ELSE 0 END`;

/** Keys that were paid and are on several days: they need the order of all their rows. */
const MOVED_SQL = `SELECT brand AS m_brand, report AS m_report, key AS m_key FROM ${historiesSql('key, what, state')} AS keys
    WHERE key IS NOT NULL AND (what = 'now' OR ${IS_PAID})
    GROUP BY brand, report, key
    HAVING min(TRY_CAST(dt AS date)) <> max(TRY_CAST(dt AS date)) AND count(CASE WHEN ${IS_PAID} THEN 1 END) > 0`;

/**
 * Where records without a key were added. If a record with a key is gone since the same change, nobody knows whether it is one
 * of them: a key has no values after its field was renamed.
 */
const UNKEYED_SQL = `SELECT DISTINCT brand AS u_brand, report AS u_report, dt AS u_dt, place AS u_place
    FROM ${historiesSql('key, place, what')} AS added WHERE key IS NULL AND what = 'added'`;
const IS_UNKEYED = 'u_brand = brand AND u_report = report AND u_dt = dt AND u_place';

/**
 * By day, record, publisher and currency: what counted at each age, and where the record was first paid (`paid`), minus what
 * counts now; for records that changed since. Records without a key are one record. What was paid is compared with what
 * counts now on all days of the brand: a record that only moved to another day has no difference. Its `dt` is the day on which
 * it was first paid. `unknown` counts amounts that are not known where a record was paid or now. A record that was paid, has
 * no key and is gone is unknown. So is a record that is gone since records without a key were added.
 *
 * Each changed record is compared on its day. For the few that were on several days, this comparison is taken back: engines
 * that read a table wherever it is named would otherwise look for these keys twice.
 * @param ages in days; 0 is the first close of the day
 * @param others more columns
 */
export function changedSql(ages: readonly number[], others: readonly string[] = []): string {
  const fields = [...FIELDS, ...others].join(', ');
  const isLater = (age: number) => (age === 0 ? 'true' : `changed_by > age_${age}`);
  const places = ages
    .map((age) => `min(CASE WHEN ${isLater(age)} THEN place END) AS place_${age}, `)
    .join('');
  const ofAges = ages.map(
    (
      age,
    ) => `CASE WHEN key IS NULL THEN CASE WHEN ${isLater(age)} THEN CASE what WHEN 'removed' THEN counted ELSE -counted END ELSE 0 END
      WHEN place_${age} IS NULL THEN 0 WHEN what = 'now' THEN -counted WHEN place = place_${age} AND what <> 'added' THEN counted ELSE 0 END AS then_${age}, `,
  );
  const days = daysSql(ages.filter((age) => age > 0));
  const ofDay = 'of_brand = brand AND of_report = report AND of_dt = dt';
  const sums = ages.map((age) => `${sumSql({ amount: `then_${age}` })} AS then_${age}, `).join('');
  const ownValues = others.map((name) => `, ${name}`).join('');
  const values = others.map((name) => `, max(${name}) AS ${name}`).join('');
  return `WITH unkeyed AS (${UNKEYED_SQL})
  SELECT ${RECORD}${values}, ${sums}CASE WHEN sum(is_unknown) = 0 THEN sum(known) END AS paid, sum(is_unknown) AS unknown
  FROM (
    SELECT ${RECORD}${ownValues}, ${ages.map((age) => `then_${age}, `).join('')}COALESCE(paid, 0) AS known, CASE WHEN paid IS NULL THEN 1 ELSE 0 END AS is_unknown
    FROM (
      SELECT ${RECORD}${ownValues}, ${ofAges.join('\n      ')}CASE WHEN key IS NULL THEN CASE WHEN what <> 'removed' OR state IS NULL OR NOT (${IS_PAID}) THEN 0 END ELSE ${ON_DAY} END AS paid
      FROM ${historiesSql(fields)} AS records
      LEFT JOIN (
        SELECT *, CASE WHEN u_place IS NULL THEN 0 ELSE 1 END AS is_unkeyed
        FROM (
          SELECT brand AS c_brand, report AS c_report, dt AS c_dt, key AS c_key, ${places}${PAID_PLACE} AS place_paid,
            max(place) AS last_place, max(CASE WHEN what = 'removed' THEN place END) AS removed_place
          FROM ${historiesSql('key, place, what, changed_by, state')} AS changed_rows
          LEFT JOIN ${days} ON ${ofDay}
          WHERE what <> 'now' AND key IS NOT NULL
          GROUP BY brand, report, dt, key
        ) AS places
        LEFT JOIN unkeyed
          ON u_brand = c_brand AND u_report = c_report AND u_dt = c_dt AND u_place = last_place AND removed_place = last_place
      ) AS changed ON c_brand = brand AND c_report = report AND c_dt = dt AND c_key = key
      LEFT JOIN ${days} ON ${ofDay}
      WHERE c_key IS NOT NULL OR (key IS NULL AND what <> 'now')
    ) AS pieces
    UNION ALL
    SELECT brand, CASE sign WHEN 1 THEN first_dt ELSE dt END, report, key, publisher_id, currency${ownValues}, ${ages.map(() => '0, ').join('')}
      sign * COALESCE(change, 0), CASE WHEN change IS NULL THEN sign ELSE 0 END
    FROM (
      SELECT *, CASE sign WHEN 1 THEN ${ON_ALL_DAYS} ELSE ${ON_DAY} END AS change
      FROM (
        SELECT *, first_value(dt) OVER of_record AS first_dt, first_value(place) OVER of_record AS first_place,
          max(is_unkeyed) OVER of_key * (1 - max(CASE WHEN what = 'now' THEN 1 ELSE 0 END) OVER of_key) AS is_lost
        FROM (
          SELECT *, max(CASE WHEN place = last_place AND what = 'removed' AND u_place IS NOT NULL THEN 1 ELSE 0 END) OVER (PARTITION BY brand, report, dt, key) AS is_unkeyed
          FROM (
            SELECT *, ${PAID_PLACE} OVER of_group AS place_paid, max(place) OVER of_group AS last_place,
              COALESCE(lag(COALESCE(changed_by, TIMESTAMP '9999-12-31 00:00:00')) OVER (
                PARTITION BY brand, report, dt, key ORDER BY place, ${PAID_FIRST}
              ), anew_by, first_by) AS began_by
            FROM ${historiesSql(fields)} AS rows_of_moved
            JOIN (${MOVED_SQL}) AS moved ON m_brand = brand AND m_report = report AND m_key = key
            LEFT JOIN ${daysSql([])} ON ${ofDay}
            LEFT JOIN unkeyed ON ${IS_UNKEYED} = place
            WINDOW of_group AS (PARTITION BY brand, report, dt, key)
          ) AS begun
        ) AS grouped
        WINDOW of_record AS (PARTITION BY brand, report, key ORDER BY ${PAID_FIRST}, began_by NULLS LAST, dt, place),
          of_key AS (PARTITION BY brand, report, key)
      ) AS ranked CROSS JOIN (VALUES (1), (-1)) AS signs(sign)
    ) AS compared
  ) AS parts
  GROUP BY ${RECORD}`;
}

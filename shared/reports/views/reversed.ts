import { daysSql, historiesSql } from './history.ts';
import { sumSql } from './view-sql.ts';

/** Of the records of a group at a place, the first that is paid has the change before in the row before. */
const PAID_FIRST = "CASE WHEN state = 'paid' THEN 0 ELSE 1 END";
const IS_PAID = "state = 'paid'";
const RECORD = 'brand, dt, report, key, publisher_id, currency';
const FIELDS = ['key', 'place', 'what', 'changed_by', 'state', 'counted', 'publisher_id', 'currency'];

/**
 * All records of the group count where one of them was first paid: the other lines of an order are not new because they are
 * paid later. A group that is still there has not changed, even if an amount is not known.
 */
const CHANGE = `CASE WHEN dt = first_dt AND place = first_place THEN CASE WHEN what = 'now' THEN 0 ELSE counted END WHEN what = 'now' THEN -counted ELSE 0 END`;

/** Keys of records that are there twice, or were paid on another day: they need the order of all their rows. */
const MOVED_SQL = `SELECT brand AS brand_moved, report AS report_moved, key AS key_moved FROM ${historiesSql('key, what, state')} AS keys
    WHERE key IS NOT NULL AND (what = 'now' OR ${IS_PAID})
    GROUP BY brand, report, key
    HAVING (min(TRY_CAST(dt AS date)) <> max(TRY_CAST(dt AS date)) OR count(CASE WHEN what = 'now' THEN 1 END) > 1) AND count(CASE WHEN ${IS_PAID} THEN 1 END) > 0`;
const OF_KEY = 'brand_moved = brand AND report_moved = report AND key_moved = key';

/**
 * By day, record, publisher and currency: what counted at each age, and where the record was first paid (`paid`), minus what
 * counts now; for records that changed since. Records without a key are one record. What was paid is compared with what
 * counts now on all days of the brand: a record that only moved to another day has no difference. Its `dt` is the day on which
 * it was first paid. `unknown` counts amounts that are not known where a record was paid or now; a record that was paid,
 * has no key and is gone is unknown.
 * @param ages in days; 0 is the first close of the day
 * @param others more columns
 */
export function changedSql(ages: readonly number[], others: readonly string[] = []): string {
  const fields = [...FIELDS, ...others].join(', ');
  const isLater = (age: number) => (age === 0 ? 'true' : `changed_by > age_${age}`);
  const points = [...ages.map((age) => `then_${age}`), 'paid'];
  const places = [
    ...ages.map((age) => `min(CASE WHEN ${isLater(age)} THEN place END) AS place_${age}`),
    `min(CASE WHEN ${IS_PAID} THEN place END) AS place_paid`,
  ];
  const ofAges = ages.map(
    (
      age,
    ) => `CASE WHEN key IS NULL THEN CASE WHEN ${isLater(age)} THEN CASE what WHEN 'removed' THEN counted ELSE -counted END ELSE 0 END
      WHEN place_${age} IS NULL THEN 0 WHEN what = 'now' THEN -counted WHEN place = place_${age} AND what <> 'added' THEN counted ELSE 0 END AS then_${age}`,
  );
  const ofPaid = `CASE WHEN key IS NULL THEN CASE WHEN what <> 'removed' OR state IS NULL OR NOT (${IS_PAID}) THEN 0 END
      WHEN place_paid IS NULL OR key_moved IS NOT NULL THEN 0 WHEN what = 'now' THEN -counted WHEN place = place_paid AND what <> 'added' THEN counted ELSE 0 END AS paid`;
  const days = daysSql(ages.filter((age) => age > 0));
  const ofDay = 'of_brand = brand AND of_report = report AND of_dt = dt';
  const sums = points.map((point) => `${sumSql({ amount: point })} AS ${point}`);
  const values = others.map((name) => `, max(${name}) AS ${name}`).join('');
  return `WITH moved AS (${MOVED_SQL})
  SELECT ${RECORD}${values}, ${sums.join(', ')}, count(*) - count(paid) AS unknown
  FROM (
    SELECT ${[RECORD, ...others].join(', ')}, ${[...ofAges, ofPaid].join(',\n      ')}
    FROM ${historiesSql(fields)} AS records
    LEFT JOIN (
      SELECT brand AS brand_changed, report AS report_changed, dt AS dt_changed, key AS key_changed, max(key_moved) AS key_moved, ${places.join(', ')}
      FROM ${historiesSql('key, place, what, changed_by, state')} AS changed_rows
      LEFT JOIN ${days} ON ${ofDay}
      LEFT JOIN moved ON ${OF_KEY}
      WHERE what <> 'now' AND key IS NOT NULL
      GROUP BY brand, report, dt, key
    ) AS changed ON brand_changed = brand AND report_changed = report AND dt_changed = dt AND key_changed = key
    LEFT JOIN ${days} ON ${ofDay}
    WHERE key_changed IS NOT NULL OR (key IS NULL AND what <> 'now')
  ) AS pieces
  GROUP BY ${RECORD}
  UNION ALL
  SELECT brand, first_dt AS dt, report, key, publisher_id, currency${values}, ${ages.map(() => '0, ').join('')}${sumSql({ amount: 'change' })}, count(*) - count(change)
  FROM (
    SELECT *, ${CHANGE} AS change
    FROM (
      SELECT *, first_value(dt) OVER of_record AS first_dt, first_value(place) OVER of_record AS first_place
      FROM (
        SELECT *, COALESCE(lag(COALESCE(changed_by, TIMESTAMP '9999-12-31 00:00:00')) OVER (
          PARTITION BY brand, report, dt, key ORDER BY place, ${PAID_FIRST}
        ), anew_by, first_by) AS began_by
        FROM ${historiesSql(fields)} AS rows_of_moved
        JOIN moved ON ${OF_KEY}
        LEFT JOIN ${daysSql([])} ON ${ofDay}
      ) AS begun
      WINDOW of_record AS (PARTITION BY brand, report, key ORDER BY ${PAID_FIRST}, began_by NULLS LAST, dt, place)
    ) AS ranked
  ) AS compared
  GROUP BY brand, report, first_dt, key, publisher_id, currency`;
}

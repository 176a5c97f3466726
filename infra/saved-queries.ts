import { STATE_NOW_SQL } from '../shared/catalog/coverage.ts';
import { PROBLEM_STATES, statesSql } from '../shared/planning/day-state.ts';

/**
 * Saves an analyst's first questions as queries. If a query needs only some months, it filters on `month`, so that
 * Athena lists no other partition. The queries use only `coverage`, `freshness`, `changes` and
 * `since_close`, whose columns no report changes, so no query can break.
 */
export const SAVED_QUERIES = [
  {
    name: 'Is everything there',
    description:
      'Per brand and report: the newest complete day, when it was last read, and how many days are in which state',
    sql: 'SELECT *\nFROM freshness\nORDER BY brand, report',
  },
  {
    name: 'Days that need attention',
    description:
      'Of the last 90 days, with the reason, or with findings of a day that was read; days without a row are in days_missing of freshness',
    sql: `SELECT *
FROM (
  SELECT brand, report, dt,
    ${STATE_NOW_SQL} AS state,
    failed_since, failure, findings, refused_lookups, next_due
  FROM coverage
  WHERE month >= substr(${daysAgo(90)}, 1, 7)
) AS days
WHERE (state IN (${statesSql(PROBLEM_STATES)}) OR findings IS NOT NULL OR refused_lookups > 0)
  AND dt >= ${daysAgo(90)}
ORDER BY dt DESC, brand, report`,
  },
  {
    name: 'What later readings changed',
    description: 'On days of the last 90 that were closed: one row per change, the newest first',
    sql: `SELECT brand, report, dt, place, min(cause) AS cause, max(changed_by) AS changed_by,
  count_if(what = 'added') AS added, count_if(what = 'removed') AS removed, count_if(what = 'altered') AS altered
FROM changes
WHERE dt >= ${daysAgo(90)}
GROUP BY brand, report, dt, place
ORDER BY changed_by DESC, brand, report, dt DESC`,
  },
  {
    name: 'What changed since the close',
    description:
      'What to book since the latest close of each brand, by publisher, currency and month of the order',
    sql: `SELECT *
FROM since_close
ORDER BY brand, month, currency, publisher_id`,
  },
];

/** The day in UTC, as text. In DuckDB a date minus an interval is a timestamp, whose text sorts after the day. */
function daysAgo(days: number): string {
  return `CAST(CAST(current_date - INTERVAL '${days}' DAY AS date) AS varchar)`;
}

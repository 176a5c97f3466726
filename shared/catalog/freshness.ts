import type { View } from '../reports/definition.ts';
import { coverageTable } from './coverage.ts';

/** A day that was due so long ago, and was not read since, is overdue: a daily schedule has had its turn. */
const OVERDUE_HOURS = 30;

/**
 * Per brand and report how much of it is in, reckoned when it is asked: a pipeline that is dead shows as stale.
 * Hours are those that began in between; days are counted up to yesterday in UTC, which has begun in every zone.
 */
export const freshness: View = {
  name: 'freshness',
  description:
    'Per brand and report: newest complete day, last read and the hours since (null: never read), days failed, overdue and missing since the first',
  columns: [
    ['brand', 'string'],
    ['report', 'string'],
    ['newest_complete_day', 'string'],
    ['last_read', 'timestamp'],
    ['hours_since_read', 'bigint'],
    ['days_failed', 'bigint'],
    ['failing_since', 'timestamp'],
    ['days_overdue', 'bigint'],
    ['days_missing', 'bigint'],
  ],
  needs: [],
  // DuckDB counts the hours that began and Trino those that passed: on whole hours both give the same.
  sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(report AS varchar) AS report,
  CAST(max(CASE WHEN state IN ('complete', 'settled') THEN dt END) AS varchar) AS newest_complete_day,
  CAST(max(read_from) AS timestamp) AS last_read,
  CAST(date_diff('hour', date_trunc('hour', max(read_from)), date_trunc('hour', max(asked))) AS bigint) AS hours_since_read,
  CAST(count(CASE WHEN state = 'failed' THEN 1 END) AS bigint) AS days_failed,
  CAST(min(failed_since) AS timestamp) AS failing_since,
  CAST(count(CASE WHEN next_due < late AND (read_from IS NULL OR read_from < late) THEN 1 END) AS bigint) AS days_overdue,
  CAST(greatest(
    date_diff('day', CAST(min(dt) AS date), CAST(max(asked) AS date))
      - count(CASE WHEN state <> 'partial' AND CAST(dt AS date) < CAST(asked AS date) THEN 1 END),
    0
  ) AS bigint) AS days_missing
FROM (
  SELECT brand, report, dt, state, read_from, failed_since, next_due,
    CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp) AS asked,
    CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp) - INTERVAL '${OVERDUE_HOURS}' HOUR AS late
  FROM ${coverageTable.name}
) AS days
GROUP BY brand, report`,
};

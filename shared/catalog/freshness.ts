import { COMPLETE_STATES } from '../planning/day-state.ts';
import type { View } from '../reports/definition.ts';
import { NOW_SQL } from '../reports/views/view-sql.ts';
import { STATE_NOW_SQL, coverageTable } from './coverage.ts';

const COMPLETE = COMPLETE_STATES.map((state) => `'${state}'`).join(', ');

/**
 * One row per brand and report: up to when its data is complete, and how many days are in which state. It is computed
 * when it is queried, so that a dead pipeline shows as overdue. Hours are counted when they begin. Days without a row
 * are missing too, from the first day up to yesterday in UTC, which has begun in every zone.
 */
export const freshness: View = {
  name: 'freshness',
  description:
    'Per brand and report: newest complete day, last read and the hours since (null: never read), and how many days since the first are failed, overdue, missing, in progress or unverified',
  columns: [
    ['brand', 'string', 'The brand'],
    ['report', 'string', 'The report, by the last part of its action'],
    ['newest_complete_day', 'string', 'The newest day that was read whole after its end'],
    ['last_read', 'timestamp', 'When the newest reading began, in UTC'],
    ['hours_since_read', 'bigint', 'Hours since then; NULL: never read'],
    ['days_failed', 'bigint', 'Days whose last attempt failed'],
    ['failing_since', 'timestamp', 'Since when the first of them fails, in UTC'],
    ['days_overdue', 'bigint', 'Days that should have been read again by now'],
    ['days_missing', 'bigint', 'Days since the first one that were not read, up to yesterday'],
    ['days_in_progress', 'bigint', 'Days that a run has begun to read'],
    ['days_unverified', 'bigint', 'Empty days of a report that has never returned a record'],
  ],
  // DuckDB counts the hours that began and Trino those that passed: on whole hours both give the same.
  sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(report AS varchar) AS report,
  CAST(max(CASE WHEN committed_state IN (${COMPLETE}) THEN dt END) AS varchar) AS newest_complete_day,
  CAST(max(read_from) AS timestamp) AS last_read,
  CAST(date_diff('hour', date_trunc('hour', max(read_from)), date_trunc('hour', max(now))) AS bigint) AS hours_since_read,
  CAST(count(CASE WHEN state = 'failed' THEN 1 END) AS bigint) AS days_failed,
  CAST(min(failed_since) AS timestamp) AS failing_since,
  CAST(count(CASE WHEN state = 'overdue' THEN 1 END) AS bigint) AS days_overdue,
  CAST(greatest(
    date_diff('day', CAST(min(dt) AS date), CAST(max(now) AS date))
      - count(CASE WHEN state <> 'missing' AND CAST(dt AS date) < CAST(now AS date) THEN 1 END),
    0
  ) AS bigint) AS days_missing,
  CAST(count(CASE WHEN state = 'in_progress' THEN 1 END) AS bigint) AS days_in_progress,
  CAST(count(CASE WHEN state = 'unverified' THEN 1 END) AS bigint) AS days_unverified
FROM (
  SELECT brand, report, dt, committed_state, read_from, failed_since,
    ${STATE_NOW_SQL} AS state,
    ${NOW_SQL} AS now
  FROM ${coverageTable.name}
) AS days
GROUP BY brand, report`,
};

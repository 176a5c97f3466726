import { COMPLETE_STATES, PROBLEM_STATES, type ProblemState, statesSql } from '../planning/day-state.ts';
import type { View } from '../reports/definition.ts';
import { NOW_SQL } from '../reports/views/view-sql.ts';
import { STATE_NOW_SQL, coverageTable } from './coverage.ts';

/** What the column `days_<state>` counts. */
const COUNTED: Record<ProblemState, string> = {
  failed: 'Days whose last attempt failed',
  missing: 'Days from the first day to yesterday that were never read',
  overdue: 'Days that should have been read again by now',
  unverified: 'Empty days of a report that has never returned a record',
  in_progress: 'Days that a run has begun to read',
};

function countOf(state: ProblemState): string {
  if (state !== 'missing') return `count(CASE WHEN state = '${state}' THEN 1 END)`;
  // Days without a row are missing too.
  return `greatest(
    coalesce(date_diff('day', CAST(min(expected_dt) AS date), CAST(max(now) AS date)), 0)
      - count(CASE WHEN state <> 'missing' AND CAST(expected_dt AS date) < CAST(now AS date) THEN 1 END),
    0
  )`;
}

const IS_COMPLETE = `committed_state IN (${statesSql(COMPLETE_STATES)})`;
/** An erased day needs no further reading. */
const COMPLETE_DT = `CASE WHEN ${IS_COMPLETE} OR state = 'erased' THEN expected_dt END`;

/**
 * One row per brand and report: up to when its data is complete, and how many days are in which state. The view is
 * computed at the time of the query, so that a dead pipeline shows as overdue. Hours count from their beginning. Days
 * without a row are missing too, from the first day since the start date up to yesterday in UTC, which has begun in
 * every zone.
 */
export const freshness: View = {
  name: 'freshness',
  description:
    'For each brand and report: the newest complete day, the last reading, and how many days are failed, missing, overdue, unverified or in progress',
  columns: [
    ['brand', 'string', 'The brand'],
    ['report', 'string', 'The report, e.g. order_list'],
    ['newest_complete_day', 'string', 'The newest day that was read whole after its end'],
    ['complete_until', 'string', 'The day up to which all days are complete; NULL: not even the first'],
    ['last_read', 'timestamp', 'When the newest reading began, in UTC'],
    ['hours_since_read', 'bigint', 'Hours since then; NULL: never read'],
    ['failing_since', 'timestamp', 'Since when the day that has failed longest has failed, in UTC'],
    ...PROBLEM_STATES.map((state) => [`days_${state}`, 'bigint', COUNTED[state]] as const),
  ],
  // DuckDB counts the hours that have begun, and Trino the hours that have passed. For whole hours both give the same
  // result.
  sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(report AS varchar) AS report,
  CAST(max(CASE WHEN ${IS_COMPLETE} THEN dt END) AS varchar) AS newest_complete_day,
  CAST(CASE WHEN min(${COMPLETE_DT}) <= coalesce(max(start_date), min(dt)) THEN min(
    CASE WHEN coalesce(date_diff('day', CAST(dt AS date), CAST(next_complete_dt AS date)), 2) > 1 THEN ${COMPLETE_DT} END
  ) END AS varchar) AS complete_until,
  CAST(max(read_from) AS timestamp) AS last_read,
  CAST(date_diff('hour', date_trunc('hour', max(read_from)), date_trunc('hour', max(now))) AS bigint) AS hours_since_read,
  CAST(min(failed_since) AS timestamp) AS failing_since,
  ${PROBLEM_STATES.map((state) => `CAST(${countOf(state)} AS bigint) AS days_${state}`).join(',\n  ')}
FROM (
  SELECT brand, report, dt, failed_since, start_date, committed_state, read_from,
    CASE WHEN dt < max(start_date) OVER (PARTITION BY brand, report) THEN NULL ELSE dt END AS expected_dt,
    min(CASE WHEN ${IS_COMPLETE} OR state = 'erased' THEN dt END) OVER (
      PARTITION BY brand, report ORDER BY dt ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS next_complete_dt,
    ${STATE_NOW_SQL} AS state,
    ${NOW_SQL} AS now
  FROM ${coverageTable.name}
) AS days
GROUP BY brand, report`,
};

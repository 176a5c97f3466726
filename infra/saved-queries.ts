import { STATE_NOW_SQL } from '../shared/catalog/coverage.ts';
import { PROBLEM_STATES, statesSql } from '../shared/planning/day-state.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';

/**
 * Saves an analyst's first questions as queries. If a query needs only some months, it filters on `month`, so that
 * Athena lists no other partition. The queries use only `coverage`, `freshness`, `changes`, `since_close` and
 * columns that every table has, so no query can break.
 */
export function savedQueries(reports: readonly ReportDefinition[]) {
  return [
    {
      name: 'Is everything there',
      description:
        'Per brand and report: the newest complete day, when it was last read, and how many days are in which state',
      sql: 'SELECT *\nFROM freshness\nORDER BY brand, report',
    },
    {
      name: 'Days that need attention',
      description:
        'Of the last 90 days, with the reason; days without a row are in days_missing of freshness',
      sql: `SELECT *
FROM (
  SELECT brand, report, dt,
    ${STATE_NOW_SQL} AS state,
    failed_since, failure, refused_lookups, next_due
  FROM coverage
  WHERE month >= substr(${daysAgo(90)}, 1, 7)
) AS days
WHERE (state IN (${statesSql(PROBLEM_STATES)}) OR refused_lookups > 0)
  AND dt >= ${daysAgo(90)}
ORDER BY dt DESC, brand, report`,
    },
    {
      name: 'Rows by day',
      description: 'How many rows each report has of each of the last 30 days, and when they were read',
      sql: `SELECT brand, report, dt, rows,
  ${STATE_NOW_SQL} AS state,
  read_to
FROM coverage
WHERE dt >= ${daysAgo(30)}
  AND month >= substr(${daysAgo(30)}, 1, 7)
ORDER BY dt DESC, brand, report`,
    },
    {
      name: 'Findings',
      description: 'Of the last 90 days: what is odd about days that were read without an error',
      sql: `SELECT dt, brand, report, rows, findings
FROM coverage
WHERE findings IS NOT NULL
  AND dt >= ${daysAgo(90)}
  AND month >= substr(${daysAgo(90)}, 1, 7)
ORDER BY dt DESC, brand, report`,
    },
    {
      name: 'What changed since the close',
      description: 'Months that were closed in the last year: what to correct, by report and publisher',
      sql: `SELECT *
FROM since_close
WHERE close >= substr(${daysAgo(365)}, 1, 7)
ORDER BY close DESC, brand, report, currency, publisher_id`,
    },
    {
      name: 'Records that changed',
      description: 'Of the last 7 days: each record added, removed or altered after the day was closed',
      sql: `SELECT *
FROM changes
WHERE what IN ('added', 'removed', 'altered')
  AND dt >= ${daysAgo(7)}
ORDER BY dt DESC, brand, report
LIMIT 500`,
    },
    ...reports.map(({ table, description }) => ({
      name: `Newest ${table}`,
      description: `${description}: rows of the last week`,
      sql: `SELECT *
FROM ${table}
WHERE dt >= ${daysAgo(7)}
LIMIT 100`,
    })),
  ];
}

/** The day in UTC, as text. In DuckDB a date minus an interval is a timestamp, whose text sorts after the day. */
function daysAgo(days: number): string {
  return `CAST(CAST(current_date - INTERVAL '${days}' DAY AS date) AS varchar)`;
}

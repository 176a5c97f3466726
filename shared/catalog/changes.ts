/*
 * What happened to days after they were closed, in SQL: the table `changes` (`pipeline/change-rows.ts`) has a row for each
 * fact, these views one for each change and one for each day that changed.
 */
import { changesTable } from '../pipeline/change-rows.ts';
import type { ReportRegistry, View } from '../reports/definition.ts';

/** The views over `changes`, which show of each report the sums of its `measure`. */
export function changeViews(reports: ReportRegistry): readonly View[] {
  return [changesDaily(reports), restatements];
}

const DECIMAL = 'decimal(38,9)';

function changesDaily(reports: ReportRegistry): View {
  const measures = Object.values(reports).flatMap(({ name, measure }) =>
    measure === undefined ? [] : [`WHEN '${name}' THEN '${measure}'`],
  );
  const measure = measures.length === 0 ? 'NULL' : `CASE report ${measures.join(' ')} END`;
  const sumOf = (column: string) =>
    `CAST(max(CASE WHEN what = 'sum' AND column_name = measure THEN TRY_CAST(trim(CAST(${column} AS varchar)) AS ${DECIMAL}) END) AS ${DECIMAL})`;
  const countOf = (column: string) => `CAST(max(${column}) AS bigint) AS ${column}`;
  return {
    name: 'changes_daily',
    description:
      'What later readings changed on closed days: one row per change, with rows and the sum of the main column before and after',
    columns: [
      ['brand', 'string'],
      ['report', 'string'],
      ['dt', 'string'],
      ['changed_at', 'timestamp'],
      ['cause', 'string'],
      ['rows_before', 'bigint'],
      ['rows_after', 'bigint'],
      ['added', 'bigint'],
      ['removed', 'bigint'],
      ['altered', 'bigint'],
      ['measure', 'string'],
      ['measure_before', DECIMAL],
      ['measure_after', DECIMAL],
      ['change_id', 'string'],
    ],
    needs: [],
    sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(report AS varchar) AS report,
  CAST(dt AS varchar) AS dt,
  CAST(changed_at AS timestamp) AS changed_at,
  CAST(cause AS varchar) AS cause,
  ${['rows_before', 'rows_after', 'added', 'removed', 'altered'].map(countOf).join(',\n  ')},
  CAST(max(measure) AS varchar) AS measure,
  ${sumOf('old_value')} AS measure_before,
  ${sumOf('new_value')} AS measure_after,
  CAST(change_id AS varchar) AS change_id
FROM (
  SELECT brand, report, dt, change_id, changed_at, cause, what, column_name, old_value, new_value,
    rows_before, rows_after, added, removed, altered,
    CAST(${measure} AS varchar) AS measure
  FROM ${changesTable.name}
  WHERE what IN ('day', 'sum')
) AS facts
GROUP BY brand, report, dt, changed_at, cause, change_id`,
  };
}

const restatements: View = {
  name: 'restatements',
  description:
    'Closed days that changed: the rows when the day was closed first and now, how often and when it changed, and how many records in all',
  columns: [
    ['brand', 'string'],
    ['report', 'string'],
    ['dt', 'string'],
    ['first_rows', 'bigint'],
    ['rows_now', 'bigint'],
    ['changes', 'bigint'],
    ['first_changed_at', 'timestamp'],
    ['last_changed_at', 'timestamp'],
    ['added', 'bigint'],
    ['removed', 'bigint'],
    ['altered', 'bigint'],
    ['unknown_changes', 'bigint'],
  ],
  needs: [],
  sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(report AS varchar) AS report,
  CAST(dt AS varchar) AS dt,
  CAST(min_by(rows_before, changed_at) AS bigint) AS first_rows,
  CAST(max_by(rows_after, changed_at) AS bigint) AS rows_now,
  CAST(count(*) AS bigint) AS changes,
  CAST(min(changed_at) AS timestamp) AS first_changed_at,
  CAST(max(changed_at) AS timestamp) AS last_changed_at,
  CAST(sum(added) AS bigint) AS added,
  CAST(sum(removed) AS bigint) AS removed,
  CAST(sum(altered) AS bigint) AS altered,
  CAST(sum(CASE WHEN added IS NULL THEN 1 ELSE 0 END) AS bigint) AS unknown_changes
FROM ${changesTable.name}
WHERE what = 'day'
GROUP BY brand, report, dt`,
};

/*
 * What happened to days after they were closed, in SQL: the table `changes` (`history/change-rows.ts`) has a row for each
 * fact, these views one for each change and one for each day that changed. They leave out changes to equal content. Their
 * column `month` is the table's partition key: a condition on it keeps Athena from reading other months.
 */
import { changesTable } from './change-rows.ts';
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
      ['brand', 'string', 'The brand'],
      ['report', 'string', 'The report, by the last part of its action'],
      ['month', 'string', 'The month of the day; a condition on it reads that month alone'],
      ['dt', 'string', 'The day that changed'],
      ['changed_at', 'timestamp', 'When the new version replaced the one before, in UTC'],
      ['cause', 'string', 'reading, rollback or rebuild'],
      ['rows_before', 'bigint', 'Rows of the version before'],
      ['rows_after', 'bigint', 'Rows of the new version'],
      ['added', 'bigint', 'Records that were added; null where that is not known'],
      ['removed', 'bigint', 'Records that were removed; null where that is not known'],
      ['altered', 'bigint', 'Records with other values than before, where a key identifies them'],
      ['measure', 'string', 'The column whose sum says most about the report'],
      ['measure_before', DECIMAL, 'Its sum before'],
      ['measure_after', DECIMAL, 'Its sum after'],
      ['change_id', 'string', 'The snapshot that the change led to'],
    ],
    sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(report AS varchar) AS report,
  CAST(month AS varchar) AS month,
  CAST(dt AS varchar) AS dt,
  CAST(changed_at AS timestamp) AS changed_at,
  CAST(cause AS varchar) AS cause,
  ${['rows_before', 'rows_after', 'added', 'removed', 'altered'].map(countOf).join(',\n  ')},
  CAST(max(measure) AS varchar) AS measure,
  ${sumOf('old_value')} AS measure_before,
  ${sumOf('new_value')} AS measure_after,
  CAST(change_id AS varchar) AS change_id
FROM (
  SELECT brand, report, month, dt, change_id, changed_at, cause, what, column_name, old_value, new_value,
    rows_before, rows_after, added, removed, altered,
    CAST(${measure} AS varchar) AS measure
  FROM ${changesTable.name}
  WHERE what IN ('day', 'sum')
) AS facts
GROUP BY brand, report, month, dt, changed_at, cause, change_id
HAVING coalesce(max(added + removed + altered), 1) > 0`,
  };
}

const restatements: View = {
  name: 'restatements',
  description:
    'Closed days that changed: the rows when the day was closed first and now, how often and when it changed, and how many records in all',
  columns: [
    ['brand', 'string', 'The brand'],
    ['report', 'string', 'The report, by the last part of its action'],
    ['month', 'string', 'The month of the day; a condition on it reads that month alone'],
    ['dt', 'string', 'The day that changed'],
    ['first_rows', 'bigint', 'Rows when the day was closed first'],
    ['rows_now', 'bigint', 'Rows of the newest version'],
    ['changes', 'bigint', 'How often the day changed'],
    ['first_changed_at', 'timestamp', 'When it changed first, in UTC'],
    ['last_changed_at', 'timestamp', 'When it changed last, in UTC'],
    ['added', 'bigint', 'Records that were added; null where that is not known'],
    ['removed', 'bigint', 'Records that were removed; null where that is not known'],
    ['altered', 'bigint', 'Records with other values than before, where a key identifies them'],
    ['unknown_changes', 'bigint', 'Changes of which the version before could not be read'],
  ],
  sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(report AS varchar) AS report,
  CAST(month AS varchar) AS month,
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
WHERE what = 'day' AND coalesce(added + removed + altered, 1) > 0
GROUP BY brand, report, month, dt`,
};

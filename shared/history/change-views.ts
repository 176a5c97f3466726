/*
 * The views over `changes` show in SQL what happened to days after they were closed. The table (`history/change-rows.ts`)
 * has a row for each fact. These views have a row for each change and currency, or for each day that changed. They leave out
 * changes to equal content. Their column `month` is the table's partition key: a condition on it limits what Athena reads.
 */
import { amountSql } from '../reports/views/view-sql.ts';
import { changesTable } from './change-rows.ts';
import { isRole } from '../roles/index.ts';
import type { ReportRegistry, View } from '../reports/definition.ts';

/** The views over `changes`; for each report they show the sums of its `measure` by currency. */
export function changeViews(reports: ReportRegistry): readonly View[] {
  return [changesDaily(reports), restatements];
}

const DECIMAL = 'decimal(38,9)';

const CHANGE = 'brand, report, month, dt, changed_at, cause, change_id';
const COUNTS = ['rows_before', 'rows_after', 'added', 'removed', 'altered'];

/** A measure that is a role has a row for each currency; any other measure has one sum. */
function changesDaily(reports: ReportRegistry): View {
  const measured = Object.values(reports).flatMap(({ name, measure }) =>
    measure === undefined ? [] : [{ name, measure, what: isRole(measure) ? 'total' : 'sum' }],
  );
  const ofReport = (value: 'measure' | 'what') =>
    measured.length === 0
      ? 'CAST(NULL AS varchar)'
      : `CASE report ${measured.map((each) => `WHEN '${each.name}' THEN '${each[value]}'`).join(' ')} END`;
  const sumOf = (column: string) => `CAST(max(${amountSql(column)}) AS ${DECIMAL})`;
  const countOf = (column: string) => `CAST(max(${column}) AS bigint) AS ${column}`;
  return {
    name: 'changes_daily',
    description:
      'What later readings changed on closed days: a row for each change and currency, with rows and sums before and after',
    columns: [
      ['brand', 'string', 'The brand'],
      ['report', 'string', 'The report, e.g. order_list'],
      ['month', 'string', 'The month of the day; a condition on it reads that month alone'],
      ['dt', 'string', 'The day that changed'],
      ['changed_at', 'timestamp', 'When the new version replaced the one before, in UTC'],
      ['cause', 'string', 'reading, rollback or rebuild'],
      ['rows_before', 'bigint', 'Rows of the version before, in all currencies'],
      ['rows_after', 'bigint', 'Rows of the new version, in all currencies'],
      ['added', 'bigint', 'Records that were added; NULL: not known'],
      ['removed', 'bigint', 'Records that were removed; NULL: not known'],
      ['altered', 'bigint', 'Records with other values than before, as far as a key identifies them'],
      [
        'measure',
        'string',
        'The role or the column that is summed, e.g. commission; NULL: the report has no such column',
      ],
      ['measure_before', DECIMAL, 'Its sum before'],
      ['measure_after', DECIMAL, 'Its sum after'],
      ['change_id', 'string', 'The id of the version that the change published'],
      ['currency', 'string', 'The currency of the sums; NULL: not known'],
    ],
    sql: `SELECT
  CAST(brand AS varchar) AS brand,
  CAST(report AS varchar) AS report,
  CAST(month AS varchar) AS month,
  CAST(dt AS varchar) AS dt,
  CAST(changed_at AS timestamp) AS changed_at,
  CAST(cause AS varchar) AS cause,
  ${COUNTS.map(countOf).join(',\n  ')},
  CAST(max(measure) AS varchar) AS measure,
  ${sumOf('old_value')} AS measure_before,
  ${sumOf('new_value')} AS measure_after,
  CAST(change_id AS varchar) AS change_id,
  CAST(currency AS varchar) AS currency
FROM (
  SELECT ${CHANGE}, what, currency, old_value, new_value, measure,
    count(CASE WHEN what <> 'day' THEN 1 END) OVER (PARTITION BY ${CHANGE}) AS sums,
    ${COUNTS.map((column) => `max(${column}) OVER (PARTITION BY ${CHANGE}) AS ${column}`).join(',\n    ')}
  FROM (
    SELECT ${CHANGE}, what, old_value, new_value, ${COUNTS.join(', ')},
      CASE WHEN what = 'total' THEN NULLIF(CAST(key AS varchar), '') END AS currency,
      CAST(${ofReport('measure')} AS varchar) AS measure
    FROM ${changesTable.name}
    WHERE what = 'day' OR (what = ${ofReport('what')} AND column_name = ${ofReport('measure')})
  ) AS facts
) AS counted
WHERE what <> 'day' OR sums = 0
GROUP BY ${CHANGE}, currency
HAVING coalesce(max(added + removed + altered), 1) > 0`,
  };
}

const restatements: View = {
  name: 'restatements',
  description:
    'Closed days that changed: rows at the first close and now, how often and when the day changed, and how many records',
  columns: [
    ['brand', 'string', 'The brand'],
    ['report', 'string', 'The report, e.g. order_list'],
    ['month', 'string', 'The month of the day; a condition on it reads that month alone'],
    ['dt', 'string', 'The day that changed'],
    ['first_rows', 'bigint', 'Rows when the day was first closed'],
    ['rows_now', 'bigint', 'Rows of the newest version'],
    ['changes', 'bigint', 'How often the day changed'],
    ['first_changed_at', 'timestamp', 'When the day first changed, in UTC'],
    ['last_changed_at', 'timestamp', 'When the day last changed, in UTC'],
    ['added', 'bigint', 'Records that were added; NULL: not known'],
    ['removed', 'bigint', 'Records that were removed; NULL: not known'],
    ['altered', 'bigint', 'Records with other values than before, as far as a key identifies them'],
    ['unknown_changes', 'bigint', 'Changes whose earlier version could not be read'],
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

import { type ReportView, beforeTable } from '../view.ts';

interface OfTable {
  name: string;
  table: string;
}

/** The views over what was before, over the tables of all reports. */
export function changeViews(reports: readonly OfTable[]): readonly ReportView[] {
  const before = reports.map(({ table }) => beforeTable(table));
  return [
    {
      name: 'changes',
      description:
        'Each record that a change of a closed day replaced, in all tables: before, after, and the columns that differ',
      columns: [
        ['brand', 'string', 'The brand'],
        ['report', 'string', 'The report, e.g. order_list'],
        ['dt', 'string', 'The day of the record'],
        ['place', 'bigint', 'The number of the change among the changes of the day: 1, 2, 3 …'],
        ['key', 'string', 'The key of the record; NULL: no key, so that the record is paired by its content'],
        ['what', 'string', 'altered, removed or added'],
        ['cause', 'string', 'What replaced the version: reading, rollback or rebuild'],
        ['changed_after', 'timestamp', 'The record changed after this time'],
        ['changed_by', 'timestamp', 'The record changed by this time'],
        ['version', 'string', 'The id of the version that the change published'],
        ['previous_version', 'string', 'The id of the version that was replaced'],
        ['columns', 'string', 'The names of the columns that differ, if the record was altered'],
        ['before', 'string', 'The record before as JSON of texts, without empty columns; NULL: not there'],
        ['after', 'string', 'The record after, in the same form; NULL: gone, or the key had fewer records'],
      ],
      tables: [...reports.map(({ table }) => table), ...before, 'coverage'],
      sql: reports.map(({ name, table }) => `{${table}.changes of ${name}}`).join('\nUNION ALL\n'),
    },
    {
      name: 'restatements',
      description: 'Closed days that changed: rows now, how often and when they did, and how many records',
      columns: [
        ['brand', 'string', 'The brand'],
        ['report', 'string', 'The report, e.g. order_list'],
        ['month', 'string', 'The month of the day'],
        ['dt', 'string', 'The day that changed'],
        ['rows_now', 'bigint', 'Rows of the newest version'],
        ['changes', 'bigint', 'How often the day changed'],
        ['first_changed_at', 'timestamp', 'By when the day first changed, in UTC; NULL: history began anew'],
        ['last_changed_at', 'timestamp', 'By when the day last changed, in UTC; NULL: history began anew'],
        ['added', 'bigint', 'Records that were added, as far as the history of the day reaches back'],
        ['removed', 'bigint', 'Records that were removed, as far as the history of the day reaches back'],
        ['altered', 'bigint', 'Records that were altered, as far as the history of the day reaches back'],
      ],
      tables: ['coverage', ...before],
      sql: `SELECT days.brand, days.report, substr(days.dt, 1, 7) AS month, days.dt, days."rows" AS rows_now, days.place AS changes,
  first_changed_at, last_changed_at, COALESCE(added, 0) AS added, COALESCE(removed, 0) AS removed, COALESCE(altered, 0) AS altered
FROM coverage AS days
LEFT JOIN (
  SELECT brand, report, dt, min(_by) AS first_changed_at, max(_by) AS last_changed_at,
    ${['added', 'removed', 'altered'].map((what) => `CAST(count(CASE WHEN _what = '${what}' THEN 1 END) AS bigint) AS ${what}`).join(', ')}
  FROM (
    ${reports.map(({ name, table }) => `SELECT brand, '${name}' AS report, dt, _what, _by FROM ${beforeTable(table)}`).join('\n    UNION ALL ')}
  ) AS rows_before
  GROUP BY brand, report, dt
) AS counted ON counted.brand = days.brand AND counted.report = days.report AND counted.dt = days.dt
WHERE days.place > 0`,
    },
  ];
}

import type { StoredSchema } from '../lake/documents/schema.ts';
import { beforeTable } from '../lake/paths.ts';
import { NOW_PLACE } from '../reports/views/history.ts';
import { keySql } from '../reports/views/key-sql.ts';

/** The control columns of `beforeTable` that views read. */
const CHANGE = '_key, _what, _place, _cause, _after, _by';

/**
 * SQL of the current rows of a table and of those that changes replaced, with the control columns of the latter. They are
 * stacked, so that a condition on the day reaches the partitions of both. A row of a day that was never closed has the
 * first key of the table, because the day has no key yet.
 * @param used the columns of the records
 */
export function rowsSql(
  { table, report }: { table: string; report: string },
  { columns, keys = [] }: Pick<StoredSchema, 'columns' | 'keys'>,
  used: readonly string[],
): string {
  const values = [...new Set(used)].map((name) => `, "${name}"`).join('');
  const [first = '', ...others] = keys;
  const cases = keys.map((name) => `WHEN '${name}' THEN ${keySql(name, columns)}`).join(' ');
  const key =
    others.length === 0 ? keySql(first, columns) : `CASE COALESCE(_chosen, '${first}') ${cases} END`;
  const days =
    others.length === 0
      ? ''
      : ` LEFT JOIN (SELECT brand AS _brand, dt AS _dt, key AS _chosen FROM coverage WHERE report = '${report}') AS days ON _brand = brand AND _dt = dt`;
  const time = 'CAST(NULL AS timestamp)';
  return `(
    SELECT brand, dt, ${key} AS _key, CAST('now' AS varchar) AS _what, CAST(${NOW_PLACE} AS bigint) AS _place, CAST(NULL AS varchar) AS _cause, ${time} AS _after, ${time} AS _by${values} FROM ${table}${days}
    UNION ALL SELECT brand, dt, ${CHANGE}${values} FROM ${beforeTable(table)}
  )`;
}

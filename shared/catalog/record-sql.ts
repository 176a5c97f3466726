import type { Column } from '../base/column-types.ts';
import { beforeTable } from '../reports/view.ts';
import { NOW_PLACE } from '../reports/views/history.ts';
import { keySql } from '../reports/views/key-sql.ts';
import { CHANGED_NAMES_SQL, RECORD_SQL } from '../reports/views/view-sql.ts';

interface OfReport {
  table: string;
  report: string;
}
export interface ViewedSchema {
  columns: readonly Column[];
  keys?: readonly string[] | undefined;
}

const TIMES = ['_after', '_by'];
const CHANGE = ['_key', '_what', '_place', '_cause', ...TIMES];

/**
 * SQL of the current rows of a table and of the rows that changes replaced, with the control columns of the latter. They are
 * stacked, so that a condition on the day reaches the partitions of both. A row of a day that was never closed has the
 * first key of the table, because the day has no key yet. If no record had a key at the first close, no row has one.
 * @param used the columns of the records
 */
export function rowsSql(
  { table, report }: OfReport,
  { columns, keys = [] }: ViewedSchema,
  used: readonly string[],
  control: readonly string[] = CHANGE,
): string {
  const values = [...new Set(used)].map((name) => `, "${name}"`).join('');
  const [first] = keys;
  const cases = keys.map((name) => `WHEN '${name}' THEN ${keySql(name, columns)}`).join(' ');
  const current: Readonly<Record<string, string>> = {
    ...(first === undefined ? {} : { _key: `CASE COALESCE(_chosen, '${first}') ${cases} END` }),
    _what: "CAST('now' AS varchar)",
    _place: `CAST(${NOW_PLACE} AS bigint)`,
  };
  const none = (name: string) => `CAST(NULL AS ${TIMES.includes(name) ? 'timestamp' : 'varchar'})`;
  const days =
    first === undefined
      ? ''
      : ` LEFT JOIN (SELECT brand AS _brand, dt AS _dt, key AS _chosen FROM coverage WHERE report = '${report}') AS days ON _brand = brand AND _dt = dt`;
  return `(SELECT brand, dt, ${control.map((name) => `${current[name] ?? none(name)} AS ${name}`).join(', ')}${values} FROM ${table}${days}
UNION ALL SELECT brand, dt, ${control.join(', ')}${values} FROM ${beforeTable(table)})`;
}

/**
 * SQL of the values that roles use, for each row of the table and, unless `isCurrent`, for each that a change replaced.
 * @param values their names by SQL
 */
export function valuesSql(
  of: OfReport,
  schema: ViewedSchema,
  values: ReadonlyMap<string, string>,
  isCurrent: boolean,
): string {
  const all = [...values].map(([sql, name]) => `, ${sql} AS ${name}`).join('');
  if (isCurrent) return `SELECT brand, dt${all} FROM ${of.table}`;
  const texts = [...values.keys()].join(' ');
  const used = schema.columns.map(({ name }) => name).filter((name) => texts.includes(`"${name}"`));
  return `SELECT brand, dt, _key AS key, _place AS place, _what AS what, _after AS changed_after, _by AS changed_by, _cause AS cause${all} FROM ${rowsSql(of, schema, used)} AS rows_of_table`;
}

const VERSIONS = ['_version', '_previous'];
/** Trino accepts at most 254 elements in an array that SQL lists. */
const MAX_ELEMENTS = 200;

/** The records of a group at one place and at the next are paired by their order: equal copies do not look changed. */
export function changesSql({ table, report }: OfReport, schema: ViewedSchema): string {
  const columns = schema.columns.filter(({ name }) => name !== '_synced_at');
  const names = columns.map(({ name }) => name);
  const rows = rowsSql({ table, report }, schema, names, [...CHANGE, ...VERSIONS]);
  const control = ['brand', 'dt', ...CHANGE, ...VERSIONS].join(', ');
  const group = 'PARTITION BY brand, dt, _key';
  return `SELECT brand, CAST('${report}' AS varchar) AS report, dt, _place AS place, _key AS key, _what AS what, _cause AS cause,
  _after AS changed_after, _by AS changed_by, _version AS version, _previous AS previous_version,
  CASE WHEN _what = 'altered' AND next_place = follows_place THEN NULLIF(${CHANGED_NAMES_SQL}, '') END AS columns,
  CASE WHEN _key IS NULL AND _what = 'added' THEN CAST(NULL AS varchar) ELSE record END AS before,
  CASE WHEN _key IS NULL AND _what = 'added' THEN record WHEN _key IS NOT NULL AND next_place = follows_place THEN next_record END AS after
FROM (
  SELECT *, lead(cells) OVER of_record AS next_cells, lead(record) OVER of_record AS next_record, lead(_place) OVER of_record AS next_place,
    min(_place) OVER (${group} ORDER BY _place RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS follows_place
  FROM (
    SELECT *, row_number() OVER (${group}, _place ORDER BY record) AS nth
    FROM (
      SELECT *, CASE WHEN _key IS NULL OR _what <> 'added' THEN '{' || COALESCE(${RECORD_SQL}, '') || '}' END AS record
      FROM (
        SELECT ${control}, split('${names.join(',')}', ',') AS names, ${arraySql(columns.map(textOfColumn))} AS cells
        FROM ${rows} AS rows_of_table
        LEFT JOIN (
          SELECT DISTINCT brand AS _brand_of, dt AS _dt_of, _key AS _key_of FROM ${beforeTable(table)} WHERE _key IS NOT NULL
        ) AS changed ON _brand_of = brand AND _dt_of = dt AND _key_of = _key
        WHERE _what <> 'now' OR _key_of IS NOT NULL
      ) AS texts
    ) AS records
  ) AS numbered
  WINDOW of_record AS (${group}, nth ORDER BY _place)
) AS led
WHERE _what <> 'now'`;
}

function arraySql(elements: readonly string[]): string {
  const parts = Array.from({ length: Math.ceil(elements.length / MAX_ELEMENTS) }, (_, index) =>
    elements.slice(index * MAX_ELEMENTS, (index + 1) * MAX_ELEMENTS),
  );
  return parts.map((part) => `ARRAY[${part.join(', ')}]`).join(' || ');
}

function textOfColumn({ name, type }: Column): string {
  switch (type) {
    case 'string':
      return `"${name}"`;
    case 'timestamp':
      return `date_format("${name}", '%Y-%m-%d %H:%i:%s.%f')`;
    case 'double':
      return `json_format(CAST("${name}" AS json))`;
    default:
      return `CAST("${name}" AS varchar)`;
  }
}

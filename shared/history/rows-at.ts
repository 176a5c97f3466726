/*
 * `rowsAt` is the SQL of a table's records at places of their days' chains. It is the one way back: an instant or a close
 * becomes a place of each day first. All records of a day with one key are a group. The records of a group at a place are
 * the rows of its first later change, or the current records if it has no later change. Records without a key are paired
 * by content, with rows on both sides.
 */

export interface PlacedTable {
  columns: readonly string[];
  /** Relations in SQL: the current rows, and those of the table of what was before. */
  current: string;
  before: string;
  /** A relation with `brand`, `dt`, `_at` (the place of the day) and `_chain` (the name of its key). Other days have no rows. */
  at: string;
  /** SQL of the key of a current row; it may use `_chain`. */
  key: string;
}

export function rowsAt({ columns, current, before, at, key }: PlacedTable): string {
  const own = columns.join(', ');
  const ofDays = (rows: string) =>
    `SELECT r.*, a._at, a._chain FROM ${rows} AS r JOIN ${at} AS a ON a.brand = r.brand AND a.dt = r.dt`;
  const later = (where: string) =>
    `(SELECT * FROM (${ofDays(before)}) AS placed WHERE _place > _at AND ${where}) AS later`;
  const now = (where: string) =>
    `(SELECT * FROM (SELECT *, ${key} AS _key FROM (${ofDays(current)}) AS placed) AS keyed WHERE ${where}) AS now`;
  const isSame = ['brand', 'dt', '_key'].map((name) => `later.${name} = now.${name}`).join(' AND ');
  return `SELECT ${own} FROM (
  SELECT *, rank() OVER (PARTITION BY brand, dt, _key ORDER BY _place) AS _nth FROM ${later('_key IS NOT NULL')}
) AS ranked WHERE _nth = 1 AND _what <> 'added'
UNION ALL SELECT ${own} FROM ${now('_key IS NOT NULL')} WHERE NOT EXISTS (SELECT 1 FROM ${later('_key IS NOT NULL')} WHERE ${isSame})
UNION ALL SELECT ${own} FROM ((
  SELECT ${own} FROM ${now('_key IS NULL')} UNION ALL SELECT ${own} FROM ${later("_key IS NULL AND _what = 'removed'")}
) EXCEPT ALL SELECT ${own} FROM ${later("_key IS NULL AND _what = 'added'")}) AS unkeyed`;
}

import type { View } from '../definition.ts';

/** `dt` is text, because it is a partition key. The column `day` compares with dates without a cast. */
const DAY = ['day', 'date', 'The same day as a DATE, to compare with dates'] as const;

/**
 * The column that rows of a day get next to their `dt`, as the last column, in SQL that DuckDB and Trino share.
 * @param names the names of their columns
 * @returns `undefined` if they have no `dt`, or already have a `day`
 */
export function dayColumn(names: readonly string[]) {
  const [name] = DAY;
  if (!names.includes('dt') || names.includes(name)) return undefined;
  return { name, value: 'TRY_CAST(dt AS date)' };
}

/** The view as every catalog shows it: with `day` in addition to `dt`. */
export function withDay(view: View): View {
  const day = dayColumn(view.columns.map(([name]) => name));
  if (!day) return view;
  return {
    ...view,
    columns: [...view.columns, DAY],
    sql: `SELECT days.*, ${day.value} AS ${day.name} FROM (\n${view.sql}\n) AS days`,
  };
}

/*
 * `findingSql` writes the query that returns the odd rows of a finding. Without the query, a reader knows that 3 orders are
 * unknown, but not which ones. A query runs in DuckDB and in Athena: it consists of plain SELECTs without a correlated
 * subquery. It reads one day and its neighbours by their partition columns.
 */
import { addDays, monthOf } from '../base/days.ts';
import { COVERAGE_TABLE, beforeTable } from '../lake/paths.ts';
import { snakeCase } from '../table/columns.ts';
import {
  type Check,
  type ReportDefinition,
  type ReportRegistry,
  STATE_WORDS,
  comparedState,
} from '../reports/definition.ts';
import { listSql } from '../reports/views/view-sql.ts';
import type { RoleFields } from '../reports/roles.ts';
import { WEEKS } from './field-findings.ts';

export interface FindingPlace {
  brand: string;
  report: ReportDefinition;
  reports: ReportRegistry;
  day: string;
  hasChanges: boolean;
  /** The columns of a report's table that are known to exist. */
  columnsOf: (report: string) => ReadonlySet<string>;
  fieldsOf: (report: string) => RoleFields;
  /** The fields that contain the state, and the words that the setting `words` maps. */
  state: { fields: readonly string[]; words: readonly string[] };
}

const OF_CHANGES = ['rows_fell', 'sum_fell', 'never_agrees', 'given_up'];

/** Without a semicolon at its end. @returns `undefined` if the table has none of the columns that would have to be compared */
export function findingSql(check: string, place: FindingPlace): string | undefined {
  const { brand, report, day, hasChanges } = place;
  // Lookups that were given up are among the values that `found_in` does not find.
  const declared = report.checks.find(
    ({ name, rule }) => name === check || (rule === 'found_in' && check === 'lookups_given_up'),
  );
  if (declared?.rule === 'one_value') return severalValuesSql(declared, place);
  if (declared) return missingSql(declared, place);
  if (check === 'unknown_states') return unknownStatesSql(place);
  if (check === 'new_column' || check === 'emptied_column')
    return `SELECT * FROM ${report.table} WHERE ${partition(brand, day, day)}`;
  if (hasChanges && OF_CHANGES.includes(check)) return changesSql(report.table, { brand, days: [day] });
  return coverageSql(place, comparedDays(check, day));
}

function comparedDays(check: string, day: string): string[] {
  if (check === 'zone_seam') return [addDays(day, -1), day];
  if (check !== 'unusual_rows') return [day];
  return Array.from({ length: WEEKS + 1 }, (_, week) => addDays(day, -7 * (WEEKS - week)));
}

/** What the records of these days were before later readings changed them. */
export function changesSql(
  table: string,
  { brand, days }: { brand: string; days: readonly string[] },
): string {
  return `SELECT * FROM ${beforeTable(table)}
WHERE brand = ${listSql([brand])} AND dt IN (${listSql(days)})
ORDER BY dt, _place, _key`;
}

function coverageSql({ brand, report }: FindingPlace, days: readonly string[]): string {
  const months = [...new Set(days.map(monthOf))];
  return `SELECT * FROM ${COVERAGE_TABLE}
WHERE brand = ${listSql([brand])} AND report = ${listSql([report.name])}
  AND month IN (${listSql(months)}) AND dt IN (${listSql(days)})
ORDER BY dt`;
}

function severalValuesSql(
  { by, column }: Extract<Check, { rule: 'one_value' }>,
  { brand, report, day }: FindingPlace,
): string {
  const rows = `FROM ${report.table} WHERE ${partition(brand, day, day)}`;
  return `SELECT * ${rows}
  AND ${by} IN (SELECT ${by} ${rows} GROUP BY ${by} HAVING count(DISTINCT ${column}) > 1)
ORDER BY ${by}, ${column}`;
}

function unknownStatesSql({ brand, report, day, columnsOf, state }: FindingPlace): string | undefined {
  const columns = state.fields.map(snakeCase).filter((column) => columnsOf(report.name).has(column));
  if (columns.length === 0) return undefined;
  const known = ['', ...STATE_WORDS, ...state.words.map(comparedState)];
  const value = firstSql(columns);
  return `SELECT * FROM ${report.table}
WHERE ${partition(brand, day, day)} AND lower(trim(${value}, ' ')) NOT IN (${listSql(known)})
ORDER BY ${value}`;
}

/** Rows whose value is in none of the places, as `data-checks.ts` counts them: without empty values. */
function missingSql(
  { values, places }: Extract<Check, { rule: 'found_in' }>,
  { brand, reports, day, columnsOf, fieldsOf }: FindingPlace,
): string | undefined {
  const [from, to] = [reports[values.report], reports[places.report]];
  const named = (report: string, columns: readonly string[]) => {
    const { order_id: orderId } = fieldsOf(report);
    const isSet = orderId && columns.includes('order_id');
    const own = (isSet ? [orderId].flat().map(snakeCase) : columns).filter((column) =>
      columnsOf(report).has(column),
    );
    return isSet && own.length > 0 ? [firstSql(own)] : own.map((column) => firstSql([column]));
  };
  const [value] = named(values.report, [values.column]);
  const found = named(places.report, places.columns);
  if (!from || !to || value === undefined || found.length === 0) return undefined;
  const days = partition(brand, addDays(day, -places.daysAround), addDays(day, places.daysAround));
  const ids = found.map((each) => `SELECT ${each} FROM ${to.table} WHERE ${days} AND ${each} IS NOT NULL`);
  return `SELECT * FROM ${from.table}
WHERE ${partition(brand, day, day)} AND ${value} <> ''
  AND ${value} NOT IN (
    ${ids.join('\n    UNION ALL ')}
  )
ORDER BY ${value}`;
}

function firstSql(columns: readonly string[]): string {
  const read = columns.map((column) => `CAST("${column}" AS varchar)`);
  return read.length === 1
    ? read.join('')
    : `COALESCE(${read.map((each) => `NULLIF(trim(${each}, ' '), '')`).join(', ')})`;
}

function partition(brand: string, from: string, to: string): string {
  const days = from === to ? `dt = ${listSql([from])}` : `dt BETWEEN ${listSql([from])} AND ${listSql([to])}`;
  return `brand = ${listSql([brand])} AND ${days}`;
}

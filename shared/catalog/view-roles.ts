/*
 * Puts the fields that have roles into the SQL of the base views, and their rows: the current rows of a table, and the rows
 * that changes replaced. Brands may have different fields or different words for states. Brands with equal roles share one
 * part of the view.
 */
import { type Column, RESCUED } from '../base/column-types.ts';
import { type BrandRoles, rolesOf } from '../lake/brand-settings.ts';
import type { LakeSettings } from '../settings/settings.ts';
import {
  BONUS_KINDS,
  NAME_IN_SQL,
  type ReportDefinition,
  type ReportView,
  type View,
  spellings,
  withoutSpaces,
} from '../reports/definition.ts';
import { amountSql, decimalSql, listSql, textSql } from '../reports/views/view-sql.ts';
import { type Role, isAmountRole, isRole, placesOfRole } from '../reports/roles.ts';
import { type ViewedSchema, changesSql, valuesSql } from './record-sql.ts';

export type TableSchemas = ReadonlyMap<string, ViewedSchema>;
export type TableRoles = ReadonlyMap<string, Readonly<Record<string, BrandRoles>>>;

/** The roles by these settings. @param ledgers of the brands that have rows; missing: the brands of the settings */
export function tableRoles(
  reports: readonly ReportDefinition[],
  settings: LakeSettings | undefined,
  ledgers = Object.keys(settings?.brands ?? {}).map((brand): { brand: string } => ({ brand })),
): TableRoles {
  return new Map(
    reports.map((report) => {
      const roles = ledgers.map(({ brand }) => [brand, rolesOf(settings?.brands[brand], report)] as const);
      return [report.table, Object.fromEntries(roles)] as const;
    }),
  );
}

/** The part of the SQL of a base view that brands with equal roles share. */
const PART_IN_SQL = /<<(.*)>>/s;
/**
 * At the beginning of the SQL of a base view, e.g. `{orders.rows of order_list}`: its parts read the values of roles from
 * `record_values`. `rows`: of the current rows and of the rows that changes replaced. `changes`: the rows of the view.
 */
const ROWS_IN_SQL = /\{(\w+)\.(rows|current|changes) of (\w+)\}/g;

// I13: the roles become SQL of the view each time, so that a corrected setting counts for all of history.
export function viewOver(
  { tables: _tables, sql: indented, ...view }: ReportView,
  schemas: TableSchemas,
  roles: TableRoles,
): View {
  // Glue bounds the size of a view: its text has no indentation.
  const sql = indented.replaceAll(/\n +/g, '\n');
  const [, part = sql] = PART_IN_SQL.exec(sql) ?? [];
  const values = new Map<string, string>();
  const hasValues = sql.search(ROWS_IN_SQL) >= 0;
  const nameOf = (value: string) => {
    if (!hasValues) return value;
    const name = values.get(value) ?? `v${values.size}`;
    values.set(value, name);
    return name;
  };
  const sqlOf = (of: (table: string) => BrandRoles | undefined) => withRoles(part, schemas, of, nameOf);
  const usual = sqlOf(() => undefined);
  const used = new Set([...part.matchAll(NAME_IN_SQL)].map(([, table = '']) => table));
  const brands = new Set([...used].flatMap((table) => Object.keys(roles.get(table) ?? {})));
  const groups = Map.groupBy(brands, (brand) => sqlOf((table) => roles.get(table)?.[brand]));
  const [first = usual] = groups.keys();
  const parts = groups.size > 1 ? partsOf(groups, usual) : first;
  const rows = (_match: string, table: string, what: string, report: string) => {
    const schema = schemas.get(table) ?? { columns: [] };
    const of = { table, report };
    if (what === 'changes') return changesSql(of, schema);
    return `WITH record_values AS (${valuesSql(of, schema, values, what === 'current')})\n`;
  };
  return {
    ...view,
    sql: sql.replace(part === sql ? sql : PART_IN_SQL, () => parts).replaceAll(ROWS_IN_SQL, rows),
  };
}

/** Each group of brands with equal roles, and all other brands. Only the first names the columns. */
function partsOf(groups: ReadonlyMap<string, readonly string[]>, usual: string): string {
  const others = [...groups].filter(([sql]) => sql !== usual);
  const unnamed = (sql: string) => sql.replaceAll(/ AS \w+(?=, | FROM record_values)/g, '');
  const named = (brands: readonly string[]) => listSql(brands).replaceAll(', ', ',');
  const listed = others.map(
    ([sql, brands], index) => `${index === 0 ? sql : unnamed(sql)} WHERE brand IN (${named(brands)})`,
  );
  const rest = `${unnamed(usual)} WHERE brand NOT IN (${named(others.flatMap(([, brands]) => brands))})`;
  return [...listed, rest].join('\nUNION ALL ');
}

type NameValue = (value: string) => string;

function withRoles(
  sql: string,
  schemas: TableSchemas,
  rolesIn: (table: string) => BrandRoles | undefined,
  nameOf: NameValue,
): string {
  return sql.replaceAll(NAME_IN_SQL, (match, table: string, name: string) => {
    const role = name === 'type' ? 'kind' : name;
    if (!isRole(role)) throw new TypeError(`${name} is not a role`);
    const own = rolesIn(table);
    const places = valuePlaces(role, schemas.get(table)?.columns ?? [], own);
    if (match.endsWith('?}')) return String(places.length > 0);
    return name === 'type' ? textOf(places, nameOf) : roleSql(role, places, own, nameOf);
  });
}

/** Where a record may have the value of a role: in a column, in the JSON that a column contains, or in `_rescued`. */
interface ValuePlace {
  value: string;
  isDecimal: boolean;
}

function valuePlaces(role: Role, columns: readonly Column[], own: BrandRoles | undefined): ValuePlace[] {
  const places = placesOfRole(role, columns, own?.fields ?? {});
  const rescued = new Set(
    places.flatMap(({ column: { type, field = '' }, path }) =>
      type === 'string' || path.length > 0 || !/^\w+$/.test(field) ? [] : [field],
    ),
  );
  return [
    ...places.map(({ column: { name, type }, path }): ValuePlace => {
      const text = type === 'string' ? quoted(name) : `CAST(${quoted(name)} AS varchar)`;
      if (path.length > 0) return { value: jsonSql(text, path.join('.')), isDecimal: false };
      const isDecimal = type.startsWith('decimal') && isAmountRole(role);
      return { value: isDecimal ? quoted(name) : text, isDecimal };
    }),
    // A value that its column cannot represent exactly, such as 1.0320000000000003.
    ...[...rescued].map(
      (field): ValuePlace => ({ value: jsonSql(quoted(RESCUED), field), isDecimal: false }),
    ),
  ];
}

function roleSql(
  role: Role,
  places: readonly ValuePlace[],
  own: BrandRoles | undefined,
  nameOf: NameValue,
): string {
  if (isAmountRole(role)) return amountOf(places, nameOf);
  const text = textOf(places, nameOf);
  if (places.length === 0) return role === 'kind' ? "CAST('sale' AS varchar)" : text;
  switch (role) {
    case 'currency':
      return `upper(${text})`;
    case 'state':
    case 'line_state':
      return stateSql(`lower(${text})`, own?.words ?? {});
    case 'kind':
      return kindSql(`lower(${text})`, own?.kinds);
    default:
      return text;
  }
}

function textOf(places: readonly ValuePlace[], nameOf: NameValue): string {
  const texts = places.map(({ value }) => nameOf(textSql(value)));
  const [only = 'CAST(NULL AS varchar)', ...others] = texts;
  return others.length === 0 ? only : `COALESCE(${texts.join(', ')})`;
}

/** The first value that is not empty, as an amount. A decimal is not cast to text and back, which takes much longer. */
function amountOf(places: readonly ValuePlace[], nameOf: NameValue): string {
  const amounts = places.map(({ value, isDecimal }) =>
    nameOf(isDecimal ? decimalSql(value) : amountSql(value)),
  );
  const last = amounts.pop() ?? decimalSql('NULL');
  if (amounts.length === 0) return last;
  const cases = amounts.map((amount, index) => {
    const { value = '', isDecimal } = places[index] ?? {};
    return `WHEN ${nameOf(isDecimal ? value : textSql(value))} IS NOT NULL THEN ${amount}`;
  });
  return `CASE ${cases.join(' ')} ELSE ${last} END`;
}

function jsonSql(text: string, path: string): string {
  return `json_extract_scalar(${text}, '$.${path}')`;
}

function stateSql(state: string, words: Readonly<Record<string, string>>): string {
  const cases = Object.entries(words).flatMap(([word, to]) =>
    wordSql(word).map((each) => `WHEN ${each} THEN '${to}'`),
  );
  return cases.length === 0 ? state : `CASE ${state} ${cases.join(' ')} ELSE ${state} END`;
}

/**
 * The service lists bonuses and campaign payments among its orders, although nobody bought anything. For a list of words
 * DuckDB would make a join, also if no one asks for the kind.
 */
function kindSql(kind: string, bonuses: readonly string[] = BONUS_KINDS): string {
  const words = bonuses.flatMap(wordSql);
  const value =
    words.length === 0
      ? "'sale'"
      : `CASE ${kind} ${words.map((word) => `WHEN ${word} THEN 'bonus'`).join(' ')} ELSE 'sale' END`;
  return `CAST(${value} AS varchar)`;
}

/** A word of the settings in lower case; by the engine's own rules if these differ, as for İ. */
function wordSql(word: string): string[] {
  return spellings(withoutSpaces(word).replaceAll("'", "''")).map((each) =>
    /^[\x20-\x7e]*$/.test(each) ? `'${each.toLowerCase()}'` : `lower('${each}')`,
  );
}

/** A column may have the name of a keyword, such as `order`. */
function quoted(column: string): string {
  return `"${column}"`;
}

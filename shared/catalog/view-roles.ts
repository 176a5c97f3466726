/*
 * Puts the fields that have roles into the SQL of the base views, and their rows: the current rows of a table, and those
 * that changes replaced. Brands may have different fields or different words for states. Brands with equal roles share one
 * part of the view.
 */
import { type Column, RESCUED } from '../column-types.ts';
import { type BrandRoles, rolesOf } from '../lake/documents/brand-settings.ts';
import type { StoredSchema } from '../lake/documents/schema.ts';
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
import { type Role, isAmountRole, isRole, placesOfRole } from '../roles/index.ts';
import { changesSql, rowsSql } from './record-sql.ts';

/** By table. */
export type TableSchemas = ReadonlyMap<string, Pick<StoredSchema, 'columns' | 'keys'>>;
/** By table and brand. */
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

export function viewOver(
  { tables: _tables, sql, ...view }: ReportView,
  schemas: TableSchemas,
  roles: TableRoles,
): View {
  const sqlOf = (of: (table: string) => BrandRoles | undefined) => withRoles(sql, schemas, of);
  const usual = sqlOf(() => undefined);
  const used = new Set([...sql.matchAll(NAME_IN_SQL)].map(([, table = '']) => table));
  const brands = new Set([...used].flatMap((table) => Object.keys(roles.get(table) ?? {})));
  const groups = Map.groupBy(brands, (brand) => sqlOf((table) => roles.get(table)?.[brand]));
  const [first = usual] = groups.keys();
  if (groups.size <= 1) return { ...view, sql: first };
  groups.delete(usual);
  const parts = [...groups].map(([own, of]) => partOf(own, `brand IN (${listSql(of)})`));
  const rest = partOf(usual, `brand NOT IN (${listSql([...groups.values()].flat())})`);
  return { ...view, sql: [...parts, rest].join('\nUNION ALL\n') };
}

function partOf(sql: string, where: string): string {
  return `SELECT * FROM (\n${sql}\n) AS part WHERE ${where}`;
}

function withRoles(
  sql: string,
  schemas: TableSchemas,
  rolesIn: (table: string) => BrandRoles | undefined,
): string {
  const used = new Set<string>();
  const sqlOfRoles = sql.replaceAll(NAME_IN_SQL, (match, table: string, name: string) => {
    const role = name === 'type' ? 'kind' : name;
    if (!isRole(role)) throw new TypeError(`${name} is not a role`);
    const own = rolesIn(table);
    const places = valuePlaces(role, schemas.get(table)?.columns ?? [], own);
    if (match.endsWith('?}')) return String(places.length > 0);
    for (const { column } of places) used.add(column);
    return name === 'type' ? textOf(places) : roleSql(role, places, own);
  });
  return sqlOfRoles.replaceAll(ROWS_IN_SQL, (_match, table: string, what: string, report: string) => {
    const schema = schemas.get(table) ?? { columns: [] };
    const of = { table, report };
    return what === 'changes' ? changesSql(of, schema) : rowsSql(of, schema, [...used]);
  });
}

/**
 * `{orders.rows of order_list}`: the rows of the table and those that changes replaced, with the columns that roles use.
 * `{orders.changes of order_list}`: its rows in the view `changes`.
 */
const ROWS_IN_SQL = /\{(\w+)\.(rows|changes) of (\w+)\}/g;

/** Where a record may have the value of a role: in a column, in the JSON that a column contains, or in `_rescued`. */
interface ValuePlace {
  column: string;
  /** Its value in SQL; a text, unless the place is a column of decimals. */
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
      if (path.length > 0) return { column: name, value: jsonSql(text, path.join('.')), isDecimal: false };
      const isDecimal = type.startsWith('decimal') && isAmountRole(role);
      return { column: name, value: isDecimal ? quoted(name) : text, isDecimal };
    }),
    // A value that its column cannot represent exactly, such as 1.0320000000000003.
    ...[...rescued].map(
      (field): ValuePlace => ({ column: RESCUED, value: jsonSql(quoted(RESCUED), field), isDecimal: false }),
    ),
  ];
}

function roleSql(role: Role, places: readonly ValuePlace[], own: BrandRoles | undefined): string {
  if (isAmountRole(role)) return amountOf(places);
  const text = textOf(places);
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

/** The first text that is not empty. */
function textOf(places: readonly ValuePlace[]): string {
  const texts = places.map(({ value }) => textSql(value));
  const [only = 'CAST(NULL AS varchar)', ...others] = texts;
  return others.length === 0 ? only : `COALESCE(${texts.join(', ')})`;
}

/** The first value that is not empty, as an amount. A decimal is not cast to text and back, which takes much longer. */
function amountOf(places: readonly ValuePlace[]): string {
  const amounts = places.map(({ value, isDecimal }) => (isDecimal ? decimalSql(value) : amountSql(value)));
  const last = amounts.pop() ?? decimalSql('NULL');
  if (amounts.length === 0) return last;
  const cases = amounts.map((amount, index) => {
    const { value = '', isDecimal } = places[index] ?? {};
    return `WHEN ${isDecimal ? value : textSql(value)} IS NOT NULL THEN ${amount}`;
  });
  return `CASE ${cases.join(' ')} ELSE ${last} END`;
}

function jsonSql(text: string, path: string): string {
  return `json_extract_scalar(${text}, '$.${path}')`;
}

/** @param state a state in the form in which states are compared */
function stateSql(state: string, words: Readonly<Record<string, string>>): string {
  const cases = Object.entries(words).flatMap(([word, to]) =>
    wordSql(word).map((each) => `WHEN ${each} THEN '${to}'`),
  );
  return cases.length === 0 ? state : `CASE ${state} ${cases.join(' ')} ELSE ${state} END`;
}

/** The service lists bonuses and campaign payments among its orders, although nobody bought anything. */
function kindSql(kind: string, bonuses: readonly string[] = BONUS_KINDS): string {
  const words = bonuses.flatMap(wordSql);
  const value =
    words.length === 0 ? "'sale'" : `CASE WHEN ${kind} IN (${words.join(', ')}) THEN 'bonus' ELSE 'sale' END`;
  return `CAST(${value} AS varchar)`;
}

/** A word of the settings in lower case, by the engine's own rules, which differ for letters such as İ. */
function wordSql(word: string): string[] {
  return spellings(withoutSpaces(word)).map((each) => `lower('${each}')`);
}

/** A column may have the name of a keyword, such as `order`. */
function quoted(column: string): string {
  return `"${column}"`;
}

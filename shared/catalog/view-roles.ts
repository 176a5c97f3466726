/*
 * Puts the fields that have roles into the SQL of a view. Brands may have different fields or different words for
 * states; the view then chooses by the brand of the row.
 */
import { type Column, RESCUED } from '../column-types.ts';
import { type BrandRoles, rolesOf } from '../lake/documents/brand-settings.ts';
import type { LakeSettings } from '../settings/settings.ts';
import {
  BONUS_KINDS,
  IS_KNOWN_IN_SQL,
  NAME_IN_SQL,
  type ReportDefinition,
  type ReportView,
  type View,
  spellings,
  withoutSpaces,
} from '../reports/definition.ts';
import { trimmedSql } from '../reports/views/view-sql.ts';
import { type Role, type RoleColumn, isAmountRole, isRole, placesOfRole } from '../roles/index.ts';

export type TableColumns = ReadonlyMap<string, readonly Column[]>;
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
  columns: TableColumns,
  roles: TableRoles,
): View {
  return {
    ...view,
    sql: withKnown(sql, columns, roles).replaceAll(NAME_IN_SQL, (_match, table: string, name: string) => {
      const own = columns.get(table) ?? [];
      if (isRole(name)) return byBrand(roles.get(table), (of) => brandSql(name, own, of));
      return own.some((column) => column.name === name) ? quoted(name) : 'NULL';
    }),
  };
}

/** SQL in which each `{table.role?}` is whether the role has a field. */
export function withKnown(sql: string, columns: TableColumns, roles: TableRoles): string {
  return sql.replaceAll(IS_KNOWN_IN_SQL, (_match, table: string, role: string) =>
    byBrand(roles.get(table), (of) =>
      String(isRole(role) && placesOfRole(role, columns.get(table) ?? [], of?.fields ?? {}).length > 0),
    ),
  );
}

/** The SQL of each brand. Before the first run has ended, the names of the columns decide. */
function byBrand(
  brands: Readonly<Record<string, BrandRoles>> = {},
  sqlOf: (of: BrandRoles | undefined) => string,
): string {
  const ofBrand = Object.entries(brands).map(([brand, own]) => [brand, sqlOf(own)] as const);
  const [first = sqlOf(undefined), ...others] = new Set(ofBrand.map(([, sql]) => sql));
  if (others.length === 0) return first;
  return `CASE brand ${ofBrand.map(([brand, sql]) => `WHEN '${brand.replaceAll("'", "''")}' THEN ${sql}`).join(' ')} END`;
}

const NONE = 'CAST(NULL AS varchar)';

function brandSql(role: Role, columns: readonly Column[], own: BrandRoles | undefined): string {
  const values = placesOfRole(role, columns, own?.fields ?? {}).map((place) => placeSql(role, place));
  const [only = NONE, ...others] = values;
  // An empty text is no value, as in `textSql`.
  const value =
    others.length === 0
      ? only
      : `COALESCE(${values.map((each) => `NULLIF(${trimmedSql(each)}, '')`).join(', ')})`;
  switch (role) {
    case 'currency':
      return values.length === 0 ? value : `upper(${trimmedSql(value)})`;
    case 'state':
    case 'line_state':
      return values.length === 0 ? value : stateSql(`lower(${trimmedSql(value)})`, own?.words ?? {});
    case 'kind':
      return values.length === 0 ? "'sale'" : kindSql(`lower(${trimmedSql(value)})`, own?.kinds);
    default:
      return value;
  }
}

function placeSql(role: Role, { column, path }: RoleColumn): string {
  const text = `CAST(${quoted(column.name)} AS varchar)`;
  if (path.length > 0) return jsonSql(text, path.join('.'));
  return isAmountRole(role) ? withRescued(text, column) : text;
}

/**
 * A number that the column cannot represent exactly, such as 1.0320000000000003, is in `_rescued`; the cast of an
 * amount rounds it.
 */
function withRescued(value: string, { type, field = '' }: Column): string {
  if (type === 'string' || !/^\w+$/.test(field)) return value;
  return `COALESCE(${value}, ${jsonSql(quoted(RESCUED), field)})`;
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
  return words.length === 0
    ? "'sale'"
    : `CASE WHEN ${kind} IN (${words.join(', ')}) THEN 'bonus' ELSE 'sale' END`;
}

/** A word of the settings in lower case, by the engine's own rules, which differ for letters such as İ. */
function wordSql(word: string): string[] {
  return spellings(withoutSpaces(word)).map((each) => `lower('${each}')`);
}

/** A column may have the name of a keyword, such as `order`. */
function quoted(column: string): string {
  return `"${column}"`;
}

/*
 * Puts the fields that have roles into the SQL of a view. Brands may have different fields or different words for
 * states; the view then chooses by the brand of the row.
 */
import { type Column, RESCUED } from '../column-types.ts';
import { type BrandRoles, rolesOf } from '../lake/documents/brand-settings.ts';
import type { LakeSettings } from '../settings/settings.ts';
import {
  NAME_IN_SQL,
  type ReportDefinition,
  type ReportView,
  type View,
  withoutSpaces,
} from '../reports/definition.ts';
import { trimmedSql } from '../reports/views/view-sql.ts';
import { type Role, isRole, placeOfRole } from '../roles/index.ts';

/** The columns of each table. */
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

/** The view over tables with these columns, whose fields have these roles. */
export function viewOver(
  { tables: _tables, sql, ...view }: ReportView,
  columns: TableColumns,
  roles: TableRoles,
): View {
  return {
    ...view,
    sql: sql.replaceAll(NAME_IN_SQL, (_match, table: string, name: string) => {
      const own = columns.get(table) ?? [];
      if (isRole(name)) return roleSql(name, own, Object.entries(roles.get(table) ?? {}));
      return own.some((column) => column.name === name) ? quoted(name) : 'NULL';
    }),
  };
}

/** The SQL of a role. Before the first run has ended, the names of the columns decide. */
function roleSql(
  role: Role,
  columns: readonly Column[],
  brands: readonly (readonly [string, BrandRoles])[],
): string {
  const ofBrand = brands.map(([brand, own]) => [brand, brandSql(role, columns, own)] as const);
  const [first = brandSql(role, columns, undefined), ...others] = new Set(ofBrand.map(([, sql]) => sql));
  if (others.length === 0) return first;
  return `CASE brand ${ofBrand.map(([brand, sql]) => `WHEN '${brand.replaceAll("'", "''")}' THEN ${sql}`).join(' ')} END`;
}

const NONE = 'CAST(NULL AS varchar)';

/** The values of a role as text, in the records of one brand. */
function brandSql(role: Role, columns: readonly Column[], own: BrandRoles | undefined): string {
  const place = placeOfRole(role, columns, own?.fields ?? {});
  if (!place) return NONE;
  const column = `CAST(${quoted(place.column.name)} AS varchar)`;
  const value = place.path.length === 0 ? column : jsonSql(column, place.path.join('.'));
  switch (role) {
    case 'amount':
    case 'commission':
      return place.path.length === 0 ? withRescued(value, place.column) : value;
    case 'currency':
      return `upper(${trimmedSql(value)})`;
    case 'state':
    case 'line_state':
      return stateSql(`lower(${trimmedSql(value)})`, own?.words ?? {});
    default:
      return value;
  }
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
  const cases = Object.entries(words).flatMap(([word, to]) => {
    const trimmed = withoutSpaces(word);
    // A column of decimals shows 4 as 4.000000000.
    const spelt = /^\d+$/.test(trimmed) ? [trimmed, `${trimmed}.000000000`] : [trimmed];
    // By the engine's own rules, which differ for letters such as İ.
    return spelt.map((each) => `WHEN lower('${each}') THEN '${to}'`);
  });
  return cases.length === 0 ? state : `CASE ${state} ${cases.join(' ')} ELSE ${state} END`;
}

/** A column may have the name of a keyword, such as `order`. */
function quoted(column: string): string {
  return `"${column}"`;
}

import * as z from 'zod/mini';
import type { Column } from '../../column-types.ts';
import type { Json } from '../../json.ts';
import type { ReportDefinition } from '../../reports/definition.ts';
import {
  ROLES,
  type Role,
  type RoleColumn,
  type RoleFields,
  columnOfField,
  columnsNamed,
  fieldsIn,
} from '../../roles/index.ts';
import { rolesKey } from '../paths.ts';
import { damagedDocument, parseDocument, storedObject } from './cas-document.ts';

const field = z.string().check(z.minLength(1), z.maxLength(500), z.regex(/^[^'"\\]*$/));
const byRole = z.partialRecord(z.enum(ROLES), field);
export const brandRoles = storedObject(() => ({
  /** The fields that the data decided. A role that was chosen once never changes by itself. */
  chosen: byRole,
  /** The settings of the last run. With them, views are right for every brand, and for queries without settings. */
  fields: z.partialRecord(z.enum(ROLES), z.nullable(field)),
  words: z.record(field, z.string().check(z.regex(/^[a-z]{1,20}$/))),
  /** Some field looks like the currency, but nothing has decided for it, so amounts are NULL. */
  isCurrencyUnclear: z.boolean(),
}));

/** `schema/<table>.roles.json` */
const roles = storedObject(() => ({
  version: z.literal(1),
  table: z.string(),
  brands: z.record(z.string().check(z.regex(/^[a-z0-9][a-z0-9-]{0,40}$/)), brandRoles),
  recentWrites: z.array(z.string()),
}));

/** The fields that have roles in a brand's records. */
export type BrandRoles = z.infer<typeof brandRoles>;
/** The roles of a table, by brand. */
export type StoredRoles = z.infer<typeof roles>;

/** Reads the stored roles of a report's table. @throws BrandReportsError `config` `damaged_document` */
export function parseStoredRoles({ table }: Pick<ReportDefinition, 'table'>) {
  const key = rolesKey(table);
  return (stored: Json | undefined): StoredRoles => {
    if (stored === undefined) return { version: 1, table, brands: {}, recentWrites: [] };
    const parsed = parseDocument(roles, key, stored);
    if (parsed.table !== table) throw damagedDocument(key, `it has the roles of ${parsed.table}`);
    return parsed;
  };
}

/** By role: the field that the settings or the data have decided. */
export function decidedRoles(stored: BrandRoles | undefined, fields = stored?.fields): RoleFields {
  return { ...stored?.chosen, ...fields };
}

/**
 * Where a table has the values of a role in the records of one brand; `undefined`: nowhere, so that they are NULL.
 * @param own missing: the names of the columns decide
 */
export function placeOfRole(
  role: Role,
  columns: readonly Column[],
  own: BrandRoles | undefined,
): RoleColumn | undefined {
  const decided = decidedRoles(own);
  const { [role]: field } = own ? decided : fieldsIn(columns, {});
  const isAmount = role === 'amount' || role === 'commission';
  if (typeof field !== 'string' || (isAmount && isUnclear(columns, own, decided.currency))) return undefined;
  return columnOfField(columns, field);
}

/**
 * @param decided the currency's field. If the table lacks it, the name is misspelt, and a sum would add up all
 * currencies
 */
function isUnclear(
  columns: readonly Column[],
  own: BrandRoles | undefined,
  decided: string | null | undefined,
): boolean {
  if (!own) return columnsNamed(columns, 'currency').length > 1;
  return typeof decided === 'string'
    ? !columnOfField(columns, decided)
    : decided === undefined && own.isCurrencyUnclear;
}

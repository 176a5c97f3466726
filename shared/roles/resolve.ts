/* Finds the column of a role in a table, and the value at a path in a nested object. */
import type { Column } from '../column-types.ts';
import { type Json, isJsonObject, numberText, parseJson } from '../json.ts';
import { LIKE_CURRENCY, ROLES, type Role, type RoleFields, wellKnown } from './names.ts';

/** The place of a role's values: a column, or a path in the JSON that a column contains. */
export interface RoleColumn {
  column: Column;
  /** Empty: the column's own values. */
  path: readonly string[];
}

/** The column of a field, by its name in the records or in the table, or by a path such as `commission.value`. */
export function columnOfField(columns: readonly Column[], field: string): RoleColumn | undefined {
  const named = (wanted: string) =>
    columns.find((column) => column.field === wanted) ?? columns.find(({ name }) => name === wanted);
  const whole = named(field);
  if (whole) return { column: whole, path: [] };
  const [first = '', ...path] = field.split('.');
  const column = path.length > 0 ? named(first) : undefined;
  return column && { column, path };
}

/** The field of a role in a table; `undefined` if the settings have null, or if no column has a well-known name. */
function fieldOf(role: Role, columns: readonly Column[], { [role]: set }: RoleFields): string | undefined {
  if (set !== undefined) return set ?? undefined;
  return wellKnown(
    role,
    columns.map(({ name }) => name),
  )[0];
}

/** The field of each role in a table. A field of the settings may be missing in the table. */
export function fieldsIn(columns: readonly Column[], fields: RoleFields): Partial<Record<Role, string>> {
  const found = ROLES.flatMap((role): [Role, string][] => {
    const field = fieldOf(role, columns, fields);
    return field === undefined ? [] : [[role, field]];
  });
  return Object.fromEntries(found);
}

/** Where a table has the values of a role; `undefined`: nowhere, so that they are NULL. */
export function placeOfRole(
  role: Role,
  columns: readonly Column[],
  fields: RoleFields,
): RoleColumn | undefined {
  const isAmount = role === 'amount' || role === 'commission';
  if (isAmount && isCurrencyOpen(columns, fields)) return undefined;
  const field = fieldOf(role, columns, fields);
  return field === undefined ? undefined : columnOfField(columns, field);
}

/**
 * Whether the currency of amounts is unknown although a setting or a column's name shows that there is a currency. Then no sum
 * is right, because it could add dollars to euros.
 */
export function isCurrencyOpen(columns: readonly Column[], fields: RoleFields): boolean {
  if (fields.currency === null || placeOfRole('currency', columns, fields)) return false;
  return fields.currency !== undefined || columns.some(({ name }) => LIKE_CURRENCY.test(name));
}

/** The text, or the digits, at a path of a JSON text; `undefined` if there is neither. */
export function textAt(text: string, path: readonly string[]): string | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    let value = parseJson(text);
    for (const name of path) {
      if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
      value = value[name] ?? null;
    }
    return textOf(value);
  } catch {
    return undefined;
  }
}

/** A text, or the digits of a number; `undefined` for every other value. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : numberText(value);
}

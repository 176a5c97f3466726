/* Finds the column of a role in a table, and the value at a path in a nested object. */
import type { Column } from '../column-types.ts';
import { isJsonObject, parseJson } from '../json.ts';
import { ROLES, type Role, type RoleFields, roleOfName } from './choose.ts';
import { textOf } from './evidence.ts';

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

/** The columns that may have the role by their names. */
export function columnsNamed(columns: readonly Column[], role: Role): string[] {
  return columns.flatMap(({ name }) => (roleOfName(name) === role ? [name] : []));
}

/**
 * The field of each role in a table. If no field is decided, the only column with a known name counts: before the first day
 * is committed, nothing else is known.
 */
export function fieldsIn(columns: readonly Column[], decided: RoleFields): Partial<Record<Role, string>> {
  const fields = ROLES.flatMap((role): [Role, string][] => {
    const { [role]: own } = decided;
    const [only, other] = columnsNamed(columns, role);
    const field = own === undefined && other === undefined ? only : own;
    return field === undefined || field === null ? [] : [[role, field]];
  });
  return Object.fromEntries(fields);
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

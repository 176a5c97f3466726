/*
 * The roles that fields can have, and the names that such fields usually have. A setting decides first. Otherwise a role takes
 * the first of its names that is a column of the table.
 */
import { type Column, DERIVED_COLUMNS } from '../base/column-types.ts';
import { type Json, isJsonObject, numberText, parseJson } from '../base/json.ts';

/**
 * The possible meanings of a field. `line_state`: the state of one line, if an order has several lines. `kind`: whether a
 * record is a sale or a bonus.
 */
export const ROLES = [
  'amount',
  'commission',
  'currency',
  'state',
  'line_state',
  'kind',
  'publisher_id',
  'publisher_name',
  'channel_id',
  'order_id',
  'product',
  'created',
] as const;
export type Role = (typeof ROLES)[number];

export function isRole(name: string): name is Role {
  return ROLES.some((role) => role === name);
}

/**
 * The setting `fields`. By role: a field, a path such as `commission.value`, a list of both (the first that has a value
 * in a record), or null if the service has no such field.
 */
export type RoleFields = Readonly<Partial<Record<Role, string | readonly string[] | null>>>;

/** In order of preference, as `comparedName` returns them. */
export const WELL_KNOWN: Readonly<Record<Role, readonly string[]>> = {
  amount: words(
    'amount saleamount salesamount orderamount totalamount grossamount total ordertotal ordervalue salevalue revenue gmv',
  ),
  commission: words(
    'commission salecommission commissionamount ordercommission publishercommission affiliatecommission commissionvalue',
  ),
  currency: words('currency currencycode ordercurrency salecurrency commissioncurrency'),
  state: words('status state orderstatus orderstate transactionstatus commissionstatus salestatus'),
  line_state: words('skustatus linestatus itemstatus skustate linestate'),
  kind: words('transactiontype ordertype kind type'),
  publisher_id: words('publisherid publisheruid affiliateid partnerid'),
  publisher_name: words('publishername affiliatename partnername'),
  channel_id: words('channelid channel'),
  order_id: words('transid orderid'),
  product: words('sku asin productid'),
  created: words(
    'created createdtime createtime createdat createdate ordertime orderdate clicktime transactiontime transactiondate date',
  ),
};

/** Columns with such names may be the currency, but only a setting decides so. */
export const LIKE_CURRENCY = /curr|ccy|devise|valuta|moned|waehr|(^|_)(cur|iso|unit)(_|$)/;

export function wellKnown(role: Role, names: readonly string[]): string[] {
  return WELL_KNOWN[role].flatMap((known) => names.find((name) => comparedName(name) === known) ?? []);
}

/** A name in lower case and without separators, in which names are compared. */
export function comparedName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

export function words(...texts: readonly string[]): readonly string[] {
  return texts.join(' ').split(' ');
}

/** The place of a role's values: a column, or a path in the JSON that a column contains. */
export interface RoleColumn {
  column: Column;
  path: readonly string[];
}

export function columnOfField(columns: readonly Column[], field: string): RoleColumn | undefined {
  return columnsOfField(columns, field)[0];
}

/**
 * The columns of a field, by its name in the records or in the table, or by a path such as `commission.value`. A field has
 * several columns if a setting changed its type: each record has its value in one of them.
 */
function columnsOfField(columns: readonly Column[], field: string): readonly RoleColumn[] {
  const named = (wanted: string) => {
    const own = columns.filter((column) => column.field === wanted);
    const isNamed = ({ name }: Column) => name === wanted && !DERIVED_COLUMNS.includes(name);
    return own.length > 0 ? own : columns.filter(isNamed);
  };
  const whole = named(field);
  const [first = '', ...path] = field.split('.');
  if (whole.length > 0 || path.length === 0) return whole.map((column) => ({ column, path: [] }));
  return named(first).map((column) => ({ column, path }));
}

/** The fields of a role in a table; an empty list if the settings have null, or if no column has a well-known name. */
export function fieldsOfRole(
  role: Role,
  columns: readonly Pick<Column, 'name'>[],
  { [role]: set }: RoleFields,
): readonly string[] {
  if (set === null) return [];
  if (set !== undefined) return typeof set === 'string' ? [set] : set;
  const names = columns.map(({ name }) => name);
  return wellKnown(role, names).slice(0, 1);
}

export type ChosenFields = Partial<Record<Role, readonly string[]>>;

/** The fields of each role that has fields. A field of the settings may be missing in the table. */
export function fieldsIn(columns: readonly Column[], fields: RoleFields): ChosenFields {
  const found = ROLES.map((role) => [role, fieldsOfRole(role, columns, fields)] as const);
  return Object.fromEntries(found.filter(([, own]) => own.length > 0));
}

export const AMOUNT_ROLES = ['amount', 'commission'] as const;

export function isAmountRole(role: string): role is (typeof AMOUNT_ROLES)[number] {
  return AMOUNT_ROLES.some((each) => each === role);
}

/**
 * Where a table has the values of a role: a record's value is the first that is not empty. An empty list: nowhere, so
 * that the values are NULL.
 */
export function placesOfRole(
  role: Role,
  columns: readonly Column[],
  fields: RoleFields,
): readonly RoleColumn[] {
  if (isAmountRole(role) && isCurrencyOpen(columns, fields)) return [];
  return placesOf(columns, fieldsOfRole(role, columns, fields));
}

export function placesOf(columns: readonly Column[], fields: readonly string[]): readonly RoleColumn[] {
  return fields.flatMap((field) => columnsOfField(columns, field));
}

/**
 * Whether the currency of amounts is unknown although a setting or a column's name shows that there is a currency. Then no sum
 * is right, because it could add dollars to euros.
 */
export function isCurrencyOpen(columns: readonly Column[], fields: RoleFields): boolean {
  if (fields.currency === null || placesOfRole('currency', columns, fields).length > 0) return false;
  return fields.currency !== undefined || columns.some(({ name }) => LIKE_CURRENCY.test(name));
}

export function textAt(text: string, path: readonly string[]): string | undefined {
  return textOf(jsonAt(text, path));
}

/** The value at a path of a JSON text; `undefined` if the text is not an object that has the path. */
export function jsonAt(text: string, path: readonly string[]): Json | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    let value = parseJson(text);
    for (const name of path) {
      if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
      value = value[name] ?? null;
    }
    return value;
  } catch {
    return undefined;
  }
}

/** A text, or the digits of a number; `undefined` for every other value. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : numberText(value);
}

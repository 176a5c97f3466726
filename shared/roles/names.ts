/*
 * The roles that fields can have, and the names that such fields usually have. A setting decides first. Otherwise a role takes
 * the first of its names that is a column of the table.
 */

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

/** The names that can have a role without a setting, in order of preference. */
export function wellKnown(role: Role, names: readonly string[]): string[] {
  return WELL_KNOWN[role].flatMap((known) => names.find((name) => comparedName(name) === known) ?? []);
}

/** A name in lower case and without separators, in which names are compared. */
export function comparedName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** The words of these texts. */
export function words(...texts: readonly string[]): readonly string[] {
  return texts.join(' ').split(' ');
}

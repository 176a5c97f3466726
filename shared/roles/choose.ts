/*
 * Decides which field of a report has which role. A setting decides first, then the stored choice. Otherwise a role gets a
 * field only if exactly one field has a known name and a fitting type: a wrong guess would be a wrong number.
 */
import type { FieldEvidence, Kind } from './evidence.ts';

/** The possible meanings of a field. `line_state`: the state of one line, if an order has several lines. */
export const ROLES = [
  'amount',
  'commission',
  'currency',
  'state',
  'line_state',
  'publisher_id',
  'publisher_name',
  'channel_id',
  'order_id',
  'product',
  'created',
  'updated',
] as const;
export type Role = (typeof ROLES)[number];

export function isRole(name: string): name is Role {
  return ROLES.some((role) => role === name);
}

/** The field of each role: a path such as `commission.value`, or null if the service has no such field. */
export type RoleFields = Readonly<Partial<Record<Role, string | null>>>;

interface RoleSpec {
  /** In lower case, without separators. */
  names: readonly string[];
  /** Fields with such names are proposed. */
  similar?: RegExp;
  kind?: Kind;
  /** The property of its values, for the evidence: `numeric in 410 of 410 records`. */
  shown: string;
}

const SPECS: Readonly<Record<Role, RoleSpec>> = {
  amount: {
    names: words(
      'amount saleamount salesamount orderamount totalamount grossamount total ordertotal ordervalue salevalue revenue gmv',
    ),
    similar: /amount|revenue|total|turnover|ordervalue|salevalue/,
    kind: 'numeric',
    shown: 'numeric',
  },
  commission: {
    names: words(
      'commission salecommission commissionamount ordercommission publishercommission affiliatecommission commissionvalue',
    ),
    similar: /^comm$|commission|payout|earning/,
    kind: 'numeric',
    shown: 'numeric',
  },
  currency: {
    names: words('currency currencycode ordercurrency salecurrency commissioncurrency'),
    similar: /currency|ccy/,
    kind: 'currencies',
    shown: 'ISO 4217 codes',
  },
  state: {
    names: words('status state orderstatus orderstate transactionstatus commissionstatus salestatus'),
    similar: /status|state$/,
    kind: 'states',
    shown: 'states of the interface',
  },
  line_state: {
    names: words('skustatus linestatus itemstatus skustate linestate'),
    kind: 'states',
    shown: 'states of the interface',
  },
  publisher_id: {
    names: words('publisherid publisheruid affiliateid partnerid'),
    similar: /(publisher|affiliate|partner|influencer).*(id|key)$/,
    shown: 'filled',
  },
  publisher_name: {
    names: words('publishername affiliatename partnername'),
    similar: /(publisher|affiliate|partner|influencer).*name$/,
    shown: 'filled',
  },
  channel_id: { names: words('channelid channel'), similar: /channel/, shown: 'filled' },
  order_id: { names: words('transid orderid'), similar: /order(id|no|number|key|ref)/, shown: 'filled' },
  product: { names: words('sku asin productid'), similar: /^(product|item)(id|sku|code)?$/, shown: 'filled' },
  created: {
    names: words(
      'created createdtime createtime createdat createdate ordertime orderdate clicktime transactiontime transactiondate date',
    ),
    shown: 'filled',
  },
  updated: {
    names: words('updated updatedtime updatetime updatedat modified modifiedat modifiedtime lastmodified'),
    shown: 'filled',
  },
};

/** The role that a field can have by its name; a nested field can have it by its own name or by the name of its object. */
export function roleOfName(path: string): Role | undefined {
  const parts = path.split('.').map(comparedName);
  const last = parts.at(-1) ?? '';
  const parent = parts.at(-2);
  const name = parent !== undefined && VALUE_NAMES.has(last) ? parent : last;
  return ROLES.find((role) => SPECS[role].names.includes(name));
}

/** The names that an object such as `{"value": "1.20", "currency": "EUR"}` uses for its main value. */
const VALUE_NAMES: ReadonlySet<string> = new Set(['value', 'amount', 'total', 'id', 'code', 'name']);

/** The kind of values that a role needs; `undefined` for names and identifiers. */
export function kindOfRole(role: Role): Kind | undefined {
  return SPECS[role].kind;
}

/** Which field has a role, and why. */
export interface RoleChoice {
  role: Role;
  /** `undefined`: the role has no field, its columns are NULL. */
  field: string | undefined;
  by: 'setting' | 'stored' | 'data' | 'none';
  /** The fields that could have the role, the likeliest first. */
  candidates: readonly FieldEvidence[];
  /** `` `sale_commission`: numeric in 410 of 410 records `` */
  evidence: string;
  /** The settings line that fixes the role, with its place; `undefined` if a setting has decided. */
  setting: string | undefined;
}

/** The input of the choice. */
export interface RoleBasis {
  /** The setting `fields`. */
  fields?: RoleFields | undefined;
  /** The earlier choice. */
  stored?: RoleFields | undefined;
  evidence: readonly FieldEvidence[];
  /** For the place in `setting`. */
  brand?: string;
}

/** The choice for each role, in the order of `ROLES`. */
export function chooseRoles(
  report: { readonly name: string },
  { fields = {}, stored = {}, evidence, brand }: RoleBasis,
): RoleChoice[] {
  return ROLES.map((role): RoleChoice => {
    const candidates = candidatesFor(role, evidence);
    const fitting = candidates.filter((each) => isKnown(role, each) && fits(role, each));
    const [only] = fitting.length === 1 ? fitting : [];
    const { [role]: set } = fields;
    const { [role]: before } = stored;
    const proposed = before ?? only?.path ?? candidates[0]?.path;
    const choice = { role, candidates, setting: settingOf(report.name, role, proposed, brand) };
    if (typeof set === 'string' && !isMet(set, evidence)) {
      const why = `the setting \`fields\` has \`${set}\`, which none of ${evidence[0]?.records ?? 0} records has`;
      return { ...choice, field: undefined, by: 'none', evidence: why };
    }
    if (set !== undefined) {
      const why = set === null ? 'the setting `fields` has null' : shownFor(role, set, evidence);
      return { ...choice, field: set ?? undefined, by: 'setting', evidence: why, setting: undefined };
    }
    if (before !== undefined && before !== null)
      return { ...choice, field: before, by: 'stored', evidence: shownFor(role, before, evidence) };
    if (only) return { ...choice, field: only.path, by: 'data', evidence: shown(role, only) };
    return { ...choice, field: undefined, by: 'none', evidence: whyNone(role, candidates, fitting.length) };
  });
}

/**
 * Whether the currency of amounts is unknown although some field looks like the currency. Then no sum is right: it could add
 * dollars to euros.
 */
export function isCurrencyUnclear(choices: readonly RoleChoice[]): boolean {
  return choices.some(
    ({ role, by, candidates }) => role === 'currency' && by === 'none' && candidates.length > 0,
  );
}

function candidatesFor(role: Role, evidence: readonly FieldEvidence[]): FieldEvidence[] {
  const rank = (each: FieldEvidence) =>
    Number(fits(role, each)) * 4 + Number(isKnown(role, each)) * 2 + Number(roleOfName(each.path) === role);
  return evidence
    .filter((each) => each.filled > 0 && couldHave(role, each))
    .sort((a, b) => rank(b) - rank(a) || b.filled - a.filled);
}

function couldHave(role: Role, each: FieldEvidence): boolean {
  const known = roleOfName(each.path);
  if (known !== undefined) return known === role;
  if (role === 'currency' && each.currencies === each.filled) return true;
  const isSimilar = SPECS[role].similar?.test(comparedName(each.path)) ?? false;
  return isSimilar && fits(role, each);
}

/** Whether the name is known. A nested field needs a setting, because its object may differ from record to record. */
function isKnown(role: Role, { path }: FieldEvidence): boolean {
  return !path.includes('.') && roleOfName(path) === role;
}

function fits(role: Role, each: FieldEvidence): boolean {
  const { kind } = SPECS[role];
  if (kind === undefined) return true;
  // A service may have states of its own besides those of the interface; a finding lists them.
  return kind === 'states' ? 2 * each.states >= each.filled : each[kind] === each.filled;
}

/** Whether records have the field of a setting. The setting may use the name in the records or in the table, such as `brand_2`. */
function isMet(field: string, evidence: readonly FieldEvidence[]): boolean {
  const first = (path: string) => comparedName((path.split('.')[0] ?? '').replace(/_\d+$/, ''));
  return evidence.length === 0 || evidence.some(({ path }) => first(path) === first(field));
}

function shownFor(role: Role, path: string, evidence: readonly FieldEvidence[]): string {
  const found = evidence.find((each) => each.path === path);
  return found ? shown(role, found) : `\`${path}\`: no record has had a value`;
}

function shown(role: Role, each: FieldEvidence): string {
  const { kind, shown: what } = SPECS[role];
  return `\`${each.path}\`: ${what} in ${each[kind ?? 'filled']} of ${each.records} records`;
}

const MAX_SHOWN = 5;

function whyNone(role: Role, candidates: readonly FieldEvidence[], fitting: number): string {
  if (candidates.length === 0) return 'no field has a known name';
  const list = candidates
    .slice(0, MAX_SHOWN)
    .map((each) => shown(role, each))
    .join('; ');
  if (fitting > 1) return `${fitting} fields could have the role: ${list}`;
  return `no field has both a known name and fitting values: ${list}`;
}

/** e.g. `"fields": { "commission": "sale_commission" } in brands.acme.reports.order_list` */
function settingOf(report: string, role: Role, field: string | undefined, brand = '<brand>'): string {
  return `"fields": { "${role}": ${JSON.stringify(field ?? null)} } in brands.${brand}.reports.${report}`;
}

/** A name in lower case and without separators, in which names are compared. */
export function comparedName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** The words of these texts. */
export function words(...texts: readonly string[]): readonly string[] {
  return texts.join(' ').split(' ');
}

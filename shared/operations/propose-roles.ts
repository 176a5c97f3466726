/*
 * Proposes fields for the roles that the settings and the well-known names leave open, from the values of a page of records.
 * `init` writes the proposals as comments, `check` prints them. Nothing is stored.
 */
import { type Json, type JsonObject, isJsonObject } from '../json.ts';
import { STATE_WORDS, comparedState } from '../reports/definition.ts';
import {
  ROLES,
  type Role,
  type RoleFields,
  WELL_KNOWN,
  comparedName,
  textOf,
  wellKnown,
} from '../roles/index.ts';

/** A role whose field is open. */
export interface RoleProposal {
  role: Role;
  /** The fields that could have the role, the likeliest first. */
  candidates: readonly string[];
  /** `` `comm`: numbers in 410 of 410 records `` */
  evidence: string;
  /** The settings line that decides, with its place. */
  setting: string;
}

/** Fields with such names are proposed if their values fit. */
const SIMILAR: Readonly<Partial<Record<Role, RegExp>>> = {
  amount: /amount|revenue|total|turnover|ordervalue|salevalue/,
  commission: /^comm$|commission|payout|earning/,
  currency: /currency|ccy/,
  state: /status|state$/,
  publisher_id: /(publisher|affiliate|partner|influencer).*(id|key)$/,
  publisher_name: /(publisher|affiliate|partner|influencer).*name$/,
  channel_id: /channel/,
  order_id: /order(id|no|number|key|ref)/,
  product: /^(product|item)(id|sku|code)?$/,
};

/** Deeper objects contain no amounts that a path could reach. */
const MAX_DEPTH = 3;
/** The names that an object such as `{"value": "1.20", "currency": "EUR"}` uses for its main value. */
const VALUE_NAMES = ['value', 'amount', 'total', 'id', 'code', 'name'];
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
const MAX_SHOWN = 5;

const isNumeric = (text: string) => /^\s*[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,2})?\s*$/.test(text);
const isCurrency = (text: string) => CURRENCIES.has(text.trim().toUpperCase());

/** The proposals. @param words the states of the settings, by word */
export function openRoles(
  report: string,
  sample: readonly JsonObject[],
  { brand, fields = {}, words = {} }: { brand: string; fields?: RoleFields | undefined; words?: object },
): RoleProposal[] {
  const values = valuesByPath(sample);
  const isState = (text: string) =>
    [...STATE_WORDS, ...Object.keys(words).map(comparedState)].includes(comparedState(text));
  const fits = (role: Role, path: string): boolean => {
    const texts = values.get(path) ?? [];
    const share = (is: (text: string) => boolean) =>
      texts.filter((text) => text !== undefined && is(text)).length / texts.length;
    if (role === 'amount' || role === 'commission') return share(isNumeric) === 1;
    if (role === 'currency') return share(isCurrency) === 1;
    // A service may have states of its own besides those of the interface.
    return (role !== 'state' && role !== 'line_state') || share(isState) >= 0.5;
  };
  const couldHave = (role: Role, path: string): boolean => {
    const known = roleOfName(path);
    if (known !== undefined) return known === role;
    const isSimilar = SIMILAR[role]?.test(comparedName(path)) || role === 'currency';
    return isSimilar && fits(role, path);
  };
  return ROLES.flatMap((role): RoleProposal[] => {
    const { [role]: set } = fields;
    const named = [set ?? []].flat();
    const isMissing = named.length > 0 && !named.some((field) => isMet(field, sample));
    const chosen = set === undefined ? fieldInSample(role, sample) : named[0];
    if (!isMissing && (set !== undefined || (chosen && fits(role, chosen)))) return [];
    const candidates = [...values.keys()]
      .filter((path) => couldHave(role, path))
      .sort((a, b) => Number(fits(role, b)) - Number(fits(role, a)));
    if (!isMissing && candidates.length === 0) return [];
    const shown = candidates.slice(0, MAX_SHOWN).map((path) => {
      const met = `\`${path}\`: in ${values.get(path)?.length ?? 0} of ${sample.length} records`;
      return fits(role, path) ? met : `${met}, but its values do not fit`;
    });
    const why = isMissing
      ? `the setting \`fields\` has \`${named.join(', ')}\`, which none of ${sample.length} records has`
      : shown.join('; ');
    const setting = `"fields": { "${role}": ${JSON.stringify(candidates[0] ?? null)} } in brands.${brand}.reports.${report}`;
    return [{ role, candidates, evidence: why, setting }];
  });
}

/** The field that has a role without a setting. */
export function fieldInSample(role: Role, sample: readonly JsonObject[]): string | undefined {
  return wellKnown(role, [...new Set(sample.flatMap((record) => Object.keys(record)))])[0];
}

/** Whether records have the field of a setting. The setting may use the name in the records or in the table, such as `brand_2`. */
function isMet(field: string, sample: readonly JsonObject[]): boolean {
  const first = (path: string) => comparedName((path.split('.')[0] ?? '').replace(/_\d+$/, ''));
  return sample.some((record) => Object.keys(record).some((name) => first(name) === first(field)));
}

/** The role that a field can have by its name; a nested field can have it by its own name or by the name of its object. */
function roleOfName(path: string): Role | undefined {
  const parts = path.split('.').map(comparedName);
  const last = parts.at(-1) ?? '';
  const parent = parts.at(-2);
  const name = parent !== undefined && VALUE_NAMES.includes(last) ? parent : last;
  return ROLES.find((role) => WELL_KNOWN[role].includes(name));
}

/** By field, and by path of a nested object: the values that are not empty, as text; `undefined` for a list or an object. */
function valuesByPath(sample: readonly JsonObject[]): ReadonlyMap<string, (string | undefined)[]> {
  const found = new Map<string, (string | undefined)[]>();
  const add = (path: string, value: Json, depth: number) => {
    const text = textOf(value);
    if (value === null || text?.trim() === '') return;
    const values = found.get(path) ?? [];
    found.set(path, values);
    values.push(text);
    if (isJsonObject(value) && depth < MAX_DEPTH)
      for (const [name, inner] of Object.entries(value)) add(`${path}.${name}`, inner, depth + 1);
  };
  for (const record of sample) for (const [name, value] of Object.entries(record)) add(name, value, 1);
  return found;
}

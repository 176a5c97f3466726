/*
 * Finds the field of each role in a sample of records: by the settings, by a well-known name, or else by a similar name whose
 * values fit. A wrong field would pay wrong sums, so name and values must both fit, and a field has one role only.
 */
import { exactDay, exactInstant } from '../exact-values.ts';
import { type Json, type JsonObject, isJsonObject } from '../json.ts';
import { readValue } from '../lake/table/amounts.ts';
import { type ReportDefinition, STATE_WORDS, comparedState } from '../reports/definition.ts';
import {
  ROLES,
  type Role,
  type RoleFields,
  WELL_KNOWN,
  comparedName,
  fieldsOfRole,
  textOf,
} from '../roles/index.ts';
import { type ReportSettings, isFieldPath } from '../settings/settings.ts';

/** What a sample shows about one role. */
export interface RoleInSample {
  role: Role;
  /** The fields that have the role by the settings, or by a well-known name. A record has the first that is not empty. */
  inForce: readonly string[];
  /** Whether the settings name the field, or have null. */
  isSet: boolean;
  /** Whether the settings name fields that no record has. */
  isMissing: boolean;
  /** Whether the fields in force have such values, as far as the sample shows. */
  fits: boolean;
  /** The field that is likeliest, by name and values. It may be in force already. */
  best: string | undefined;
  /** Why: `` `comm`: 410 of 410 records have an amount, such as "12.50" ``. */
  evidence: string;
  /** Fields whose names and values are as good as those of `best`, with other values. */
  alike: readonly string[];
}

/** What the values of a role are, and how its field is called besides the well-known names. */
interface Meaning {
  what: string;
  names: RegExp;
  /** Names that are taken only if no better name fits. */
  hints?: RegExp;
  /** No name with such a word has the role. */
  never?: RegExp;
  fits: (values: Values, isHint: boolean) => boolean;
}

/** The values of a path in a sample. */
interface Values {
  /** Of values that are not empty; `undefined` for a list, an object, true or false. */
  texts: readonly (string | undefined)[];
  records: number;
  /** Whether a record of the report is an order, so that the id of an order occurs once. */
  isOrder: boolean;
  states: ReadonlySet<string>;
  kinds: ReadonlySet<string>;
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
/** A column of states or kinds has no more different words. */
const MAX_WORDS = 12;
/** Deeper objects contain no amounts that a path could reach. */
const MAX_DEPTH = 3;
/** Words of sales and bonuses, besides those of the interface. */
export const SALES = [
  'sale',
  'sales',
  'order',
  'purchase',
  'normal',
  'trans',
  'manual_trans',
  'manually_added',
];
export const BONUS = /bonus|campaign|incentive|placement|tenancy|reward|flat.?fee/;

/** The part of the texts, from 0 to 1, that are such. */
function share({ texts }: Values, is: (text: string) => boolean): number {
  return texts.filter((text) => text !== undefined && is(text)).length / texts.length;
}

const distinct = ({ texts }: Values) => new Set(texts).size;
const isAmount = (text: string) => typeof readValue(text) === 'bigint';
/** A number that may be unreadable, such as `1,500.25 €`. */
const isLikeAmount = (text: string) => isAmount(text) || /^\D{0,5}\d[\d.,' ]*\D{0,5}$/.test(text);
const areIds = (values: Values) => share(values, (text) => /^\S{1,64}$/.test(text)) > 0.9;
const areTimes = (values: Values) =>
  share(
    values,
    (text) => Boolean(exactInstant(text) ?? exactDay(text)) || /^\d{4}-\d\d-\d\d[T ]/.test(text),
  ) === 1;
const areAmounts = (values: Values) => share(values, isLikeAmount) === 1 && share(values, isAmount) >= 0.5;
const areWords = (values: Values) =>
  distinct(values) <= MAX_WORDS && share(values, (text) => text.length <= 40) === 1;
/** A service may have states of its own. Two capitals may be states of a country. */
const areStates = (values: Values) =>
  share(values, (text) => values.states.has(comparedState(text))) >= 0.5 ||
  (areWords(values) &&
    distinct(values) < values.texts.length &&
    share(values, (text) => /^[A-Z]{2}$/.test(text)) < 0.5);
const areKinds = (values: Values) =>
  areWords(values) && share(values, (text) => isKind(comparedState(text), values.kinds)) >= 0.5;
const isKind = (word: string, kinds: ReadonlySet<string>) =>
  kinds.has(word) || SALES.includes(word) || BONUS.test(word);

const PUBLISHER = '(publisher|publ|pub|affiliate|aff|partner|influencer|creator)s?';
const ID = '(id|uid|no|nr|num|number|key|ref|reference|code)';
const named = (pattern: string) => new RegExp(`\\b${pattern}\\b`);

/** By role. Names are compared as words: `orderNo` is `order no`, `publisher.id` is `publisher id`. */
const MEANINGS: Readonly<Record<Role, Meaning>> = {
  amount: {
    what: 'an amount',
    names: named(
      '((orders?|sales?|purchase|basket|cart|gross|net|grand|goods) ?(amount|amt|value|val|total|sum|price|revenue)|amount|amt|revenue|turnover|gmv|total)',
    ),
    hints: named('(value|price|sum|subtotal|worth|spend)'),
    never: named(
      '(comm\\w*|payout|pay|paid|earn\\w*|reward|fees?|tax|vat|ship\\w*|discount|coupon|refund\\w*|quantity|qty|count|items?|rate|percent|pct|curr\\w*|ccy|date|time|id|type|status|cost|bonus|budget)',
    ),
    fits: areAmounts,
  },
  commission: {
    what: 'an amount',
    names: named('(comms?|commissions?|\\w+commission)'),
    hints: named('(payout|earnings?|provision|reward)'),
    never: named(
      '(rate|percent\\w*|pct|status|state|st|curr\\w*|ccy|date|time|type|kind|id|rule|plan|group|tier|name|base|tax|old|original|previous)',
    ),
    fits: areAmounts,
  },
  currency: {
    what: 'a currency',
    names: named('(curr|currency|ccy|cur|iso|devise|valuta|moneda|waehrung|\\w+currency)'),
    hints: /./,
    fits: (values) => share(values, (text) => CURRENCIES.has(text.trim().toUpperCase())) === 1,
  },
  state: {
    what: 'a state',
    names: named('(status|state|stat|st|\\w+status)'),
    hints: named('(stage|phase|lifecycle|approval|validation)'),
    never: named(
      '(country|address|region|ship\\w*|pay\\w*|delivery|click|device|sku|lines?|items?|product|email|id|date|time|at|by|reason)',
    ),
    fits: areStates,
  },
  line_state: {
    what: 'a state',
    names: named('(sku|lines?|items?|product|position) ?(status|state|stat|st)'),
    fits: areStates,
  },
  kind: {
    what: 'a kind',
    names: named('((transaction|txn|trans|orders?|sale|event|record)? ?(type|kind))'),
    hints: named('(category|class)'),
    never: named(`(product|${PUBLISHER}|device|pay\\w*|customer|items?|curr\\w*)`),
    fits: areKinds,
  },
  publisher_id: {
    what: 'an id',
    names: new RegExp(`\\b${PUBLISHER}( ?${ID})?$`),
    never: named('(type|group|status|network|sub)'),
    fits: areIds,
  },
  publisher_name: {
    what: 'a text',
    names: named(`${PUBLISHER}.* ?(name|title|label)`),
    hints: new RegExp(`\\b${PUBLISHER}$`),
    fits: (values, isHint) => share(values, (text) => !isHint || /\S\s+\S/.test(text)) >= (isHint ? 0.5 : 1),
  },
  channel_id: { what: 'an id', names: new RegExp(`\\b(channel|chan)( ?${ID})?$`), fits: areIds },
  order_id: {
    what: 'an id',
    names: new RegExp(`\\b(orders?|ord|purchase|booking)( ?${ID})?$`),
    hints: new RegExp(`^((transaction|txn|trans) ?${ID}|id)$`),
    never: named('(customer|client|user|parent|original|invoice|items?|lines?)'),
    // In the list of transactions, the id of a transaction is the id of a line.
    fits: (values, isHint) =>
      areIds(values) &&
      values.texts.length >= 0.9 * values.records &&
      (values.isOrder ? distinct(values) >= 0.9 * values.records : !isHint),
  },
  product: {
    what: 'an id',
    names: new RegExp(`\\b(sku|asin|ean|gtin|upc)$|\\b(product|item|article|variant) ?${ID}$`),
    hints: named('(product|item|article)$'),
    fits: areIds,
  },
  created: {
    what: 'a time',
    names: named(
      '(orders?|ordered|purchased?|placed|booked|sold|transaction|txn|trans)( (created|creat\\w*))? ?(time|date|at|on|ts|timestamp)?',
    ),
    hints: named('(creat\\w*|date|time|timestamp|ts|datetime)'),
    never: named(
      '(updat\\w*|modif\\w*|chang\\w*|valid\\w*|paid|pay\\w*|lock\\w*|approv\\w*|void\\w*|cancel\\w*|click\\w*|ship\\w*|deliver\\w*|expir\\w*|last)',
    ),
    fits: areTimes,
  },
  updated: {
    what: 'a time',
    names: named('(updat\\w*|modif\\w*|changed|last (change|edit))'),
    fits: areTimes,
  },
};

/** `orderNo` and `order_no` as `order no`. */
function wordsOf(path: string): string {
  return path
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\d]+/gu, ' ')
    .trim();
}

/** The role that a field can have by its name; a nested field can have it by its own name or by the name of its object. */
function roleOfName(path: string): Role | undefined {
  const [last = '', parent] = path.split('.').map(comparedName).reverse();
  // The names that an object such as `{"value": "1.20", "currency": "EUR"}` uses for its main value.
  const isMain = parent !== undefined && ['value', 'amount', 'total', 'id', 'code', 'name'].includes(last);
  return ROLES.find((role) => WELL_KNOWN[role].includes(isMain ? parent : last));
}

/** 3: a well-known name, 2: a similar name, 1: a hint, 0: another name. */
function nameScore(role: Role, path: string): number {
  const { names, hints, never } = MEANINGS[role];
  const known = roleOfName(path);
  const words = wordsOf(path);
  if (known !== undefined) return known === role ? 3 : 0;
  if (never?.test(words)) return 0;
  if (names.test(words)) return 2;
  return hints?.test(words) ? 1 : 0;
}

/** What the sample shows about each role, by the settings of the report. */
export function rolesInSample(
  report: ReportDefinition,
  sample: readonly JsonObject[],
  { fields, states, kinds }: Pick<ReportSettings, 'fields' | 'states' | 'kinds'>,
): RoleInSample[] {
  const byPath = textsByPath(sample);
  const common = {
    records: sample.length,
    isOrder: report.primaryKey !== undefined,
    states: new Set([...STATE_WORDS, ...Object.keys(states?.words ?? {}).map(comparedState)]),
    kinds: new Set((kinds ?? []).map(comparedState)),
  };
  const valuesOf = (path: string): Values => ({ ...common, texts: byPath.get(path) ?? [] });
  const columns = [...new Set(sample.flatMap(Object.keys))].map((name) => ({ name }));
  const candidates = candidatesIn([...byPath.keys()], fields, valuesOf);
  return ROLES.map((role): RoleInSample => {
    const isSet = fields[role] !== undefined;
    const inForce = fieldsOfRole(role, columns, fields);
    const has = (record: JsonObject) => valueOf(record, inForce) !== undefined;
    const isMissing = isSet && inForce.length > 0 && !sample.some(has);
    const [best, ...others] = isSet && !isMissing ? [] : (candidates.get(role) ?? []);
    const shown = inForce.find((field) => byPath.has(field));
    const isOther = ({ path, score }: Candidate) =>
      score === best?.score && String(byPath.get(path)) !== String(byPath.get(best.path));
    return {
      ...{ role, inForce, isSet, isMissing },
      fits: shown === undefined || MEANINGS[role].fits(valuesOf(shown), false),
      best: best?.path,
      evidence: best ? evidenceOf(MEANINGS[role].what, best.path, valuesOf(best.path)) : '',
      alike: others.filter(isOther).map(({ path }) => path),
    };
  });
}

interface Candidate {
  role: Role;
  path: string;
  score: number;
}

/** By role: the fields that could have it, the likeliest first. A field that another role needs more is left out. */
function candidatesIn(
  paths: readonly string[],
  fields: RoleFields,
  valuesOf: (path: string) => Values,
): ReadonlyMap<Role, readonly Candidate[]> {
  const owners = new Map(
    ROLES.flatMap((role) => fieldsOfRole(role, [], fields).map((field) => [field, role] as const)),
  );
  const preference = ({ role, path }: Candidate) => WELL_KNOWN[role].indexOf(comparedName(path)) >>> 0;
  const filled = ({ path }: Candidate) => valuesOf(path).texts.length;
  const scored = ROLES.flatMap((role) =>
    paths.filter(isFieldPath).map((path) => ({ role, path, score: nameScore(role, path) })),
  ).filter(({ role, path, score }) => score > 0 && MEANINGS[role].fits(valuesOf(path), score === 1));
  scored.sort((a, b) => b.score - a.score || preference(a) - preference(b) || filled(b) - filled(a));
  const found = new Map<Role, Candidate[]>();
  for (const candidate of scored) {
    const { role, path } = candidate;
    const own = found.get(role) ?? [];
    if ((owners.get(path) ?? role) !== role) continue;
    if (own.length === 0) owners.set(path, role);
    found.set(role, [...own, candidate]);
  }
  return found;
}

function evidenceOf(what: string, path: string, values: Values): string {
  const { texts, records } = values;
  const examples = [...new Set(texts)].slice(0, 3).map((text = '') => JSON.stringify(text.slice(0, 30)));
  const different = what === 'an id' ? ` (${distinct(values)} different)` : '';
  return `\`${path}\`: ${texts.length} of ${records} records have ${what}${different}, such as ${examples.join(', ')}`;
}

/** The value of the first field that is not empty; `null` if each is empty, `undefined` if the record has no such field. */
export function valueOf(record: JsonObject, fields: readonly string[]): Json | undefined {
  const values = fields.map((field) => valueAt(record, field));
  return (
    values.find((value) => value !== undefined && value !== null && value !== '') ??
    values.find((value) => value !== undefined)
  );
}

/** A setting may use the name in the records or in the table, such as `brand_2`. */
function valueAt(record: JsonObject, field: string): Json | undefined {
  if (Object.hasOwn(record, field)) return record[field];
  const [first = '', ...path] = field.split('.');
  const wanted = [first, first.replace(/_\d+$/, '')].map(comparedName);
  const name = Object.keys(record).find((each) => wanted.includes(comparedName(each)));
  const into = (value: Json | undefined, part: string) =>
    isJsonObject(value) ? value[part] : value && undefined;
  return path.reduce(into, name === undefined ? undefined : record[name]);
}

/** By field, and by path of a nested object: the values that are not empty, as text; `undefined` for a list or an object. */
function textsByPath(sample: readonly JsonObject[]): ReadonlyMap<string, (string | undefined)[]> {
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

/** The field with the time of each order or record: all its values are instants. A date without a time has no zone. */
export function timeField(sample: readonly JsonObject[]): string | undefined {
  const areInstants = (texts: readonly (string | undefined)[]) =>
    texts.every((text) => text !== undefined && exactInstant(text));
  const names = [...textsByPath(sample)]
    .filter(([path, texts]) => !path.includes('.') && nameScore('created', path) > 0 && areInstants(texts))
    .map(([path]) => path);
  return names.find((path) => MEANINGS.created.names.test(wordsOf(path))) ?? names[0];
}

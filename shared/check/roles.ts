/* The field of a role comes from the settings, a well-known name, or a similar name whose values fit. A field has one role only. */
import { exactInstant } from '../base/exact-values.ts';
import { type Json, type JsonObject, isJsonObject } from '../base/json.ts';
import { BONUS_KINDS, type ReportDefinition, STATE_WORDS, comparedState } from '../reports/definition.ts';
import {
  ROLES,
  type Role,
  type RoleFields,
  WELL_KNOWN,
  comparedName,
  fieldsOfRole,
  textOf,
} from '../reports/roles.ts';
import { type ReportSettings, isFieldPath } from '../settings/settings.ts';
import { MEANINGS, type Values, distinct } from './meanings.ts';

export type RoleInSample = ReturnType<typeof rolesInSample>[number];

/** Deeper objects contain no amounts that a path could reach. */
const MAX_DEPTH = 3;

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

/** Facts about others than the record, such as `publisher.status`. */
const OF_OTHERS = /\b(publisher|affiliate|partner|influencer|creator|customer|client|user|device|address)/;
const MAY_BE_OF_OTHERS: readonly Role[] = ['publisher_id', 'publisher_name', 'commission'];

/** 3: a well-known name, 2: a similar name, 1: a hint, 0: another name. */
function nameScore(role: Role, path: string): number {
  const { names, hints, never } = MEANINGS[role];
  const known = roleOfName(path);
  const name = wordsOf(path);
  const isOfOthers = OF_OTHERS.test(name) && !MAY_BE_OF_OTHERS.includes(role);
  if ((known === undefined || path.includes('.')) && (isOfOthers || never?.test(name))) return 0;
  if (known !== undefined) return known === role ? 3 : 0;
  if (names.test(name)) return 2;
  return hints?.test(name) ? 1 : 0;
}

export function rolesInSample(
  report: ReportDefinition,
  sample: readonly JsonObject[],
  { fields, states, kinds }: Pick<ReportSettings, 'fields' | 'states' | 'kinds'>,
) {
  const byPath = textsByPath(sample);
  const common = {
    records: sample.length,
    isOrder: report.primaryKey !== undefined,
    states: new Set([...STATE_WORDS, ...Object.keys(states?.words ?? {}).map(comparedState)]),
    kinds: new Set([...BONUS_KINDS, ...(kinds ?? [])].map(comparedState)),
  };
  const valuesOf = (path: string): Values => ({ ...common, texts: byPath.get(path) ?? [] });
  const columns = [...new Set(sample.flatMap(Object.keys))].map((name) => ({ name }));
  const candidates = candidatesIn([...byPath.keys()], fields, valuesOf);
  return ROLES.map((role) => {
    const isSet = fields[role] !== undefined;
    const inForce = fieldsOfRole(role, columns, fields);
    const has = (record: JsonObject) => valueIn(record, inForce) !== undefined;
    const isMissing = isSet && inForce.length > 0 && !sample.some(has);
    const [best, ...others] = isSet && !isMissing ? [] : (candidates.get(role) ?? []);
    const shown = inForce.find((field) => byPath.has(field));
    const isOther = ({ path, score }: Candidate) =>
      score === best?.score && String(byPath.get(path)) !== String(byPath.get(best.path));
    return {
      // `isSet`: by the settings, also if they have null. `isMissing`: no record has the fields of the settings.
      ...{ role, inForce, isSet, isMissing },
      fits: shown === undefined || MEANINGS[role].fits(valuesOf(shown), false),
      // The likeliest by name and values, which may be in force already, and others that are as good.
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
export function valueIn(record: JsonObject, fields: readonly string[]): Json | undefined {
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
    isJsonObject(value) ? value[part] : value === null ? null : undefined;
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

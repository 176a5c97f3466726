import { BrandReportsError } from '../errors.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import { closestMatch } from '../validation/closest-match.ts';

/** Short enough for the longest name of a function to fit into Lambda's 64 characters. */
const ENVIRONMENT = /^[a-z][a-z0-9-]{0,19}$/;

/**
 * The settings without their `environments`. If an environment is chosen, its own settings replace the common settings:
 * objects are merged key by key, null removes a key, and other values are replaced.
 * @param environment the key in `environments`; missing: the common settings alone
 * @throws BrandReportsError `config` if the environment does not exist
 */
export function chosenEnvironment(settings: unknown, origin: string, environment?: string): unknown {
  const { common, environments } = split(settings, origin);
  if (environment === undefined) return common;
  const names = Object.keys(environments);
  const own = names.includes(environment) ? environments[environment] : undefined;
  if (isJsonObject(common) && isJsonObject(own)) return merged(common, own);
  const meant = closestMatch(environment, names);
  throw new BrandReportsError(
    'config',
    'unknown_environment',
    `${origin} has no environment "${environment}"; allowed: ${names.join(', ') || `none, until "environments": {"${environment}": {…}} is added`}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
  );
}

function split(settings: unknown, origin: string): { common: unknown; environments: JsonObject } {
  if (!isJsonObject(settings)) return { common: settings, environments: {} };
  const { environments = {}, ...common } = settings;
  if (isJsonObject(environments)) {
    const wrong = Object.keys(environments).find(
      (name) => !ENVIRONMENT.test(name) || !isJsonObject(environments[name]),
    );
    if (wrong === undefined) return { common, environments };
  }
  throw new BrandReportsError(
    'config',
    'environments',
    `${origin} cannot be used: environments is an object that holds settings by the name of an environment: a lower-case letter, then lower-case letters, digits and "-", 20 at most`,
  );
}

function merged(common: JsonObject, own: JsonObject): JsonObject {
  const both = Object.entries(own).map(([key, value]) => {
    const below = Object.hasOwn(common, key) ? common[key] : undefined;
    return [key, isJsonObject(below) && isJsonObject(value) ? merged(below, value) : value] as const;
  });
  const all = Object.entries({ ...common, ...Object.fromEntries(both) });
  return Object.fromEntries(all.filter(([, value]) => value !== null));
}

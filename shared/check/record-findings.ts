import { type JsonObject, isJsonObject, stringifyJson } from '../base/json.ts';
import { readValue } from '../table/amounts.ts';
import { BONUS_KINDS, type ReportDefinition, STATE_WORDS, comparedState } from '../reports/definition.ts';
import { AMOUNT_ROLES, LIKE_CURRENCY, type Role, isAmountRole, textOf } from '../reports/roles.ts';
import type { ReportSettings } from '../settings/settings.ts';
import { type Finding, ok, proposed, warning } from './finding.ts';
import { BONUS, SALES } from './meanings.ts';
import { type RoleInSample, rolesInSample, valueIn } from './roles.ts';

interface Records {
  report: ReportDefinition;
  own: ReportSettings;
  sample: readonly JsonObject[];
  roles: readonly RoleInSample[];
}

export function recordFindings(
  report: ReportDefinition,
  own: ReportSettings,
  sample: readonly JsonObject[],
): Finding[] {
  const byState = Object.entries(own.filters).filter(([, value]) =>
    STATE_WORDS.includes(comparedState(String(value))),
  );
  const hidden = byState.map(([name, value]) =>
    warning('filters', `the filter ${name} (${value}) is a state, which changes: filter in SQL instead`),
  );
  if (sample.length === 0) return hidden;
  // Documented fields need no proposal.
  const roles = report.columns.length > 0 ? [] : rolesInSample(report, sample, own);
  const records = { report, own, sample, roles };
  return [
    ...roleFindings(records),
    ...amountFindings(records),
    ...wordFindings(records),
    ...kindFindings(records),
    ...hidden,
  ];
}

/** A service may well lack these. Their columns are NULL then, and no payout is wrong. */
const OPTIONAL = /^(line_state|kind|publisher_name|channel_id|product|created)$/;

function roleFindings({ report, sample, roles }: Records): Finding[] {
  if (roles.length === 0) return [];
  const hasCurrency = sample.flatMap(Object.keys).some((name) => LIKE_CURRENCY.test(name.toLowerCase()));
  // Lines are settled by their commission, and a service with one currency need not name it.
  const hasLines = report.states?.includes('line_state');
  const isOptional = (role: Role) =>
    OPTIONAL.test(role) || (role === 'amount' && hasLines) || (role === 'currency' && !hasCurrency);
  const findings = roles.flatMap(({ role, inForce, isSet, isMissing, fits, best, evidence, alike }) => {
    const path = ['reports', report.name, 'fields', role];
    const level = isMissing || !isOptional(role) ? ('undecided' as const) : ('warning' as const);
    const missing = isMissing ? `none of ${sample.length} records has ${inForce.join(', ')} (${role})` : '';
    if (best !== undefined && (best !== inForce[0] || alike.length > 0)) {
      const others = alike.length > 0 ? `; ${alike.join(', ')} could be the ${role} too` : '';
      const why = [missing, `${role}: ${evidence}${others}`].filter((part) => part !== '').join('; ');
      // A list reads the days from before a field was renamed, too.
      const value = isMissing ? [...inForce, best] : best;
      return [
        proposed(best === inForce[0] ? 'warning' : level, 'roles', { path, value, why, isCertain: true }),
      ];
    }
    if (isMissing || (!isSet && inForce.length === 0 && !isOptional(role))) {
      const none = missing || `none of the fields in ${sample.length} records looks like the ${role}`;
      const why = `${none}; without it, numbers are NULL. Name its field, or if the service has no such field`;
      return [proposed('undecided', 'roles', { path, value: null, why, isCertain: false })];
    }
    return fits || isAmountRole(role)
      ? []
      : [warning('roles', `the values of ${inForce.join(', ')} do not look like the ${role} of a record`)];
  });
  const found = roles
    .filter(({ inForce }) => inForce.length > 0)
    .map(({ role, inForce }) => `${role} is ${inForce.join(' or ')}`);
  const without = roles.filter(
    ({ role, inForce, best }) => inForce.length === 0 && best === undefined && isOptional(role),
  );
  const none = without.length > 0 ? [`no field for ${without.map(({ role }) => role).join(', ')}`] : [];
  return [ok('roles', `fields: ${[...found, ...none].join(', ')}`), ...findings];
}

function fieldsOf(role: Role, roles: readonly RoleInSample[]): readonly string[] {
  const { isMissing, best, inForce = [] } = roles.find((each) => each.role === role) ?? {};
  return best === undefined ? inForce : [...(isMissing ? inForce : []), best];
}

function amountFindings({ report, sample, roles }: Records): Finding[] {
  return AMOUNT_ROLES.flatMap((role) => {
    const fields = fieldsOf(role, roles);
    const values = sample
      .map((record) => valueIn(record, fields))
      .filter((value) => readValue(value) !== undefined);
    const [example = null, ...others] = values.filter((value) => readValue(value) === null);
    if (example === null) return [];
    const inner = isJsonObject(example)
      ? Object.keys(example).find((name) => typeof readValue(example[name]) === 'bigint')
      : undefined;
    const shown = `${others.length + 1} of ${values.length} values of ${fields.join(', ')} cannot be read as an amount, such as ${stringifyJson(example).slice(0, 60)}`;
    const advice = 'Ask the operator for numbers such as 1500.25, name another field, or if there is none';
    const why = inner === undefined ? `${shown}. ${advice}` : shown;
    const value = inner === undefined ? null : `${fields[0]}.${inner}`;
    const path = ['reports', report.name, 'fields', role];
    return [proposed('undecided', 'amounts', { path, value, why, isCertain: inner !== undefined })];
  });
}

function wordsIn({ sample, roles }: Records, role: Role, isKnown: (compared: string) => boolean): string[] {
  const texts = sample.flatMap((record) => textOf(valueIn(record, fieldsOf(role, roles)))?.trim() || []);
  return [...new Set(texts)].filter((word) => !isKnown(comparedState(word))).slice(0, 20);
}

function wordFindings(records: Records): Finding[] {
  const { report, own } = records;
  const known = [...STATE_WORDS, ...Object.keys(own.states?.words ?? {}).map(comparedState)];
  const isKnown = (word: string) => known.includes(word);
  if (!own.states) return [];
  const words = new Set([...wordsIn(records, 'state', isKnown), ...wordsIn(records, 'line_state', isKnown)]);
  if (words.size === 0) return [];
  const value = { words: Object.fromEntries([...words].map((word) => [word, 'new'])) };
  const why = `the interface does not define these states; choose for each: ${STATE_WORDS.join(', ')}`;
  return [
    proposed('warning', 'states', { path: ['reports', report.name, 'states'], value, why, isCertain: false }),
  ];
}

function kindFindings(records: Records): Finding[] {
  const { report, own } = records;
  const { kinds: bonuses = BONUS_KINDS } = own;
  const known = [...SALES, ...bonuses].map(comparedState);
  const words = wordsIn(records, 'kind', (word) => known.includes(word));
  if (words.length === 0) return [];
  const like = words.filter((word) => BONUS.test(comparedState(word)));
  const sales = words.filter((word) => !like.includes(word)).join(', ');
  const why = [
    ...(like.length > 0 ? [`${like.join(', ')} look like bonuses`] : []),
    ...(sales === '' ? [] : [`${sales} count as sales unless they are listed`]),
  ].join('; ');
  const value = [...(like.length > 0 ? like : words), ...bonuses];
  const isCertain = like.length > 0;
  return [proposed('warning', 'kinds', { path: ['reports', report.name, 'kinds'], value, why, isCertain })];
}

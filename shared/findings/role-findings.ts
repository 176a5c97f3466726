/* Finds odd roles of a day's fields: states that neither interface nor settings define, and fields that now fit a role better. */
import type { Committed } from '../lake/documents/ledger.ts';
import { comparedState } from '../reports/definition.ts';
import { ROLES, type RoleFields, kindOfRole, roleOfName } from '../roles/index.ts';

interface RoleFinding {
  check: 'unknown_states' | 'better_field';
  title: string;
  detail: string;
  advice: string;
}

/** @param words the states that the settings define, by word @param fields the field of each role */
export function roleFindings(
  values: Committed['values'],
  report: string,
  fields: RoleFields,
  words: Readonly<Record<string, string>>,
): RoleFinding[] {
  return [...unknownStates(values, report, words), ...betterFields(values, report, fields)];
}

function unknownStates(
  values: Committed['values'],
  report: string,
  words: Readonly<Record<string, string>>,
): RoleFinding[] {
  const known = new Set(Object.keys(words).map(comparedState));
  const unknown = Object.entries(values?.unknownStates ?? {}).filter(
    ([word]) => !known.has(comparedState(word)),
  );
  const [first] = unknown;
  if (!first) return [];
  return [
    {
      check: 'unknown_states',
      title: 'states that the interface does not define',
      detail: unknown.map(([word, rows]) => `${JSON.stringify(word)} in ${rows} rows`).join(', '),
      advice: `Views count such records as neither void nor paid. Map each word to new, mixed, locked, void, effective or paid: "states": { "words": { ${JSON.stringify(first[0])}: "void" } } in ${report} of the brand`,
    },
  ];
}

function betterFields(values: Committed['values'], report: string, fields: RoleFields): RoleFinding[] {
  const { filled = {} } = values ?? {};
  return ROLES.flatMap((role): RoleFinding[] => {
    const { [role]: field } = fields;
    if (typeof field !== 'string' || field.includes('.') || !/^[a-z0-9_]+$/.test(field)) return [];
    if (Object.keys(filled).length === 0 || Object.hasOwn(filled, field)) return [];
    const [better, other] = Object.keys(filled).filter(
      (name) => roleOfName(name) === role && fits(name, values),
    );
    if (better === undefined || other !== undefined) return [];
    return [
      {
        check: 'better_field',
        title: `another field fits the role ${role} better`,
        detail: `\`${better}\` has values in ${filled[better]} rows, \`${field}\` in none`,
        advice: `Ask the operator of the service whether the field was renamed. If it was, set "fields": { "${role}": "${better}" } in ${report} of the brand`,
      },
    ];
  });
}

function fits(name: string, values: Committed['values']): boolean {
  const role = roleOfName(name);
  const kind = role && kindOfRole(role);
  const { filled = {}, fitting = {}, empty = {}, sums = {} } = values ?? {};
  const count = (filled[name] ?? 0) - (empty[name] ?? 0);
  if (kind === 'numeric' && Object.hasOwn(sums, name)) return true;
  return count > 0 && (kind === undefined || fitting[name] === count);
}

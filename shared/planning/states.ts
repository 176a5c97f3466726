/*
 * Judges the states of a version's records from the words that its ledger counts by column, and by the current settings. So
 * a corrected setting is right for all days at once, without reading or rebuilding a day.
 */
import type { Committed } from '../lake/ledger.ts';
import { MAX_FILLED } from '../table/column-facts.ts';
import { snakeCase } from '../table/columns.ts';
import { FINAL_STATES, STATE_WORDS, comparedState } from '../reports/definition.ts';
import { type RoleFields, columnOfField, fieldsOfRole, textAt } from '../reports/roles.ts';

type Version = Pick<Committed, 'rows' | 'values'>;

/** The settings `fields` and `states.words`. Without words, the records of the report have no states. */
export interface StateRules {
  fields: RoleFields;
  words?: Readonly<Record<string, string>>;
}

/**
 * Whether a record may still change, by its state. Without counts, each record may: the state is in a column with too many
 * words, or in a column that does not look like a state.
 */
export function mayChange({ rows, values }: Version, { fields, words }: StateRules): boolean {
  if (!words || rows === 0) return false;
  const isFinal = (word: string) => FINAL_STATES.includes(stateOf(word, words));
  for (const { field, counts } of countedFields('state', values, fields)) {
    if (!counts) {
      if (mayBeFilled(values, field)) return true;
      continue;
    }
    const filled = [...counts.values()].reduce((sum, count) => sum + count, 0);
    // The first field that has values must have the states of all records.
    if (filled > 0) return filled < rows || ![...counts.keys()].every(isFinal);
  }
  return true;
}

/** The words that are neither a state of the interface nor mapped to one, with the number of their rows. */
export function unknownStates(
  values: Committed['values'],
  { fields, words }: StateRules,
): Map<string, number> {
  const unknown = new Map<string, number>();
  if (!words) return unknown;
  for (const role of ['state', 'line_state'] as const)
    for (const { counts = [] } of countedFields(role, values, fields))
      for (const [word, rows] of counts)
        if (!STATE_WORDS.includes(stateOf(word, words))) unknown.set(word, (unknown.get(word) ?? 0) + rows);
  return unknown;
}

/** The fields of a role, with the rows of each word that is not empty; without counts if they are not known. */
function countedFields(
  role: 'state' | 'line_state',
  values: Committed['values'],
  fields: RoleFields,
): { field: string; counts?: ReadonlyMap<string, number> }[] {
  const counted = values?.words ?? {};
  const columns = Object.entries(counted).map(([name, { field = name }]) => ({
    name,
    field,
    type: 'string' as const,
  }));
  return fieldsOfRole(role, columns, fields).map((field) => {
    const { column, path = [] } = columnOfField(columns, field) ?? {};
    const rows = column && counted[column.name]?.rows;
    if (!rows) return { field };
    const counts = new Map<string, number>();
    for (const [text, count] of Object.entries(rows)) {
      const word = path.length > 0 ? textAt(text, path) : text;
      if (word !== undefined && comparedState(word) !== '') counts.set(word, (counts.get(word) ?? 0) + count);
    }
    return { field, counts };
  });
}

/** A ledger has the fullest columns only. */
function mayBeFilled(values: Committed['values'], field: string): boolean {
  const { filled } = values ?? {};
  const [column = ''] = field.split('.');
  return !filled || Object.keys(filled).length >= MAX_FILLED || Object.hasOwn(filled, snakeCase(column));
}

function stateOf(word: string, words: Readonly<Record<string, string>>): string {
  const whole = (text: string) => comparedState(text).replace(/^(\d+)\.0{9}$/, '$1');
  const [, to] = Object.entries(words).find(([each]) => whole(each) === whole(word)) ?? [];
  return to ?? comparedState(word);
}

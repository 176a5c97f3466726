/*
 * Counts which values of a record's fields look like amounts, currencies or states. The counts prove which field has which
 * role (`roles/choose.ts`). No value is kept, because a value may be personal data.
 */
import { type Json, type JsonObject, isJsonObject, numberText } from '../json.ts';
import { STATE_WORDS, comparedState } from '../reports/definition.ts';

/** The counts of the values of one field; `path`: `commission.value` for a field of a nested object. */
export interface FieldEvidence {
  path: string;
  /** All records, including records without a value. */
  records: number;
  /** Records with a value that is not empty. */
  filled: number;
  /** Numbers, and texts that are decimals. */
  numeric: number;
  /** ISO 4217 codes. */
  currencies: number;
  /** Words of the interface, in any case. */
  states: number;
}

/** The kinds of values that are counted. */
export type Kind = 'numeric' | 'currencies' | 'states';

/** Deeper objects contain no amounts that a path could reach. */
const MAX_DEPTH = 3;

/**
 * The counts for the fields of these records, including fields of nested objects, in the order of their first record.
 * @param words words that the settings map to states: they count as states as well
 */
export function evidenceOf(
  records: readonly JsonObject[],
  words: Readonly<Record<string, string>> = {},
): FieldEvidence[] {
  const found = new Map<string, FieldEvidence>();
  const mapped = new Set(Object.keys(words).map(comparedState));
  const isKind = {
    ...IS_KIND,
    states: (text: string) => IS_KIND.states(text) || mapped.has(comparedState(text)),
  };
  for (const record of records) addFields(found, record, '', { records: records.length, isKind });
  return [...found.values()];
}

function addFields(
  found: Map<string, FieldEvidence>,
  object: JsonObject,
  prefix: string,
  of: { records: number; isKind: typeof IS_KIND },
  depth = 1,
): void {
  for (const [name, value] of Object.entries(object)) {
    if (isEmpty(value)) continue;
    const path = prefix + name;
    const counts = found.get(path) ?? noEvidence(path, of.records);
    found.set(path, counts);
    counts.filled += 1;
    if (isJsonObject(value) && depth < MAX_DEPTH) addFields(found, value, `${path}.`, of, depth + 1);
    const text = textOf(value);
    if (text !== undefined) for (const kind of KINDS) if (of.isKind[kind](text)) counts[kind] += 1;
  }
}

/** The evidence of a field without any value. */
export function noEvidence(path: string, records: number): FieldEvidence {
  return { path, records, filled: 0, numeric: 0, currencies: 0, states: 0 };
}

/** A text, or the digits of a number; `undefined` for every other value. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : numberText(value);
}

function isEmpty(value: Json): boolean {
  return value === null || (typeof value === 'string' && value.trim() === '');
}

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
/** Codes that are also English words: a field that has no other codes is not a currency. */
const WORDS: ReadonlySet<string> = new Set(['ALL', 'TOP']);

/** Whether a text is of this kind. Spaces around it do not count. */
export const IS_KIND: Readonly<Record<Kind, (text: string) => boolean>> = {
  numeric: (text) => /^\s*[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,2})?\s*$/.test(text),
  currencies: (text) => text.length < 10 && CURRENCIES.has(text.trim().toUpperCase()),
  states: (text) => STATE_WORDS.includes(comparedState(text)),
};
const KINDS: readonly Kind[] = ['numeric', 'currencies', 'states'];

/** Whether a text is a currency even if its field's name does not suggest one: in capitals, and not an English word. */
export function isPlainCurrency(text: string): boolean {
  return CURRENCIES.has(text) && !WORDS.has(text);
}

import {
  isCanonicalInteger,
  type Json,
  type JsonObject,
  numberText,
  stringifyJson,
} from '../shared/base/json.ts';
import { dayFromDigits } from './calendar.ts';

/** The rule of docs/explanation/interface.md for a request field. A `position` is an integer or any other text. */
export type Rule =
  | { is: 'integer'; min: number; max: number }
  | { is: 'text' }
  | { is: 'enum'; values: readonly string[] }
  | { is: 'day' }
  | { is: 'position' };
export type Rules = Readonly<Record<string, Rule>>;

/** The checked fields of a request. Integers are digits, whether they came in the query string or in the body. */
export type Fields = Readonly<Record<string, string>>;

export const integer = (min = 0, max = Number.POSITIVE_INFINITY): Rule => ({ is: 'integer', min, max });
export const oneOf = (...values: string[]): Rule => ({ is: 'enum', values });
export const text: Rule = { is: 'text' };
export const day: Rule = { is: 'day' };
export const position: Rule = { is: 'position' };

/**
 * Checks every given field against its rule. In a query string integers are text; in a body they must be numbers.
 * @returns the fields, or why one of them is refused
 */
export function checkFields(
  rules: Rules,
  given: JsonObject,
  place: 'query' | 'body',
): { fields: Fields } | { refused: string } {
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) return { refused: `${quote(name)} is not a field of this action` };
    const accepted = accept(rule, value, place);
    if (accepted === undefined) return { refused: `${name}: ${quote(value)} is not ${expected(rule)}` };
    fields[name] = accepted;
  }
  return { fields };
}

function accept(rule: Rule, value: Json, place: 'query' | 'body'): string | undefined {
  const written = typeof value === 'string' ? value : undefined;
  const digits = place === 'query' ? written : numberText(value);
  switch (rule.is) {
    case 'integer':
      return digits !== undefined && isIntegerWithin(digits, rule.min, rule.max) ? digits : undefined;
    case 'position':
      if (digits !== undefined && isIntegerWithin(digits, 0)) return digits;
      return written !== undefined && !isCanonicalInteger(written) ? written : undefined;
    case 'enum':
      return written !== undefined && rule.values.includes(written) ? written : undefined;
    case 'day':
      return written === undefined ? undefined : dayFromDigits(written);
    case 'text':
      return written;
  }
}

function isIntegerWithin(digits: string, min: number, max = Number.POSITIVE_INFINITY): boolean {
  return isCanonicalInteger(digits) && Number(digits) >= min && Number(digits) <= max;
}

function expected(rule: Rule): string {
  switch (rule.is) {
    case 'integer':
      return `an integer ${rule.max === Number.POSITIVE_INFINITY ? `of at least ${rule.min}` : `from ${rule.min} to ${rule.max}`}`;
    case 'position':
      return 'a position';
    case 'enum':
      return `one of ${rule.values.join(', ')}`;
    case 'day':
      return 'a day in the format YYYYMMDD';
    case 'text':
      return 'a string';
  }
}

function quote(value: Json): string {
  return stringifyJson(value).slice(0, 60);
}
